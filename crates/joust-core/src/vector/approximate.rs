//! The nearest rows to a vector, searched through an index.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Float32Type, UInt64Type};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt, stream};
use lance::dataset::scanner::RowAddrMask;
use lance::io::exec::{ANNIvfPartitionExec, ANNIvfSubIndexExec, PreFilterSource};
use lance_index::metrics::NoOpMetricsCollector;
use lance_index::vector::Query;
use lance_linalg::distance::DistanceType;
use lance_linalg::kernels::normalize_arrow;

use super::opened_index::{Opened, Segment};
use super::prefilter_mask::prefilter;
use super::{Neighbor, Search, VectorCaches, rerank, top_k};
use crate::error::{Error, Result};

/// How an index is searched.
#[derive(Clone)]
pub struct Probing {
    pub opened: Arc<Opened>,
    pub filter: Option<Arc<RowAddrMask>>,
    /// Exact distances replace the estimates of the index.
    pub is_measured: bool,
    pub caches: Arc<VectorCaches>,
}

impl Probing {
    /// The nearest rows to a vector, the nearest first.
    pub async fn one(&self, search: &Search, key: &ArrayRef) -> Result<Vec<Neighbor>> {
        let query = query(search, key.clone(), self.opened.metric);
        let rows = match is_fixed(&query) {
            true => fixed(&query, &self.opened, self.filter.as_ref()).await?,
            false => {
                let adaptive = adaptive(search, query, &self.opened, self.filter.clone());
                Box::pin(adaptive).await?
            }
        };
        self.complete(search, key, rows).await
    }

    /// Of the rows that were found in all partitions, the nearest.
    pub async fn complete(
        &self,
        search: &Search,
        key: &ArrayRef,
        mut rows: Vec<Neighbor>,
    ) -> Result<Vec<Neighbor>> {
        let wanted = search.k * search.refine.unwrap_or(1) as usize;
        top_k::sort(&mut rows, wanted);
        if !self.is_measured {
            return Ok(rows);
        }
        let rows: Vec<u64> = rows.iter().map(|neighbor| neighbor.row).collect();
        let (keys, metric) = (std::slice::from_ref(key), self.opened.metric);
        let measured = rerank::distances(search, keys, metric, &rows, &self.caches).await?;
        let mut neighbors = measured.concat();
        top_k::sort(&mut neighbors, search.k);
        Ok(neighbors)
    }
}

/// Whether the number of searched partitions is known beforehand.
pub fn is_fixed(query: &Query) -> bool {
    query.maximum_nprobes == Some(query.minimum_nprobes)
}

/// The query for Lance. `key`: a vector, or several, one after the other.
pub fn query(search: &Search, key: ArrayRef, metric: DistanceType) -> Query {
    Query {
        column: search.column.clone(),
        key,
        k: search.k,
        lower_bound: search.bounds.lower,
        upper_bound: search.bounds.upper,
        minimum_nprobes: search.probes.minimum,
        maximum_nprobes: search.probes.maximum,
        search_effort: search.probes.effort,
        ef: search.ef,
        refine_factor: search.refine,
        metric_type: Some(metric),
        use_index: true,
        query_parallelism: 0,
        dist_q_c: 0.0,
        approx_mode: search.approx_mode,
    }
}

async fn fixed(
    query: &Query,
    opened: &Opened,
    filter: Option<&Arc<RowAddrMask>>,
) -> Result<Vec<Neighbor>> {
    let mut query = query.clone();
    if opened.metric == DistanceType::Cosine {
        query.key = normalize_arrow(&query.key)?.0;
    }
    let mut rows = Vec::new();
    for segment in &opened.segments {
        for batch in segment.search(&query, filter).await? {
            add(&batch, segment.owned.as_deref(), &mut rows);
        }
    }
    Ok(rows)
}

impl Segment {
    async fn search(
        &self,
        query: &Query,
        filter: Option<&Arc<RowAddrMask>>,
    ) -> Result<Vec<RecordBatch>> {
        let (partitions, distances) = self.index.find_partitions(query)?;
        let count = query.minimum_nprobes.min(partitions.len());
        let allowed = prefilter(self.owned.as_ref(), filter);
        if self.has_graphs {
            // Each partition is work enough for a thread.
            let searches = (0..count).map(|number| {
                let mut query = query.clone();
                query.dist_q_c = distances.value(number);
                let partition = partitions.value(number) as usize;
                let (index, allowed) = (self.index.clone(), allowed.clone());
                async move {
                    index
                        .search_in_partition(partition, &query, allowed, &NoOpMetricsCollector)
                        .await
                }
            });
            let searches = stream::iter(searches).buffered(count.clamp(1, 64));
            return Ok(searches.try_collect().await?);
        }
        let batches = self
            .index
            .clone()
            .search_partitions(
                query.clone(),
                Arc::new(partitions),
                Arc::new(distances),
                0,
                count,
                allowed,
                None,
                Arc::new(NoOpMetricsCollector),
            )
            .await?;
        Ok(batches.try_collect().await.map_err(lance::Error::from)?)
    }
}

/// Lance's operator decides how many partitions are searched, depending on the results.
async fn adaptive(
    search: &Search,
    query: Query,
    opened: &Opened,
    filter: Option<Arc<RowAddrMask>>,
) -> Result<Vec<Neighbor>> {
    let segments = opened.metadata.iter().map(|own| own.uuid).collect();
    let dataset = search.dataset.clone();
    let partitions = ANNIvfPartitionExec::try_new(dataset.clone(), segments, query.clone())?;
    let plan = ANNIvfSubIndexExec::try_new(
        Arc::new(partitions),
        dataset,
        opened.metadata.clone(),
        query,
        PreFilterSource::None,
    )?
    // A filter returns rows of the table only.
    .with_external_mask(filter.or_else(|| opened.living.clone()));
    let batches = plan
        .execute(0, Arc::new(TaskContext::default()))
        .map_err(lance::Error::from)?;
    let batches: Vec<RecordBatch> = batches
        .try_collect()
        .await
        .map_err(|error| Error::of_input(lance::Error::from(error)))?;
    let mut rows = Vec::new();
    for batch in &batches {
        add(batch, None, &mut rows);
    }
    Ok(rows)
}

/// Adds the results of a segment. `owned`: its rows.
pub fn add(batch: &RecordBatch, owned: Option<&RowAddrMask>, rows: &mut Vec<Neighbor>) {
    let (Some(distances), Some(ids)) = (
        batch.column_by_name("_distance"),
        batch.column_by_name("_rowid"),
    ) else {
        return;
    };
    let distances = distances.as_primitive::<Float32Type>().values();
    let ids = ids.as_primitive::<UInt64Type>().values();
    let found = distances.iter().zip(ids).map(|(distance, row)| Neighbor {
        row: *row,
        distance: *distance,
    });
    rows.extend(found.filter(|neighbor| owned.is_none_or(|owned| owned.selected(neighbor.row))));
}
