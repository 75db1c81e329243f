//! What text searches keep, over all tables.

use std::sync::Arc;

use joust_text::segment::Segment;
use joust_text::view::{Part, Restriction, View};
use lance::Dataset;
use roaring::RoaringTreemap;
use uuid::Uuid;

use super::entry::Entry;
use super::memo::Memo;
use super::row_cache::{self, RowCache};
use super::tail::Piece;
use super::visible::Fragments;

/// One version of one branch of one table, also after another table took its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    uri: String,
    branch: Option<String>,
    version: u64,
    committed_nanos: u128,
}

impl State {
    pub fn of(dataset: &Dataset) -> Self {
        let manifest = dataset.manifest();
        Self {
            uri: dataset.uri().to_string(),
            branch: manifest.branch.clone(),
            version: manifest.version,
            committed_nanos: manifest.timestamp_nanos,
        }
    }
}

/// A column of a state, with or without the rows that are in no segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnState {
    pub state: State,
    pub field: i32,
    pub index: String,
    pub with_tail: bool,
}

/// Bounded by bytes, each for itself: what is evicted is made again.
pub struct TextCaches {
    /// The entries of a version's manifest.
    pub entries: Memo<State, Arc<Vec<Entry>>>,
    /// Open segments. Those of local tables are mapped files, which the system keeps in memory or
    /// not; those of remote ones are in memory.
    pub segments: Memo<Uuid, Arc<Segment>>,
    /// A segment with the rows that are visible while its fragments are in a certain state.
    pub parts: Memo<(Uuid, Fragments), Arc<Part>>,
    /// Rows of fragments that are in no segment.
    pub tails: Memo<(String, Fragments), Arc<Piece>>,
    pub views: Memo<ColumnState, Arc<View>>,
    /// The rows that a filter leaves, by its text.
    pub filters: Memo<(State, String), Arc<RoaringTreemap>>,
    pub restrictions: Memo<(ColumnState, String), Arc<Restriction>>,
    /// Rows that were returned, by the columns that were asked for.
    pub rows: Memo<(State, String), Arc<RowCache>>,
    /// Bytes of each.
    pub rows_each: usize,
}

impl TextCaches {
    /// `bytes`: what all of them together may hold.
    pub fn new(bytes: usize) -> Self {
        let share = |percent: usize| bytes / 100 * percent;
        Self {
            entries: Memo::new(share(2)),
            segments: Memo::new(share(40)),
            parts: Memo::new(share(11)),
            tails: Memo::new(share(11)),
            views: Memo::new(share(5)),
            filters: Memo::new(share(5)),
            restrictions: Memo::new(share(5)),
            // Each counts as full.
            rows: Memo::new(share(21)),
            rows_each: (share(21) / 8).min(row_cache::MOST_BYTES),
        }
    }
}
