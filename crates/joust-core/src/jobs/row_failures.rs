//! Rows for which a computation failed.

use serde::{Deserialize, Serialize};

/// The most failures that one run reports.
pub(super) const MOST_FAILURES: usize = 1_000;

/// A row for which a computation failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowFailure {
    pub fragment: u64,
    /// Position in the fragment, deleted rows included.
    pub offset: u64,
    pub message: String,
}
