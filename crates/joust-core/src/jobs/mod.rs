//! Background jobs, one module for each kind.

pub mod auto_refresh;
pub mod backfill;
mod checkpoint;
mod file_sizes;
pub mod index_build;
pub mod maintenance;
pub mod prewarm;
pub mod remote;
mod row_failures;
mod unnamed_files;
pub mod view_refresh;

pub use row_failures::RowFailure;
