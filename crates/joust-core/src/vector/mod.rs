//! The nearest rows to one vector or to each of several, found without a plan of Lance's.
//!
//! Lance plans every query anew, opens the index for it, and reads the columns of the rows through the table's
//! files; for a table in memory that is most of a query's time. Here what does not change within a version is
//! cached: the [opened index](opened_index), its [masks](prefilter_mask), and the vectors themselves where they
//! fit ([`crate::cache`]). The [`strategy`] searches an index ([`approximate`]), all vectors ([`flat_scan`]), or
//! both: rows that no index covers yet are compared one by one, and estimated distances of the index are then
//! replaced by exact ones ([`rerank`]), as Lance does. The results equal Lance's, bit for bit; searches that do not
//! fit are left to Lance. `docs/design/vector-search.md` shows where the time goes and what was tried.

mod approximate;
mod batch;
mod flat_scan;
mod opened_index;
mod prefilter_mask;
mod rerank;
mod shared_scan;
pub(crate) mod stale_rows;
mod strategy;
mod top_k;
mod vector_caches;

use std::sync::Arc;

use arrow::array::ArrayRef;
use lance::Dataset;
use lance_core::datatypes::Field;
use lance_index::vector::ApproxMode;
use lance_linalg::distance::DistanceType;

use crate::schema::expression::Expression;

pub(crate) use strategy::{SearchStrategy, key};
pub(crate) use vector_caches::VectorCaches;

/// What is searched for.
#[derive(Clone)]
pub struct Search {
    pub dataset: Arc<Dataset>,
    /// The column's path as SQL has it.
    pub column: String,
    pub field: Field,
    /// The vectors, with the element type of the column. Each is searched for by itself.
    pub keys: Vec<ArrayRef>,
    pub k: usize,
    pub bounds: Bounds,
    /// When absent, the metric of the index or the default of the column.
    pub metric: Option<DistanceType>,
    pub probes: Probes,
    pub ef: Option<usize>,
    pub refine: Option<u32>,
    pub approx_mode: ApproxMode,
    pub use_index: bool,
    /// Rows that the index does not cover may be missed.
    pub fast: bool,
    /// A predicate that the rows satisfy.
    pub filter: Option<Expression>,
}

/// Distances that count.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bounds {
    /// Inclusive.
    pub lower: Option<f32>,
    /// Exclusive.
    pub upper: Option<f32>,
}

/// How many partitions are searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probes {
    pub minimum: usize,
    pub maximum: Option<usize>,
    pub effort: f64,
}

/// A neighbor of the query vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    pub row: u64,
    pub distance: f32,
}

impl Bounds {
    /// Numbers are ordered as Arrow orders them: -0 comes before 0.
    pub fn contain(&self, distance: f32) -> bool {
        self.lower
            .is_none_or(|lower| distance.total_cmp(&lower).is_ge())
            && self
                .upper
                .is_none_or(|upper| distance.total_cmp(&upper).is_lt())
    }
}
