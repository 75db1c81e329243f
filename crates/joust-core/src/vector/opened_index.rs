//! The opened vector index of a version.

use std::collections::HashMap;
use std::sync::Arc;

use lance::Dataset;
use lance::dataset::scanner::RowAddrMask;
use lance::index::{DatasetIndexExt, DatasetIndexInternalExt};
use lance_index::metrics::NoOpMetricsCollector;
use lance_index::vector::VectorIndex;
use lance_index::vector::v3::subindex::SubIndexType;
use lance_linalg::distance::DistanceType;
use lance_table::format::IndexMetadata;
use roaring::RoaringBitmap;

use super::stale_rows;
use crate::error::Result;

/// The first index on a column at a version.
pub enum Indexed {
    /// No index covers a row.
    Not,
    /// Only Lance can search the index.
    Foreign,
    Open(Arc<Opened>),
}

/// An index whose segments are open.
pub struct Opened {
    pub name: String,
    pub metric: DistanceType,
    pub segments: Vec<Segment>,
    /// The segments' metadata, for Lance's operators.
    pub metadata: Vec<IndexMetadata>,
    /// Numbers of the version's fragments whose rows no segment covers.
    pub uncovered: Vec<usize>,
    /// The rows of the table; `None`: the segments hold no others that Lance would find.
    pub living: Option<Arc<RowAddrMask>>,
    /// Names, in lower case, of other columns whose index does not cover all rows.
    pub behind: Vec<String>,
}

/// A part of an index, with partitions of its own.
pub struct Segment {
    pub index: Arc<dyn VectorIndex>,
    /// The rows that are alive and still the segment's own; `None`: all that it holds.
    pub owned: Option<Arc<RowAddrMask>>,
    /// Its partitions hold graphs.
    pub has_graphs: bool,
}

impl Indexed {
    pub async fn of(dataset: &Arc<Dataset>, column: &str, field: i32) -> Result<Self> {
        let all = dataset.load_indices().await?;
        let on_column = |index: &&IndexMetadata| index.fields.first() == Some(&field);
        let Some(first) = all.iter().find(on_column) else {
            return Ok(Self::Not);
        };
        let manifest = dataset.manifest();
        let has_overlays = manifest
            .fragments
            .iter()
            .any(|own| !own.overlays.is_empty());
        let is_remapped = all.iter().any(|index| index.name.starts_with("__lance"));
        if !is_vector(first) || has_overlays || is_remapped {
            return Ok(Self::Foreign);
        }
        let metadata = dataset.load_indices_by_name(&first.name).await?;
        let mut covered = RoaringBitmap::new();
        for segment in &metadata {
            match &segment.fragment_bitmap {
                Some(fragments) => covered |= fragments,
                None => return Ok(Self::Foreign),
            }
        }
        let fragments = || manifest.fragments.iter().map(|own| own.id as u32);
        if !fragments().any(|id| covered.contains(id)) {
            return Ok(Self::Not);
        }
        let mut segments = Vec::with_capacity(metadata.len());
        for own in &metadata {
            let index = dataset
                .open_vector_index(column, &own.uuid, &NoOpMetricsCollector)
                .await?;
            let owned = owned(dataset, own).await?;
            segments.push(Segment {
                has_graphs: !matches!(index.sub_index_type().0, SubIndexType::Flat),
                index,
                owned,
            });
        }
        let Some(metric) = segments.first().map(|segment| segment.index.metric_type()) else {
            return Ok(Self::Not);
        };
        let uncovered = fragments().enumerate();
        let uncovered = uncovered.filter(|(_, id)| !covered.contains(*id));
        Ok(Self::Open(Arc::new(Opened {
            name: first.name.clone(),
            metric,
            segments,
            uncovered: uncovered.map(|(number, _)| number).collect(),
            living: stale_rows::living(dataset).await?,
            behind: behind(dataset, &all),
            metadata,
        })))
    }
}

/// Names, in lower case, of columns whose index does not cover all rows.
fn behind(dataset: &Dataset, all: &[IndexMetadata]) -> Vec<String> {
    let mut covered: HashMap<&str, (&[i32], RoaringBitmap)> = HashMap::new();
    for index in all.iter().filter(|index| !is_vector(index)) {
        let part = index.fragment_bitmap.clone().unwrap_or_default();
        let (_, fragments) = covered
            .entry(&index.name)
            .or_insert((&index.fields, RoaringBitmap::new()));
        *fragments |= part;
    }
    let fragments = &dataset.manifest().fragments;
    let fragments: RoaringBitmap = fragments.iter().map(|own| own.id as u32).collect();
    let behind = covered.values();
    let behind = behind.filter(|(_, covered)| !fragments.is_subset(covered));
    let fields = behind.flat_map(|(fields, _)| fields.iter());
    let fields = fields.filter_map(|id| dataset.schema().field_by_id(*id));
    fields.map(|field| field.name.to_lowercase()).collect()
}

fn is_vector(index: &IndexMetadata) -> bool {
    index
        .index_details
        .as_ref()
        .is_some_and(|details| details.type_url.ends_with("VectorIndexDetails"))
}

impl Opened {
    /// Whether a filter may name a column whose index does not cover all rows.
    pub fn is_behind(&self, filter: &str) -> bool {
        let filter = filter.to_lowercase();
        // Inside backticks, a backtick of a name is written otherwise.
        let may_name = |column: &String| column.contains('`') || filter.contains(column);
        self.behind.iter().any(may_name)
    }
}

/// The rows of a segment that are alive and still its own; `None`: all that it holds.
async fn owned(
    dataset: &Arc<Dataset>,
    segment: &IndexMetadata,
) -> Result<Option<Arc<RowAddrMask>>> {
    let fragments = segment.fragment_bitmap.clone().unwrap_or_default();
    Ok(stale_rows::alive(dataset, fragments).await?)
}
