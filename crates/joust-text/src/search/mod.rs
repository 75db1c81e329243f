//! Finds the top rows of a view for a query.
//!
//! [`Plan`] resolves a query for some columns: words become terms, and fuzzy words become their expansions. A plan over
//! one column is a single tantivy query, which scores only the documents that can be among the top rows. The parts of a
//! plan over several columns run separately and are combined by row.

mod bm25f;
mod boosting;
mod collect;
mod combine;
mod describe;
mod expand;
mod levenshtein;
mod lower;
mod plan;
mod planner;
mod tree;

pub use plan::{Plan, Sought};
pub use tree::{Leaf, Tree};

use std::cmp::Ordering;
use std::time::Duration;

/// A matched row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub row: u64,
    pub score: f32,
}

impl Hit {
    /// Orders better rows first: the higher score, then the lower row id.
    pub fn rank(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.row.cmp(&other.row))
    }
}

/// Called periodically: true cancels the search.
pub type Interrupt<'a> = &'a (dyn Fn() -> bool + Sync);

/// A step of a search in one part of a column. One part may take several steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The number of the column in the plan, and of the part in its view.
    pub column: usize,
    pub part: usize,
    /// Visible rows that were scored. The search skips rows that cannot be among the top ones.
    pub rows: u64,
    pub time: Duration,
}

/// Called for every step.
pub type Observe<'a> = &'a (dyn Fn(Step) + Sync);
