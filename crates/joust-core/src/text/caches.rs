//! What text searches keep, over all tables.

use std::sync::Arc;

use joust_text::segment::Segment;
use joust_text::view::{Part, Restriction, View};
use uuid::Uuid;

use super::entry::Entry;
use super::tail::{Piece, Texts};
use super::visible::Fragments;
use crate::memo::Memo;
use crate::state::State;

/// A column of a state, with or without the rows that are in no segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnState {
    pub state: State,
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
    /// The entries of a version's manifest.
    pub entries: Memo<State, Arc<Vec<Entry>>>,
    /// Open segments. Those of local tables are mapped files: they count as well, since a file that is
    /// mapped keeps its room on the disk after a merge has taken its place.
    pub segments: Memo<Uuid, Arc<Segment>>,
    /// A segment with the rows that are visible while its fragments are in a certain state.
    pub parts: Memo<(Uuid, Fragments), Arc<Part>>,
    /// Rows of fragments that are in no segment.
    pub tails: Memo<Texts, Arc<Piece>>,
    pub views: Memo<ColumnState, Arc<View>>,
    pub restrictions: Memo<(ColumnState, String), Arc<Restriction>>,
}

impl TextCaches {
    /// `bytes`: what all of them together may hold.
    pub fn new(bytes: usize) -> Self {
        let share = |percent: usize| bytes / 100 * percent;
        Self {
            entries: Memo::new(share(3)),
            segments: Memo::new(share(55)),
            parts: Memo::new(share(14)),
            tails: Memo::new(share(14)),
            views: Memo::new(share(7)),
            restrictions: Memo::new(share(7)),
        }
    }
}
