//! The filter prefix cache: the first rows that satisfy a filter, in the table's order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use futures::TryStreamExt;
use lance::Dataset;

use super::filtered::row_ids;
use super::predicate::Evaluation;
use super::row_caches::RowCaches;
use crate::error::{Error, Result};
use crate::schema::expression::Expression;

/// Least rows that are searched for at once, because the next page is likely to follow.
const LEAST: usize = 100;

/// A filter that was requested at a version.
#[derive(Default)]
pub struct FilterPrefix {
    asked: AtomicU32,
    found: tokio::sync::Mutex<Option<Found>>,
}

struct Found {
    rows: Vec<u64>,
    /// There are no more.
    all: bool,
}

/// The ids of the first `reach` rows that satisfy a predicate, or of all when there are fewer. `None` at the
/// first request if Lance has to evaluate it: finding the rows and then reading them costs more than doing both
/// at once. `None` also for a predicate that is not immutable.
pub async fn first_rows(
    dataset: &Arc<Dataset>,
    filter: &Expression,
    reach: usize,
    caches: &RowCaches,
) -> Result<Option<Vec<u64>>> {
    if !filter.is_immutable() {
        return Ok(None);
    }
    if let Some(prefix) = caches.cached_filter_prefix(dataset, filter.sql())
        && let Some(found) = prefix.found.lock().await.as_ref()
        && let Some(rows) = found.first(reach)
    {
        return Ok(Some(rows));
    }
    let mut evaluation = Evaluation::new(dataset, filter.sql(), reach, caches).await?;
    if let Some(evaluation) = &mut evaluation
        && let Some(rows) = evaluation.first()?
    {
        return Ok(Some(rows));
    }
    let prefix = caches.filter_prefix(dataset, filter.sql()).await?;
    if prefix.asked.fetch_add(1, Ordering::Relaxed) == 0 && evaluation.is_none() {
        return Ok(None);
    }
    let mut cached = prefix.found.lock().await;
    if let Some(rows) = cached.as_ref().and_then(|found| found.first(reach)) {
        return Ok(Some(rows));
    }
    let found = match evaluation {
        Some(evaluation) => Found::of(evaluation.all().await?, reach),
        None => Box::pin(find(dataset, filter, reach.max(LEAST))).await?,
    };
    Ok(cached.insert(found).first(reach))
}

async fn find(dataset: &Arc<Dataset>, filter: &Expression, reach: usize) -> Result<Found> {
    let mut batches = row_ids(dataset, filter, Some(reach)).await?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.try_next().await.map_err(Error::of_input)? {
        if let Some(ids) = batch.column_by_name("_rowid") {
            rows.extend_from_slice(ids.as_primitive::<UInt64Type>().values());
        }
    }
    Ok(Found::of(rows, reach))
}

impl Found {
    /// The first of them, if so many are known.
    fn first(&self, reach: usize) -> Option<Vec<u64>> {
        let rows = &self.rows[..reach.min(self.rows.len())];
        (self.all || rows.len() == reach).then(|| rows.to_vec())
    }

    /// The first `reach` rows, or all when there are fewer.
    fn of(rows: Vec<u64>, reach: usize) -> Self {
        let all = rows.len() < reach;
        Self { rows, all }
    }
}
