//! Materialized views: tables whose rows are the result of a query over other tables.
//!
//! [`query`] plans its SQL, which is read and run as statements of clients are ([`crate::sql`]), [`schema`]
//! says what its result is stored as, [`ViewDefinition`] keeps it in the view's own metadata, and [`create`]
//! and [`refresh`] write the table.

mod create;
mod query;
mod refresh;
mod schema;

pub use query::tables;

use std::sync::Arc;
use std::time::SystemTime;

use lance::Dataset;

use crate::Result;
pub use crate::schema::{NamedTable, ViewDefinition};
use crate::storage::StorageOptions;
use crate::table::{ReadOptions, Tables};

/// A view to create.
pub struct NewView {
    pub sql: String,
    /// What the query's table names stand for.
    pub sources: Vec<Source>,
    /// An Arrow IPC message or stream with the schema that the view is to have; the query's own
    /// when absent.
    pub schema: Option<Vec<u8>>,
}

/// A table that a view's query names.
pub struct Source {
    /// The name as the query has it, in parts.
    pub name: Vec<String>,
    /// The table's identifier.
    pub table: Vec<String>,
    pub location: String,
    pub storage_options: StorageOptions,
    /// The version to read; the newest when absent.
    pub version: Option<u64>,
}

impl Source {
    /// The version to read, no older than now where it is the newest.
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
    /// Rows of a fragment of the view, at most.
    pub max_rows_per_fragment: Option<usize>,
    /// Parts of the query that run at the same time.
    pub concurrency: Option<usize>,
}

/// A committed refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refreshed {
    pub version: u64,
    pub rows_written: u64,
    /// The version that was read of each source, in the order of the request.
    pub source_versions: Vec<u64>,
}
