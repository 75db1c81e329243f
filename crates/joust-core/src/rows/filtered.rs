//! The rows that satisfy a filter.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use futures::TryStreamExt;
use lance::Dataset;
use roaring::RoaringTreemap;

use super::caches::RowCaches;
use super::condition::Evaluation;
use crate::error::{Error, Result};
use crate::schema::expression::Expression;
use crate::state::State;

/// The ids of the rows that satisfy a condition. They are remembered for the version, unless the condition
/// may give others the next time.
pub async fn filtered(
    dataset: &Arc<Dataset>,
    filter: &Expression,
    caches: &RowCaches,
) -> Result<Arc<RoaringTreemap>> {
    let read = async || {
        let filter = filter.sql();
        let evaluation = Evaluation::new(dataset, filter, usize::MAX, caches).await?;
        if let Some(evaluation) = evaluation {
            let rows: RoaringTreemap = evaluation.all().await?.into_iter().collect();
            let weight = rows.serialized_size();
            return Ok((Arc::new(rows), weight));
        }
        let mut scanner = dataset.scan();
        scanner
            .filter(filter)
            .and_then(|scanner| scanner.project::<&str>(&[]))
            .map_err(Error::of_input)?
            .with_row_id();
        let mut batches = scanner.try_into_stream().await.map_err(Error::of_input)?;
        let mut rows = RoaringTreemap::new();
        while let Some(batch) = batches.try_next().await.map_err(Error::of_input)? {
            if let Some(ids) = batch.column_by_name("_rowid") {
                rows.extend(ids.as_primitive::<UInt64Type>().values().iter().copied());
            }
        }
        let weight = rows.serialized_size() + filter.len();
        Ok((Arc::new(rows), weight))
    };
    if !filter.is_immutable() {
        return read().await.map(|(rows, _)| rows);
    }
    let key = (State::of(dataset), filter.sql().to_string());
    caches.filters.get(&key, read).await
}
