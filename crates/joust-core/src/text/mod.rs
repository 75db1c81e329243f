//! Full-text indexes inside a table.
//!
//! An `FTS` index is one or more segments of [`joust_text`]. Each segment is an entry of joust's own type in the Lance
//! manifest, with its files in `_indices/<uuid>/`. So it is versioned, branched, restored, dropped and cleaned up with
//! the table, and other Lance tools ignore it. Rows have stable ids, which compaction and updates do not change.
//!
//! A search at a version uses a [`view`] of a column. It has the segments in that version's manifest ([`entry`]), each
//! restricted to the rows that exist there and are still in its covered fragments ([`visible`]). It also has the rows
//! of all other fragments, which are indexed at search time ([`tail`]). Both are cached ([`caches`]).

mod build;
mod column;
mod describe;
mod entry;
mod files;
mod fill;
mod json;
mod optimize_index;
mod search;
mod source;
mod tail;
mod text_caches;
mod view;
mod visible;

pub(crate) use build::{Target, build, check};
pub(crate) use column::TextColumn;
pub(crate) use entry::{Entry, TYPE_URL, all_entries, entries};
pub(crate) use files::remove_segment;
pub(crate) use json::as_returned;
pub(crate) use optimize_index::optimize_index;
pub(crate) use search::{Found, Search, indexed, names, prewarm};
pub(crate) use source::texts;
pub(crate) use text_caches::TextCaches;

use crate::error::{Code, Error};

/// Documents in a posting block of a segment: tantivy supports only this size.
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
