//! Text segments in the manifest.

use std::sync::Arc;

use joust_text::analysis::Analysis;
use lance::Dataset;
use lance_table::format::IndexMetadata;
use lance_table::io::manifest::read_manifest_indexes;
use prost_types::Any;
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::text_caches::TextCaches;
use crate::error::{Error, Result};
use crate::version_key::VersionKey;

/// The type of the entries. Other tools do not know it and ignore the entry; it does not end in the name of a type that
/// they know.
pub const TYPE_URL: &str = "type.googleapis.com/joust.v1.TantivyTextIndex";
/// The layout of a segment. Entries of a later layout are ignored.
pub const FORMAT: u32 = 1;

/// The JSON details of a segment's entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    pub format: u32,
    pub analysis: Analysis,
    /// Rows with a text.
    pub documents: u64,
    /// Of a JSON column: the keys of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_keys: Option<Vec<String>>,
}

impl Details {
    pub fn to_any(&self) -> Result<Any> {
        let value = serde_json::to_vec(self)
            .map_err(|error| Error::internal("a text index could not be described", error))?;
        Ok(Any {
            type_url: TYPE_URL.to_string(),
            value,
        })
    }
}

/// A segment of an index.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: String,
    pub uuid: Uuid,
    pub field: i32,
    /// Fragments whose rows it contains.
    pub fragments: RoaringBitmap,
    pub details: Arc<Details>,
    pub created_at_millis: Option<i64>,
    pub bytes: Option<u64>,
    /// The base path of the files, if another table of the same lineage has them.
    pub base_id: Option<u32>,
}

/// The text segments of a version that this program can read.
pub async fn entries(dataset: &Dataset, caches: &TextCaches) -> Result<Arc<Vec<Entry>>> {
    let read = async || {
        let found: Vec<Entry> = all_entries(dataset)
            .await?
            .into_iter()
            .filter_map(entry)
            .collect();
        let weight = found
            .iter()
            .map(|entry| 512 + entry.fragments.serialized_size())
            .sum();
        Ok((Arc::new(found), weight))
    };
    caches.entries.get(&VersionKey::of(dataset), read).await
}

/// Every entry of a version, including those that Lance hides because it does not know their type.
pub async fn all_entries(dataset: &Dataset) -> Result<Vec<IndexMetadata>> {
    let store = dataset.object_store(None).await?;
    let location = dataset.manifest_location();
    Ok(read_manifest_indexes(&store, location, dataset.manifest()).await?)
}

fn entry(index: IndexMetadata) -> Option<Entry> {
    let any = index.index_details.as_ref()?;
    if any.type_url != TYPE_URL {
        return None;
    }
    let details: Details = serde_json::from_slice(&any.value).ok()?;
    if details.format > FORMAT {
        return None;
    }
    Some(Entry {
        name: index.name,
        uuid: index.uuid,
        field: *index.fields.first()?,
        fragments: index.fragment_bitmap?,
        details: Arc::new(details),
        created_at_millis: index.created_at.map(|time| time.timestamp_millis()),
        bytes: index
            .files
            .map(|files| files.iter().map(|file| file.size_bytes).sum()),
        base_id: index.base_id,
    })
}
