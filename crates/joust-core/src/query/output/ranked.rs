//! A matching row.

use joust_text::search::Hit;

use crate::vector::Neighbor;

/// A matching row with its scores.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Ranked {
    pub row: u64,
    /// The number of the query vector that matched it.
    pub query: i32,
    /// Absent when only the vector matched.
    pub score: Option<f32>,
    /// Absent when only the text matched.
    pub distance: Option<f32>,
    /// Of a hybrid search.
    pub relevance: f32,
}

impl From<Hit> for Ranked {
    fn from(hit: Hit) -> Self {
        Self {
            row: hit.row,
            score: Some(hit.score),
            ..Self::default()
        }
    }
}

impl From<Neighbor> for Ranked {
    fn from(neighbor: Neighbor) -> Self {
        Self {
            row: neighbor.row,
            distance: Some(neighbor.distance),
            ..Self::default()
        }
    }
}
