//! The best rows of a view for a query.
//!
//! [`Plan`] decides what a query means for some columns: words become terms, fuzzy words become the
//! terms they stand for. A plan whose columns are one is a single tantivy query, of which only the
//! best rows are ever scored; the parts of a plan over several columns are found by themselves and put
//! together by row.

mod collect;
mod combine;
mod combined;
mod demote;
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

/// A row that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub row: u64,
    pub score: f32,
}

impl Hit {
    /// Better rows first: the higher score, then the lower row id.
    pub fn rank(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.row.cmp(&other.row))
    }
}

/// Asked now and then: true ends the search.
pub type Interrupt<'a> = &'a (dyn Fn() -> bool + Sync);

/// What a search did in one part of a column; there may be several steps for one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The number of the column in the plan, and of the part in its view.
    pub column: usize,
    pub part: usize,
    /// Visible rows that were looked at: those that surely can't be among the best are passed over.
    pub rows: u64,
    pub time: Duration,
}

/// Told of every step.
pub type Observe<'a> = &'a (dyn Fn(Step) + Sync);
