//! The caches of text searches, over all tables.

use std::sync::Arc;

use joust_text::segment::Segment;
use joust_text::view::{Part, Restriction, View};
use uuid::Uuid;

use super::entry::Entry;
use super::tail::{Piece, Texts};
use super::visible::Fragments;
use crate::cache::RowCaches;
use crate::version_key::VersionKey;
use crate::weighted_cache::WeightedCache;

/// A column of a state, with or without the rows that are in no segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnState {
    pub state: VersionKey,
    pub field: i32,
    pub index: String,
    pub with_tail: bool,
}

/// The weight of each segment in a part or a view: an evicted segment stays open as long as these exist.
pub fn held(segment: &Segment) -> usize {
    segment.documents() as usize / 8 + segment.bytes() as usize / 16
}

/// Each cache has its own limit in bytes; an evicted entry is built again.
pub struct TextCaches {
    rows: Arc<RowCaches>,
    /// The entries of a version's manifest.
    pub entries: WeightedCache<VersionKey, Arc<Vec<Entry>>>,
    /// Open segments. Those of local tables are mapped files. They count as well, since a mapped file occupies disk
    /// space after a merge has replaced it.
    pub segments: WeightedCache<Uuid, Arc<Segment>>,
    /// A segment with its visible rows, for one state of its fragments.
    pub parts: WeightedCache<(Uuid, Fragments), Arc<Part>>,
    /// Rows of fragments that are in no segment.
    pub tails: WeightedCache<Texts, Arc<Piece>>,
    pub views: WeightedCache<ColumnState, Arc<View>>,
    pub restrictions: WeightedCache<(ColumnState, String), Arc<Restriction>>,
}

impl TextCaches {
    /// `bytes`: the limit of all of them together.
    pub fn new(bytes: usize, rows: Arc<RowCaches>) -> Self {
        let share = |percent: usize| bytes / 100 * percent;
        Self {
            rows,
            entries: WeightedCache::new(share(3)),
            segments: WeightedCache::new(share(55)),
            parts: WeightedCache::new(share(14)),
            tails: WeightedCache::new(share(14)),
            views: WeightedCache::new(share(7)),
            restrictions: WeightedCache::new(share(7)),
        }
    }

    /// The columns for the evaluation of filters.
    pub fn rows(&self) -> &RowCaches {
        &self.rows
    }
}
