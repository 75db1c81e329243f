//! The nearest rows that an index knows.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
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

use super::allowed::allowed;
use super::index::{Opened, Segment};
use super::{Near, Search, best};
use crate::error::{Error, Result};

/// The nearest rows by the index's own distances, the nearest first: `k`, or as many times more as are
/// to be refined.
pub async fn search(
    search: &Search,
    opened: &Opened,
    filter: Option<Arc<RowAddrMask>>,
) -> Result<Vec<Near>> {
    let query = query(search, opened.metric);
    let wanted = query.k * query.refine_factor.unwrap_or(1) as usize;
    let mut rows = match query.maximum_nprobes == Some(query.minimum_nprobes) {
        true => fixed(&query, opened, filter.as_ref()).await?,
        false => adaptive(search, query, opened, filter).await?,
    };
    best::sort(&mut rows, wanted);
    Ok(rows)
}

fn query(search: &Search, metric: DistanceType) -> Query {
    Query {
        column: search.column.clone(),
        key: search.key.clone(),
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

/// Searches a number of partitions that is known beforehand.
async fn fixed(
    query: &Query,
    opened: &Opened,
    filter: Option<&Arc<RowAddrMask>>,
) -> Result<Vec<Near>> {
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
        let allowed = allowed(self.owned.as_ref(), filter);
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

/// Leaves it to Lance's operator how many partitions are searched: that depends on what is found.
async fn adaptive(
    search: &Search,
    query: Query,
    opened: &Opened,
    filter: Option<Arc<RowAddrMask>>,
) -> Result<Vec<Near>> {
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
    .with_external_mask(filter);
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

fn add(batch: &RecordBatch, owned: Option<&RowAddrMask>, rows: &mut Vec<Near>) {
    let (Some(distances), Some(ids)) = (
        batch.column_by_name("_distance"),
        batch.column_by_name("_rowid"),
    ) else {
        return;
    };
    let distances = distances.as_primitive::<Float32Type>().values();
    let ids = ids.as_primitive::<UInt64Type>().values();
    let near = distances.iter().zip(ids).map(|(distance, row)| Near {
        row: *row,
        distance: *distance,
    });
    rows.extend(near.filter(|near| owned.is_none_or(|owned| owned.selected(near.row))));
}
