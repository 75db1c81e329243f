//! What keeps a table fit to be read.
//!
//! Small writes leave small fragments, deletes leave holes, new rows lie outside of the indexes, and
//! every version keeps its files. [`upkeep`] tells what of it is due, [`compact`] and [`catch_up`]
//! and [`clean_up`] do it; each is one commit at most that any other writer may precede.

mod catch_up;
mod clean_up;
mod compact;
mod former_texts;
mod upkeep;

pub use catch_up::CaughtUp;
pub use clean_up::{CleanUp, CleanedUp, GivenUp};
pub use compact::{Compact, Compacted};
pub use upkeep::Upkeep;
