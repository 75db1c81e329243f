//! Batch search: the nearest rows to each of several vectors through an index, on all cores. Each core searches a
//! share of the vectors.
//!
//! Where Lance would read a partition once for all vectors that probe it, a share does so too. The result of a
//! vector does not depend on the others, so shares find what one search of all vectors would.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::concat;
use lance_core::utils::tokio::get_num_compute_intensive_cpus;
use lance_index::metrics::NoOpMetricsCollector;
use lance_index::vector::Query;
use lance_linalg::distance::DistanceType;
use lance_linalg::kernels::normalize_arrow;
use tokio::task::JoinSet;

use super::approximate::{Probing, add, is_fixed, query};
use super::opened_index::Segment;
use super::prefilter_mask::prefilter;
use super::{Neighbor, Search};
use crate::error::{Code, Error, Result};

/// The nearest rows to each vector, the nearest first.
pub async fn search(search: &Search, probing: &Probing) -> Result<Vec<Vec<Neighbor>>> {
    let count = search.keys.len();
    let share = count.div_ceil(get_num_compute_intensive_cpus().max(1));
    let search = Arc::new(search.clone());
    // Cancelled with this future.
    let mut tasks = JoinSet::new();
    for start in (0..count).step_by(share.max(1)) {
        let (search, probing) = (search.clone(), probing.clone());
        let keys = start..count.min(start + share);
        tasks.spawn(async move {
            let found = probing.share(&search, keys).await;
            found.map(|found| (start, found))
        });
    }
    let mut all = vec![Vec::new(); count];
    while let Some(ended) = tasks.join_next().await {
        let lost = |_| Error::new(Code::Internal, "a search for several vectors was cut off");
        let (start, found) = ended.map_err(lost)??;
        for (all, found) in all[start..].iter_mut().zip(found) {
            *all = found;
        }
    }
    Ok(all)
}

impl Probing {
    async fn share(&self, search: &Search, keys: Range<usize>) -> Result<Vec<Vec<Neighbor>>> {
        let keys = &search.keys[keys];
        let mut all = Vec::with_capacity(keys.len());
        if !self.reads_once(search) {
            for key in keys {
                all.push(self.one(search, key).await?);
            }
            return Ok(all);
        }
        for (key, found) in keys.iter().zip(self.together(search, keys).await?) {
            all.push(self.complete(search, key, found).await?);
        }
        Ok(all)
    }

    /// Whether partitions are read once for all vectors. Which of equally near rows are found depends on
    /// it, so it is so when Lance does it: see `Scanner::batch_index_search_supported`.
    fn reads_once(&self, search: &Search) -> bool {
        let probes = &search.probes;
        let metadata = self.opened.metadata.iter();
        let mut details = metadata.map(|segment| segment.index_details.as_ref());
        let mut segments = self.opened.segments.iter();
        probes.minimum > 0
            && probes.maximum == Some(probes.minimum)
            && !self.is_measured
            && details.all(|details| details.is_some_and(|details| !details.value.is_empty()))
            && segments.all(|segment| segment.index.supports_batch_partition_search())
    }

    /// What the partitions hold that the vectors probe, for each of them.
    async fn together(&self, search: &Search, keys: &[ArrayRef]) -> Result<Vec<Vec<Neighbor>>> {
        let metric = self.opened.metric;
        let keys = match metric {
            DistanceType::Cosine => keys
                .iter()
                .map(|key| Ok(normalize_arrow(key)?.0))
                .collect::<Result<Vec<_>>>()?,
            _ => keys.to_vec(),
        };
        let queries: Vec<Query> = keys
            .iter()
            .map(|key| query(search, key.clone(), metric))
            .collect();
        debug_assert!(queries.iter().all(is_fixed));
        let joined: Vec<_> = keys.iter().map(AsRef::as_ref).collect();
        let joined = query(search, concat(&joined)?, metric);
        let mut all = vec![Vec::new(); keys.len()];
        for segment in &self.opened.segments {
            self.segment(segment, &queries, &joined, &mut all).await?;
        }
        Ok(all)
    }

    async fn segment(
        &self,
        segment: &Segment,
        queries: &[Query],
        joined: &Query,
        all: &mut [Vec<Neighbor>],
    ) -> Result<()> {
        let mut partitions = Vec::with_capacity(queries.len());
        let mut distances = Vec::with_capacity(queries.len());
        for query in queries {
            let (own, from) = segment.index.find_partitions(query)?;
            partitions.push(Arc::new(own));
            distances.push(Arc::new(from));
        }
        let batches = segment
            .index
            .clone()
            .search_partitions_batch(
                joined.clone(),
                partitions,
                distances,
                prefilter(segment.owned.as_ref(), self.filter.as_ref()),
                Arc::new(NoOpMetricsCollector),
            )
            .await?;
        for (all, batch) in all.iter_mut().zip(&batches) {
            add(batch, segment.owned.as_deref(), all);
        }
        Ok(())
    }
}
