//! Backfill: fills the existing rows of a computed column.
//!
//! [`binding`] reads the declaration, [`evaluate`] computes values, with SQL in [`slices`], [`stage`] writes the column of
//! one fragment to its own file, and [`run`] does so for every fragment and commits all of them at once. A partially
//! filled column is never visible, and a cancelled run leaves the table unchanged. With a function, [`staged_files`] keeps
//! the files for the next run of the job, and [`remote`] can leave the fragments to workers outside of this process.

mod binding;
mod calls;
mod changed;
mod evaluate;
mod remote;
mod run;
mod slices;
mod stage;
mod staged_files;

pub(super) use binding::is_computed_with_sql;
pub use changed::Since;
pub(super) use changed::has_changed;

use super::RowFailure;
use super::remote::RemoteWork;

/// What to fill.
#[derive(Debug, Clone, Default)]
pub struct Backfill {
    /// Path of a computed column.
    pub column: String,
    /// SQL; rows for which it is not true keep their value.
    pub predicate: Option<String>,
    /// Version whose rows are the inputs; the newest when absent.
    pub read_version: Option<u64>,
    /// Fragments that are computed concurrently.
    pub concurrency: Option<usize>,
    /// Only the first fragments of the table, up to this number.
    pub max_fragments: Option<usize>,
    /// The least rows of a call of a function.
    pub min_batch_rows: Option<usize>,
    /// The most rows of a call of a function.
    pub max_batch_rows: Option<usize>,
    /// An earlier backfill of all rows: only fragments that have changed since are computed. If its versions do not exist
    /// any more, all are.
    pub changed_since: Option<Since>,
    /// The id of the job. With a function, a later run of the job continues with the fragments that this one has
    /// computed. `None`: each run begins anew.
    pub job: Option<String>,
    /// Workers that call the function; `None`: processes of this engine do. SQL is always computed by the engine.
    pub workers: Option<RemoteWork>,
}

/// A validated backfill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedBackfill {
    /// The column's name in the schema's spelling.
    pub column: String,
}

/// A finished backfill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backfilled {
    /// Rows with a computed value that differs from their previous one.
    pub rows_assigned: u64,
    /// Rows whose value could not be computed; they are null.
    pub rows_failed: u64,
    /// Rows of the new version that were not processed.
    pub rows_remaining: u64,
    pub source_version: u64,
    /// The version with the values; `None` if there was nothing to write.
    pub published_version: Option<u64>,
    /// Fragments with failed rows, and the number of these.
    pub failed_fragments: Vec<(u64, u64)>,
    /// The function that computed the values, and its version; `None`: SQL.
    pub function: Option<(String, Option<String>)>,
    /// The first failures.
    pub failures: Vec<RowFailure>,
}
