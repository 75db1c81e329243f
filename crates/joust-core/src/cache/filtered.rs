//! The rows that satisfy a filter.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use datafusion::execution::SendableRecordBatchStream;
use futures::TryStreamExt;
use lance::Dataset;
use lance_datafusion::exec::{LanceExecutionOptions, execute_plan};
use roaring::RoaringTreemap;

use super::predicate::Evaluation as InMemory;
use super::row_caches::RowCaches;
use crate::error::{Error, Result};
use crate::planning::planned;
use crate::schema::Evaluation;
use crate::schema::expression::Expression;
use crate::version_key::VersionKey;

/// Bytes that a scan for a few rows may read ahead.
const FEW_BYTES: u64 = 32 << 20;

/// The ids of the rows that satisfy a predicate. They are cached for the version if the predicate is immutable.
pub async fn filtered(
    dataset: &Arc<Dataset>,
    filter: &Expression,
    caches: &RowCaches,
) -> Result<Arc<RoaringTreemap>> {
    let read = async || {
        let known = InMemory::new(dataset, filter.sql(), usize::MAX, caches).await?;
        if let Some(known) = known {
            let rows: RoaringTreemap = known.all().await?.into_iter().collect();
            let weight = rows.serialized_size();
            return Ok((Arc::new(rows), weight));
        }
        let mut batches = row_ids(dataset, filter, None).await?;
        let mut rows = RoaringTreemap::new();
        while let Some(batch) = batches.try_next().await.map_err(Error::of_input)? {
            if let Some(ids) = batch.column_by_name("_rowid") {
                rows.extend(ids.as_primitive::<UInt64Type>().values().iter().copied());
            }
        }
        let weight = rows.serialized_size() + filter.sql().len();
        Ok((Arc::new(rows), weight))
    };
    if !filter.is_immutable() {
        return read().await.map(|(rows, _)| rows);
    }
    let key = (VersionKey::of(dataset), filter.sql().to_string());
    caches.filters.get(&key, read).await
}

/// The ids of at most `most` rows that satisfy a predicate, found by Lance: batches with a column `_rowid`.
pub(super) async fn row_ids(
    dataset: &Arc<Dataset>,
    filter: &Expression,
    most: Option<usize>,
) -> Result<SendableRecordBatchStream> {
    let (dataset, filter) = (dataset.clone(), filter.clone());
    let plan = planned(async move {
        let mut scanner = dataset.scan();
        if let Some(evaluation) = Evaluation::of_scan(&dataset, std::slice::from_ref(&filter)) {
            scanner.batch_size(evaluation.rows);
        }
        scanner
            .filter(filter.sql())
            .and_then(|scanner| scanner.project::<&str>(&[]))
            .and_then(|scanner| scanner.limit(most.map(|most| most as i64), None))
            .map_err(Error::of_input)?
            .with_row_id();
        if most.is_some() {
            scanner.io_buffer_size(FEW_BYTES);
        }
        scanner.create_plan().await.map_err(Error::of_input)
    });
    execute_plan(plan.await?, LanceExecutionOptions::default()).map_err(Error::of_input)
}
