//! Maintenance of a table.
//!
//! Small writes create small fragments, deletes leave deleted rows in files, new rows are missing from indexes, and
//! every version keeps its files. [`maintenance_due`] reports what is due; [`compact`], [`optimize_indices`] and [`clean_up`]
//! do it. Each makes at most one commit and yields to conflicting writers.

mod clean_up;
mod compact;
mod due;
mod former_texts;
mod leftovers;
mod optimize_indices;
mod remote_compaction;
mod row_lineage;

pub use clean_up::{CleanUp, CleanedUp, RemovalPermit};
pub use compact::{Compact, Compacted};
pub use due::MaintenanceDue;
pub use optimize_indices::OptimizedIndices;
