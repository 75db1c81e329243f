//! Materialized views: tables whose rows are the result of a query over other tables.
//!
//! [`query`] plans the SQL, with the parser and executor of client statements ([`crate::sql`]). [`schema`] defines the
//! stored types of the result. [`ViewDefinition`] stores the definition in the view's metadata. [`create`] and
//! [`refresh`] write the table.

mod create;
mod query;
mod refresh;
mod schema;

pub use query::tables;

use std::sync::Arc;
use std::time::SystemTime;

use lance::Dataset;

use crate::Result;
pub use crate::schema::{AutoRefresh, NamedTable, ViewDefinition};
use crate::storage::StorageOptions;
use crate::table::{ReadOptions, Tables};

/// A view to create.
pub struct NewView {
    pub sql: String,
    /// The tables of the names in the query.
    pub sources: Vec<Source>,
    /// An Arrow IPC message or stream with the schema of the view; the schema of the query when absent.
    pub schema: Option<Vec<u8>>,
    /// `None`: only requests refresh it.
    pub auto_refresh: Option<AutoRefresh>,
}

/// A table that a view's query names.
pub struct Source {
    /// The name in the query, in parts.
    pub name: Vec<String>,
    /// The table's identifier.
    pub table: Vec<String>,
    pub location: String,
    pub storage_options: StorageOptions,
    /// The version to read; the newest when absent.
    pub version: Option<u64>,
}

impl Source {
    /// The version to read; if it is the newest, as of now.
    async fn open(&self, tables: &Tables) -> Result<Arc<Dataset>> {
        let options = ReadOptions {
            version: self.version,
            not_before: Some(SystemTime::now()),
            ..ReadOptions::default()
        };
        tables
            .table(&self.location, self.storage_options.clone())
            .dataset(options)
            .await
    }
}

/// How to refresh a view.
pub struct Refresh {
    pub sources: Vec<Source>,
    /// The most rows of a fragment of the view.
    pub max_rows_per_fragment: Option<usize>,
    /// Partitions of the query that run concurrently.
    pub concurrency: Option<usize>,
}

/// A committed refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refreshed {
    pub version: u64,
    pub rows_written: u64,
    /// The version of each source that was read, in the order of the request.
    pub source_versions: Vec<u64>,
}
