//! The parameters of a vector search, for every strategy.

use arrow::array::ArrayRef;
use lance::Dataset;
use lance::dataset::scanner::Scanner;
use lance_index::vector::{ApproxMode, ProbeParams};
use lance_linalg::distance::DistanceType;
use lance_table::format::Fragment;

use super::probes;
use super::request::Query;
use super::vector;
use crate::error::{Error, Result};
use crate::schema::vector_column::{VectorColumn, distance_type};

/// A search with all defaults resolved.
pub struct VectorSearch {
    pub column: VectorColumn,
    /// The vectors in the type of the column, or in a type that Lance converts.
    pub vectors: ArrayRef,
    pub k: u64,
    pub metric: Option<DistanceType>,
    pub lower_bound: Option<f32>,
    pub upper_bound: Option<f32>,
    pub probes: ProbeParams,
    pub approx_mode: ApproxMode,
    pub ef: Option<usize>,
    pub refine: Option<u32>,
    pub use_index: bool,
}

impl VectorSearch {
    pub async fn of(dataset: &Dataset, query: &Query, dimension: usize) -> Result<Self> {
        let column = vector::column(dataset, query.vector_column.as_deref(), dimension)?;
        let vectors = column.array(&query.vector)?;
        // Lance allocates memory for every requested neighbor: never request more rows than there are.
        let fragments = dataset.manifest().fragments.iter();
        let rows: Option<usize> = fragments.map(Fragment::num_rows).sum();
        let rows = match rows {
            Some(rows) => rows as u64,
            None => Box::pin(dataset.count_rows(None)).await? as u64,
        };
        let k = query.reach().min(rows).max(1);
        // Lance allocates memory for every refined row: no more than there are.
        let most = u32::try_from(rows.div_ceil(k)).unwrap_or(u32::MAX).max(1);
        let refine = query
            .refine_factor
            .filter(|factor| *factor > 0)
            .map(|factor| factor.min(most));
        // The search must return as many candidates as are refined: Lance rejects fewer.
        let candidates = k.saturating_mul(refine.map_or(1, u64::from));
        let ef = query
            .ef
            .filter(|ef| *ef > 0)
            .map(|ef| candidates.max(u64::from(ef)) as usize);
        let metric = query.distance_type.as_deref();
        let mode = query.approx_mode.as_deref();
        Ok(Self {
            column,
            vectors,
            k,
            metric: metric.map(distance_type).transpose()?,
            lower_bound: query.lower_bound,
            upper_bound: query.upper_bound,
            probes: probes::bounds(query)?,
            approx_mode: mode.map(approx_mode).transpose()?.unwrap_or_default(),
            ef,
            refine,
            use_index: query.bypass_vector_index != Some(true),
        })
    }

    /// Applies the parameters to a Lance scan.
    pub fn set(&self, scanner: &mut Scanner) -> Result<()> {
        scanner.nearest(&self.column.path, self.vectors.as_ref(), self.k as usize)?;
        if let Some(metric) = self.metric {
            scanner.distance_metric(metric);
        }
        scanner.distance_range(self.lower_bound, self.upper_bound);
        probes::set(scanner, &self.probes)?;
        scanner.approx_mode(self.approx_mode);
        if let Some(ef) = self.ef {
            scanner.ef(ef);
        }
        if let Some(factor) = self.refine {
            scanner.refine(factor);
        }
        scanner.use_index(self.use_index);
        Ok(())
    }
}

fn approx_mode(name: &str) -> Result<ApproxMode> {
    match name.to_ascii_lowercase().as_str() {
        "fast" => Ok(ApproxMode::Fast),
        "normal" => Ok(ApproxMode::Normal),
        "accurate" => Ok(ApproxMode::Accurate),
        _ => Err(Error::invalid(format!(
            "`{name}` is no approx_mode; use fast, normal or accurate"
        ))),
    }
}
