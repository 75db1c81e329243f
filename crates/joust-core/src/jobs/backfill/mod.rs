//! Backfill: gives the rows that a table has the values that a computed column declares.
//!
//! [`binding`] reads the declaration, [`evaluate`] computes values, [`stage`] writes one fragment's
//! column to a file of its own, [`run`] does so for every fragment and commits all of them at once.
//! Nobody sees a half filled column, and a run that is stopped leaves the table as it was.

mod binding;
mod evaluate;
mod run;
mod stage;

pub use evaluate::RowFailure;

/// What to fill.
#[derive(Debug, Clone, Default)]
pub struct Backfill {
    /// Path of a computed column.
    pub column: String,
    /// SQL; rows for which it is not true keep what they have.
    pub predicate: Option<String>,
    /// Version whose rows are computed from; the newest when absent.
    pub read_version: Option<u64>,
    /// Fragments that are computed at the same time.
    pub concurrency: Option<usize>,
    /// Only the table's first so many fragments.
    pub max_fragments: Option<usize>,
}

/// A backfill that could be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedBackfill {
    /// The column's name in the schema's spelling.
    pub column: String,
}

/// A backfill that is done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backfilled {
    /// Rows that were given a value which they did not hold before.
    pub rows_assigned: u64,
    /// Rows whose value could not be computed; they are null.
    pub rows_failed: u64,
    /// Rows of the published version that were not looked at.
    pub rows_remaining: u64,
    pub source_version: u64,
    /// The version that holds the values; `None` when there was nothing to write.
    pub published_version: Option<u64>,
    /// Fragments with rows that failed, and how many.
    pub failed_fragments: Vec<(u64, u64)>,
    /// Why rows failed, the first of them.
    pub failures: Vec<RowFailure>,
}
