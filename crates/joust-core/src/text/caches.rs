//! What text searches keep, over all tables.

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

/// What a part or a view weighs of each segment that it holds: a segment that has left its own place
/// stays open for as long as they are kept.
pub fn held(segment: &Segment) -> usize {
    segment.documents() as usize / 8 + segment.bytes() as usize / 16
}

/// Bounded by bytes, each for itself: what is evicted is made again.
pub struct TextCaches {
    rows: Arc<RowCaches>,
    /// The entries of a version's manifest.
    pub entries: WeightedCache<VersionKey, Arc<Vec<Entry>>>,
    /// Open segments. Those of local tables are mapped files: they count as well, since a file that is
    /// mapped keeps its room on the disk after a merge has taken its place.
    pub segments: WeightedCache<Uuid, Arc<Segment>>,
    /// A segment with the rows that are visible while its fragments are in a certain state.
    pub parts: WeightedCache<(Uuid, Fragments), Arc<Part>>,
    /// Rows of fragments that are in no segment.
    pub tails: WeightedCache<Texts, Arc<Piece>>,
    pub views: WeightedCache<ColumnState, Arc<View>>,
    pub restrictions: WeightedCache<(ColumnState, String), Arc<Restriction>>,
}

impl TextCaches {
    /// `bytes`: what all of them together may hold.
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

    /// The rows that filters are evaluated on.
    pub fn rows(&self) -> &RowCaches {
        &self.rows
    }
}
