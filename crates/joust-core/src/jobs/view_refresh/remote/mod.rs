//! Rows of a view that workers outside of this process compute, each task from one fragment of the source.
//!
//! [`query`] writes the query of a view in the SQL of Lance, with which workers scan the source. [`fragments`] has the
//! order and checks what workers hand over. [`rows`] leaves the rows of a row-wise query to workers; the
//! [refresh of a view with a function](super::expansion) leaves the calls of its function to them.

mod fragments;
mod query;
mod rows;

pub use fragments::{FragmentRows, RemoteFragments, RemoteFunction};
pub use query::{WorkerQuery, worker_query};
