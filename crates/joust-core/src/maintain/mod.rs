//! What keeps a table fit to be read.

mod compact;

pub use compact::{Compact, Compacted};
