//! Describe a table: its version and schema.

use std::collections::HashMap;

use arrow::datatypes::Schema;
use lance::Dataset;
use lance::arrow::json::ArrowJsonExt;
use lance_namespace::schema::arrow_schema_to_json;

use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};

/// The description of a version.
#[derive(Debug, Clone)]
pub struct Description {
    pub version: u64,
    /// Equal stamps mean equal descriptions; unique within this process.
    pub stamp: u64,
    /// JSON text with the namespace interface's type names (`float32`, `utf8`).
    pub schema: String,
    /// JSON text with Lance's logical type names (`float`, `string`); `None` when a column's type has
    /// none.
    pub lance_schema: Option<String>,
    pub metadata: HashMap<String, String>,
    pub num_deleted_rows: u64,
    pub num_fragments: u64,
    /// When the version was committed, milliseconds since the epoch.
    pub timestamp_millis: i64,
}

impl Table {
    pub async fn describe(&self, options: ReadOptions) -> Result<Description> {
        let newest = self
            .handle
            .current(options.not_before, options.min_version)
            .await?;
        match options.version {
            Some(version) if version != newest.dataset.version_id() => {
                // An old version never changes: its stamp only has to be unique.
                let dataset = self.dataset(options).await?;
                describe(&dataset, 0).await
            }
            _ => describe(&newest.dataset, newest.stamp).await,
        }
    }
}

async fn describe(dataset: &Dataset, stamp: u64) -> Result<Description> {
    let schema = Schema::from(dataset.schema());
    let lance_schema = schema.to_json().ok();
    let schema = arrow_schema_to_json(&schema).map_err(|error| {
        Error::new(
            Code::Unsupported,
            format!("the schema has a type that the interface can't express: {error}"),
        )
    })?;
    let schema = serde_json::to_string(&schema)
        .map_err(|error| Error::internal("the schema can't be encoded", error))?;
    Ok(Description {
        version: dataset.version_id(),
        stamp,
        schema,
        lance_schema,
        metadata: dataset.metadata().clone(),
        num_deleted_rows: dataset.count_deleted_rows().await? as u64,
        num_fragments: dataset.count_fragments() as u64,
        timestamp_millis: dataset.version().timestamp.timestamp_millis(),
    })
}
