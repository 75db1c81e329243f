//! Full-text indexes inside a table.
//!
//! An `FTS` index is one or more segments of [`joust_text`], each an entry of joust's own type in the
//! Lance manifest with its files in `_indices/<uuid>/`. So it is versioned, branched, restored, dropped
//! and cleaned up with the table, and other Lance tools pass over it. Rows are known by their stable
//! ids, which compaction and updates leave alone.
//!
//! What a search at a version sees of a column is a [`view`]: the segments in that version's manifest
//! ([`entry`]), each restricted to the rows that are alive there and still live in the fragments it
//! covers ([`visible`]), and the rows of all other fragments, indexed for the search ([`tail`]). All of it
//! is kept for as long as it is used ([`caches`]).

mod build;
mod caches;
mod catch_up;
mod column;
mod describe;
mod entry;
mod files;
mod fill;
mod json;
mod search;
mod source;
mod tail;
mod view;
mod visible;

pub(crate) use build::{Target, build, check};
pub(crate) use caches::TextCaches;
pub(crate) use catch_up::catch_up;
pub(crate) use column::TextColumn;
pub(crate) use entry::{Entry, TYPE_URL, all_entries, entries};
pub(crate) use json::as_returned;
pub(crate) use search::{Found, Search, indexed, names, prewarm};
pub(crate) use source::texts;

use crate::error::{Code, Error};

/// Documents in a posting block of a segment: tantivy has this one size.
pub(crate) const BLOCK_SIZE: u32 = 128;

impl From<joust_text::Error> for Error {
    fn from(error: joust_text::Error) -> Self {
        match error {
            joust_text::Error::Invalid(message) => Self::invalid(message),
            joust_text::Error::Interrupted => {
                Self::new(Code::ServiceUnavailable, "the search was interrupted")
            }
            error @ joust_text::Error::Index(_) => {
                Self::internal("a text index could not be read or written", error)
            }
        }
    }
}
