//! Materialized views: tables whose rows are the result of a query over other tables.
//!
//! [`query`] plans the SQL, with the parser and executor of client statements ([`crate::sql`]). [`schema`] defines the
//! stored types of the result. [`ViewDefinition`] stores the definition in the view's metadata. [`create`] makes the
//! table.
//!
//! [`refresh`] brings it up to date. [`compute`] computes all rows, or only those that come from changed rows if the
//! [`shape`] of the query allows that and the [`scope`] of the changes is known, from the [`state`] of the last refresh.
//! [`groups`] has the groups of an aggregation, and [`plans`] makes the plans for a part of the view. [`write`] writes
//! the rows and [`commit`] puts them in the place of the former ones. [`status`] says how the next refresh works, and
//! how far the view is behind. [`expansion`] is for views whose rows a function makes, and
//! [`remote`] leaves rows to workers outside of this process.

mod commit;
mod compute;
mod create;
mod expansion;
mod groups;
mod planned_query;
mod plans;
mod query;
mod read_columns;
mod refresh;
mod remote;
mod schema;
mod scope;
mod shape;
mod state;
mod status;
mod write;

pub use expansion::NewViewFunction;
pub use query::tables;
pub use status::{SourceStatus, ViewStatus};

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use lance::Dataset;

use crate::Result;
use crate::jobs::RowFailure;
use crate::jobs::remote::RemoteWork;
pub use crate::schema::{AutoRefresh, NamedTable, ViewDefinition, ViewFunction};
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
    /// Makes the rows of the view from each row of the query; the rows are those of the query when absent.
    pub function: Option<NewViewFunction>,
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
#[derive(Default)]
pub struct Refresh {
    pub sources: Vec<Source>,
    /// Compute all rows, also if it is known which have changed.
    pub full: bool,
    /// The most rows of a fragment of the view.
    pub max_rows_per_fragment: Option<usize>,
    /// Partitions of the query that run concurrently, or processes of the view's function.
    pub concurrency: Option<usize>,
    /// The most rows of a call of the view's function.
    pub call_rows: Option<usize>,
    /// The most rows that the view has afterwards, if a function makes them. The next refresh computes all rows.
    pub output_limit: Option<u64>,
    /// The id of the job. With a function, a later run of the job continues with what this one has computed. `None`: each
    /// run begins anew.
    pub job: Option<String>,
    /// Workers that compute rows of one table; `None`: this engine does.
    pub workers: Option<RemoteWork>,
}

/// Which rows a refresh computes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefreshMode {
    /// Those that come from rows which have changed since the last refresh.
    Incremental,
    /// All, with the reason.
    Full(Cow<'static, str>),
}

/// A refresh that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refreshed {
    /// The version of the view; no new one if there was nothing to do.
    pub version: u64,
    pub mode: RefreshMode,
    pub rows_written: u64,
    /// Rows that were replaced or removed.
    pub rows_removed: u64,
    /// The version of each source that was read, in the order of the request.
    pub source_versions: Vec<u64>,
    /// The first rows of the source for which the view's function failed: the view has no rows that come from them.
    pub failures: Vec<RowFailure>,
    /// Fragments of the source with such rows, and the number of these.
    pub failed_fragments: Vec<(u64, u64)>,
    /// The view's function, and its version.
    pub function: Option<(String, Option<String>)>,
}
