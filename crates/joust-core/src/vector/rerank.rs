//! Rerank: exact distances in place of estimates.

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeListArray};
use lance_linalg::distance::DistanceType;

use super::{Bounds, Neighbor, Search, VectorCaches};
use crate::cache::Reader;
use crate::error::{Error, Result};

/// Computes the distances of vectors from a query vector.
pub struct Measure<'a> {
    pub key: &'a dyn Array,
    pub metric: DistanceType,
    pub bounds: Bounds,
}

impl Measure<'_> {
    /// Calls `found` with the place and the distance of every vector whose distance counts.
    pub fn each(
        &self,
        vectors: &FixedSizeListArray,
        mut found: impl FnMut(usize, f32),
    ) -> Result<()> {
        let distances = self.metric.arrow_batch_func()(self.key, vectors)?;
        for (place, distance) in distances.values().iter().enumerate() {
            if !distance.is_nan() && vectors.is_valid(place) && self.bounds.contain(*distance) {
                found(place, *distance);
            }
        }
        Ok(())
    }
}

/// The distances of some live rows from each of some vectors, in the rows' order; those that are out of
/// bounds are left out.
pub async fn distances(
    search: &Search,
    keys: &[ArrayRef],
    metric: DistanceType,
    rows: &[u64],
    caches: &VectorCaches,
) -> Result<Vec<Vec<Neighbor>>> {
    if rows.is_empty() {
        return Ok(vec![Vec::new(); keys.len()]);
    }
    let column = vec![("vector".to_string(), search.column.clone())];
    let reader = Reader::new(search.dataset.clone(), column);
    let columns = reader.read(rows, caches.rows()).await?;
    let vectors = columns
        .first()
        .and_then(|column| column.as_fixed_size_list_opt())
        .ok_or_else(|| Error::invalid("the column holds no vectors"))?;
    let measured = |key: &ArrayRef| {
        let measure = Measure {
            key: key.as_ref(),
            metric,
            bounds: search.bounds,
        };
        let mut neighbors = Vec::with_capacity(rows.len());
        measure.each(vectors, |place, distance| {
            neighbors.push(Neighbor {
                row: rows[place],
                distance,
            });
        })?;
        Ok(neighbors)
    };
    keys.iter().map(measured).collect()
}
