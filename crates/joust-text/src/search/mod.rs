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
mod expand;
mod lower;
mod plan;
mod tree;

pub use plan::Plan;
pub use tree::{Leaf, Tree};

use std::cmp::Ordering;

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
