//! Vector, scalar and full-text indexes: the request ([`spec`]), the build ([`build`]), and the listing ([`list`]).

mod branch_difference;
mod build;
mod caches;
mod kind;
mod list;
mod params;
mod progress;
mod spec;
mod table_stats;

pub use branch_difference::{ColumnFacts, Difference, RowDifference};
pub use build::Planned;
pub(crate) use build::not_found;
pub(crate) use caches::Caches;
pub(crate) use kind::Kind;
pub use list::{IndexDescription, IndexStats};
pub(crate) use progress::Reporter;
pub use table_stats::{Lengths, Stats};
