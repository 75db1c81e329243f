//! The indexes of a table.

use std::collections::BTreeMap;
use std::sync::Arc;

use joust_text::analysis::Analysis;
use lance::Dataset;
use lance::index::DatasetIndexExt;
use lance_index::IndexDescription as LanceDescription;
use roaring::RoaringBitmap;

use super::build::not_found;
use super::kind::{Kind, public_name};
use crate::error::Result;
use crate::table::{ReadOptions, Table, live_rows};
use crate::text;

/// An index in a listing.
#[derive(Debug, Clone)]
pub struct IndexDescription {
    pub name: String,
    pub uuid: String,
    /// Canonical field paths.
    pub columns: Vec<String>,
    /// The interface's name of its kind; `Unknown` for internal kinds.
    pub index_type: String,
    pub type_url: Option<String>,
    /// Live rows of the fragments that the index covers.
    pub num_indexed_rows: u64,
    pub num_unindexed_rows: u64,
    pub size_bytes: Option<u64>,
    pub num_segments: u64,
    pub created_at_millis: Option<i64>,
    pub index_version: i32,
    /// JSON text; its content depends on the kind.
    pub details: Option<String>,
}

/// The coverage of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStats {
    pub index_type: String,
    pub distance_type: Option<String>,
    pub num_indexed_rows: u64,
    pub num_unindexed_rows: u64,
    pub num_indices: u64,
}

impl Table {
    /// All indexes, in the order of their names.
    pub async fn list_indices(&self, options: ReadOptions) -> Result<Vec<IndexDescription>> {
        let dataset = self.dataset(options).await?;
        let mut found = Vec::new();
        for index in dataset.describe_indices(None).await? {
            if index.name().starts_with("__lance") {
                continue;
            }
            found.push(describe(&dataset, &index).await?);
        }
        found.extend(self.text_indices(&dataset).await?);
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// joust's text indexes, which Lance ignores.
    async fn text_indices(&self, dataset: &Dataset) -> Result<Vec<IndexDescription>> {
        let entries = text::entries(dataset, self.caches()?.text()).await?;
        let mut by_name: BTreeMap<&str, Vec<&text::Entry>> = BTreeMap::new();
        for entry in entries.iter() {
            by_name.entry(&entry.name).or_default().push(entry);
        }
        let mut found = Vec::new();
        for (name, segments) in by_name {
            found.push(describe_text(dataset, name, &segments).await?);
        }
        Ok(found)
    }

    pub async fn index_stats(&self, name: &str, options: ReadOptions) -> Result<IndexStats> {
        let index = self
            .list_indices(options)
            .await?
            .into_iter()
            .find(|index| index.name == name)
            .ok_or_else(|| not_found(name))?;
        Ok(IndexStats {
            distance_type: index.details.as_deref().and_then(distance_type),
            index_type: index.index_type,
            num_indexed_rows: index.num_indexed_rows,
            num_unindexed_rows: index.num_unindexed_rows,
            num_indices: index.num_segments,
        })
    }
}

async fn describe(
    dataset: &Dataset,
    index: &Arc<dyn LanceDescription>,
) -> Result<IndexDescription> {
    let segments = index.segments();
    let mut covered = RoaringBitmap::new();
    for segment in segments {
        covered |= segment.fragment_bitmap.clone().unwrap_or_default();
    }
    let (indexed, unindexed) = count(dataset, &covered).await?;
    let columns = index
        .field_ids()
        .iter()
        .filter_map(|id| dataset.schema().field_path(*id as i32).ok())
        .collect();
    Ok(IndexDescription {
        name: index.name().to_string(),
        uuid: segments
            .first()
            .map(|segment| segment.uuid.to_string())
            .unwrap_or_default(),
        columns,
        index_type: public_name(index.index_type()).to_string(),
        type_url: Some(index.type_url().to_string()).filter(|url| !url.is_empty()),
        num_indexed_rows: indexed,
        num_unindexed_rows: unindexed,
        size_bytes: index.total_size_bytes(),
        num_segments: segments.len() as u64,
        created_at_millis: segments
            .iter()
            .filter_map(|segment| segment.created_at)
            .map(|time| time.timestamp_millis())
            .max(),
        index_version: segments.first().map_or(0, |segment| segment.index_version),
        details: index.details().ok(),
    })
}

async fn describe_text(
    dataset: &Dataset,
    name: &str,
    segments: &[&text::Entry],
) -> Result<IndexDescription> {
    let mut covered = RoaringBitmap::new();
    for segment in segments {
        covered |= &segment.fragments;
    }
    let (indexed, unindexed) = count(dataset, &covered).await?;
    let columns = segments
        .first()
        .and_then(|segment| text::TextColumn::of(dataset, segment).ok())
        .map(|column| column.name());
    Ok(IndexDescription {
        name: name.to_string(),
        uuid: segments
            .first()
            .map(|segment| segment.uuid.to_string())
            .unwrap_or_default(),
        columns: columns.into_iter().collect(),
        index_type: Kind::Text.name().to_string(),
        type_url: Some(text::TYPE_URL.to_string()),
        num_indexed_rows: indexed,
        num_unindexed_rows: unindexed,
        size_bytes: segments.iter().map(|segment| segment.bytes).sum(),
        num_segments: segments.len() as u64,
        created_at_millis: segments
            .iter()
            .filter_map(|segment| segment.created_at_millis)
            .max(),
        index_version: segments
            .first()
            .map_or(0, |segment| segment.details.format as i32),
        details: segments
            .first()
            .and_then(|segment| text_details(&segment.details.analysis)),
    })
}

/// The parameters of a text index as JSON, with the names of a create-index request.
fn text_details(analysis: &Analysis) -> Option<String> {
    let mut details = serde_json::to_value(analysis).ok()?;
    details["block_size"] = text::BLOCK_SIZE.into();
    Some(details.to_string())
}

/// Live rows in the fragments of `covered`, and in the others.
async fn count(dataset: &Dataset, covered: &RoaringBitmap) -> Result<(u64, u64)> {
    let (mut inside, mut outside) = (0, 0);
    for fragment in dataset.get_fragments() {
        let rows = live_rows(&fragment).await?;
        if covered.contains(fragment.id() as u32) {
            inside += rows;
        } else {
            outside += rows;
        }
    }
    Ok((inside, outside))
}

/// The distance type of a vector index, from its details.
fn distance_type(details: &str) -> Option<String> {
    let details: serde_json::Value = serde_json::from_str(details).ok()?;
    ["metric_type", "distance_type", "metric"]
        .iter()
        .find_map(|key| details.get(key)?.as_str())
        .map(str::to_ascii_lowercase)
}
