//! Vector, scalar and full-text indexes: what is asked for ([`spec`]), how it is built
//! ([`build`]), and what a table has ([`list`]).

mod build;
mod kind;
mod list;
mod params;
mod progress;
mod spec;

pub use build::Planned;
pub(crate) use build::not_found;
pub(crate) use kind::Kind;
pub use list::{IndexDescription, IndexStats};
pub(crate) use progress::Reporter;
pub use progress::{OnProgress, Progress};
