//! Vector, scalar and full-text indexes: the request ([`spec`]), the build ([`build`]) or what other processes need for it
//! ([`segments`], [`model`]), and the listing ([`list`]).

mod branch_difference;
mod build;
mod caches;
mod kind;
mod list;
mod model;
mod params;
mod progress;
mod segments;
mod spec;
mod table_stats;

pub use branch_difference::{ColumnFacts, Difference, RowDifference};
pub use build::Planned;
pub(crate) use build::{check_rows, not_found, prepare, training};
pub(crate) use caches::Caches;
pub(crate) use kind::Kind;
pub use list::{IndexDescription, IndexStats};
pub(crate) use model::{Model, has_few_rows, model_bytes, train};
pub(crate) use progress::Reporter;
pub(crate) use segments::{Arguments, Assembly, SegmentPlan};
pub(crate) use spec::Spec;
pub use table_stats::{Lengths, Stats};
