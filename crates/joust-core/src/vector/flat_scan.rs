//! The nearest rows by comparing all of them.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeListArray};
use lance_linalg::distance::DistanceType;
use roaring::RoaringTreemap;

use super::rerank::{self, Measure};
use super::top_k::{self, TopK};
use super::{Bounds, Neighbor, Search, VectorCaches};
use crate::cache::{Column, Fragment, Reading, RowLiveness};
use crate::error::Result;

/// Rows that are measured together: they stay in the core's cache for the scans that share them.
const CHUNK: usize = 256;
/// Bytes of vectors that are read in less time than it takes to ask another thread.
const SMALL: usize = 1 << 20;
/// A filter that leaves less than one row in so many is followed row by row.
const SPARSE: u64 = 16;

/// Part of the rows of a fragment.
pub struct Part {
    number: usize,
    rows: Range<usize>,
}

/// The nearest rows to each vector in some fragments (by their numbers in the version; all when `None`),
/// the nearest first. `None`: their vectors are not in memory.
pub async fn search(
    search: &Search,
    metric: DistanceType,
    fragments: Option<&[usize]>,
    filter: Option<Arc<RoaringTreemap>>,
    caches: &VectorCaches,
) -> Result<Option<Vec<Vec<Neighbor>>>> {
    let Some(target) = target(search, fragments, caches).await? else {
        return Ok(None);
    };
    let rows = target.rows();
    if let Some(filter) = &filter
        && fragments.is_none()
        && filter.len() * SPARSE < rows as u64
    {
        let rows: Vec<u64> = filter.iter().collect();
        let mut neighbors = rerank::distances(search, &search.keys, metric, &rows, caches).await?;
        for nearest in &mut neighbors {
            top_k::sort(nearest, search.k);
        }
        return Ok(Some(neighbors));
    }
    let scan = |key: &ArrayRef| {
        Arc::new(Scan {
            key: key.clone(),
            metric,
            bounds: search.bounds,
            k: search.k,
            filter: filter.clone(),
        })
    };
    let scans: Vec<Arc<Scan>> = search.keys.iter().map(scan).collect();
    let numbers: usize = scans.iter().map(|scan| scan.key.len()).sum();
    if rows * numbers * size_of::<f32>() <= SMALL {
        let parts = shares(&target, 1).into_iter().flatten().collect::<Vec<_>>();
        return nearest(&scans, &parts, &target).map(Some);
    }
    caches.shared_scan.scan(scans, target).await.map(Some)
}

/// The vectors of some fragments, as in [`search`]. `None`: they are not in memory.
pub async fn target(
    search: &Search,
    fragments: Option<&[usize]>,
    caches: &VectorCaches,
) -> Result<Option<Target>> {
    let dataset = &search.dataset;
    let live = caches.rows().row_liveness(dataset).await?;
    let decoded = &caches.rows().decoded;
    let column = match fragments {
        // The rest of the column may be larger than there is room for.
        Some(numbers) => decoded.fragments(dataset, &search.field, numbers).await?,
        None => {
            decoded
                .column(dataset, &search.field, Reading::Whole)
                .await?
        }
    };
    let numbers = match fragments {
        Some(numbers) => numbers.to_vec(),
        None => (0..live.fragments().len()).collect(),
    };
    Ok(column.map(|column| Target {
        column,
        live,
        numbers,
    }))
}

/// What is searched for in some vectors.
pub struct Scan {
    key: ArrayRef,
    metric: DistanceType,
    bounds: Bounds,
    pub k: usize,
    filter: Option<Arc<RoaringTreemap>>,
}

/// The vectors that are compared.
#[derive(Clone)]
pub struct Target {
    pub column: Arc<Column>,
    live: Arc<RowLiveness>,
    /// Of the fragments.
    pub numbers: Vec<usize>,
}

impl Target {
    fn rows(&self) -> usize {
        let fragments = self.live.fragments();
        self.numbers
            .iter()
            .map(|number| fragments[*number].rows)
            .sum()
    }
}

/// Splits the rows into as many equal shares.
pub fn shares(target: &Target, count: usize) -> Vec<Vec<Part>> {
    let fragments = target.live.fragments();
    let size = |number: usize| fragments[number].rows;
    let rows: usize = target.numbers.iter().map(|number| size(*number)).sum();
    split(&target.numbers, size, rows.div_ceil(count).max(1))
}

/// Splits fragments into shares of `share` rows.
fn split(numbers: &[usize], rows: impl Fn(usize) -> usize, share: usize) -> Vec<Vec<Part>> {
    let mut shares = Vec::new();
    let mut current = Vec::new();
    let mut left = share;
    for number in numbers {
        let mut start = 0;
        while start < rows(*number) {
            let end = rows(*number).min(start + left);
            current.push(Part {
                number: *number,
                rows: start..end,
            });
            left -= end - start;
            start = end;
            if left == 0 {
                shares.push(std::mem::take(&mut current));
                left = share;
            }
        }
    }
    if !current.is_empty() {
        shares.push(current);
    }
    shares
}

/// The nearest rows of some parts for each of several scans, which share the reading of the vectors.
pub fn nearest(scans: &[Arc<Scan>], parts: &[Part], target: &Target) -> Result<Vec<Vec<Neighbor>>> {
    let mut best: Vec<TopK> = scans.iter().map(|scan| TopK::new(scan.k)).collect();
    for part in parts {
        let fragment = &target.live.fragments()[part.number];
        let vectors = target.column.fragments[part.number].as_fixed_size_list();
        for start in part.rows.clone().step_by(CHUNK) {
            let rows = CHUNK.min(part.rows.end - start);
            let chunk = vectors.slice(start, rows);
            for (scan, best) in scans.iter().zip(&mut best) {
                scan.chunk(&chunk, fragment, start, best)?;
            }
        }
    }
    Ok(best.into_iter().map(TopK::into_sorted).collect())
}

impl Scan {
    fn chunk(
        &self,
        vectors: &FixedSizeListArray,
        fragment: &Fragment,
        start: usize,
        best: &mut TopK,
    ) -> Result<()> {
        let measure = Measure {
            key: self.key.as_ref(),
            metric: self.metric,
            bounds: self.bounds,
        };
        let mut farthest = best.farthest();
        measure.each(vectors, |place, distance| {
            if distance > farthest || !fragment.is_alive(start + place) {
                return;
            }
            let row = fragment.row_id(start + place);
            if self
                .filter
                .as_ref()
                .is_none_or(|filter| filter.contains(row))
            {
                best.add(Neighbor { row, distance });
                farthest = best.farthest();
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_equal_and_complete() {
        let rows = [5, 0, 7, 1];
        let shares = split(&[0, 1, 2, 3], |number| rows[number], 4);
        let sizes: Vec<usize> = shares
            .iter()
            .map(|share| share.iter().map(|part| part.rows.len()).sum())
            .collect();
        assert_eq!(sizes, [4, 4, 4, 1]);
        let mut seen = vec![0; 4];
        for part in shares.iter().flatten() {
            assert_eq!(part.rows.start, seen[part.number]);
            seen[part.number] = part.rows.end;
        }
        assert_eq!(seen, rows);
    }
}
