//! Rows for which a computation failed.

use serde::{Deserialize, Serialize};

/// The most failures that one run reports.
pub(super) const MOST_FAILURES: usize = 1_000;
/// The longest message of a row that a worker reports, bytes.
const MOST_MESSAGE: usize = 2_000;

/// A row for which a computation failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowFailure {
    pub fragment: u64,
    /// Position in the fragment, deleted rows included.
    pub offset: u64,
    pub message: String,
}

/// The failures that a worker reports of a fragment with so many stored rows, of which `failed` have failed; `None` if
/// they do not fit it.
pub(super) fn of_worker(
    mut failures: Vec<RowFailure>,
    fragment: u64,
    rows: u64,
    failed: u64,
) -> Option<Vec<RowFailure>> {
    failures.truncate(MOST_FAILURES);
    let fit = failures.len() as u64 <= failed && failed <= rows;
    for failure in &mut failures {
        failure.fragment = fragment;
        let end = failure.message.floor_char_boundary(MOST_MESSAGE);
        failure.message.truncate(end);
    }
    (fit && failures.iter().all(|one| one.offset < rows)).then_some(failures)
}
