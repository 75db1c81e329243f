//! Sorts of many rows in bounded memory; they spill to temporary files.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::GlobalLimitExec;
use lance::dataset::scanner::{DatasetRecordBatchStream, Scanner};
use lance_datafusion::exec::{LanceExecutionOptions, analyze_plan, execute_plan};

use super::request::Query;
use super::scan::Source;
use super::vectors::Vectors;
use crate::error::{Error, Result};
use crate::json::guarded;
use crate::table::rows_in;
use crate::vector::stale_rows;

/// Batches that fit into a sort's memory: the merge reads those of many files concurrently.
const BATCHES: usize = 32;
/// The most rows of a batch.
const BATCH_ROWS: usize = 8_192;
/// The fraction of a sort's memory for a top-k sort, which cannot spill. If the requested rows need more, all rows are
/// sorted.
const KEPT: usize = 4;

/// A planned scan.
pub struct Sorted {
    plan: Arc<dyn ExecutionPlan>,
    options: LanceExecutionOptions,
}

impl Sorted {
    /// Runs the scan. Values with an internal storage form, such as JSON, are returned in their input form.
    pub fn start(self) -> Result<DatasetRecordBatchStream> {
        let rows = execute_plan(self.plan, self.options).map_err(Error::of_input)?;
        Ok(DatasetRecordBatchStream::new(guarded(rows)))
    }

    /// Runs the scan: the plan with what each step did.
    pub async fn analyze(self) -> Result<String> {
        let report = analyze_plan(self.plan, self.options).await;
        report.map_err(Error::of_input)
    }

    pub fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }
}

/// Plans a scan; a sort uses at most this many bytes.
pub async fn plan(
    mut scanner: Scanner,
    query: &Query,
    source: &Source,
    bytes: usize,
) -> Result<Sorted> {
    let Source {
        dataset,
        rows_at_once,
        ..
    } = source;
    let mut options = LanceExecutionOptions {
        batch_size: *rows_at_once,
        ..LanceExecutionOptions::default()
    };
    if query.order_by.is_none() || query.k == 0 {
        let mut plan = stale_rows::plan(&scanner, dataset)
            .await
            .map_err(Error::of_input)?;
        if query.k == 0 {
            plan = Arc::new(GlobalLimitExec::new(plan, 0, Some(0)));
        }
        return Ok(Sorted { plan, options });
    }
    let batch = rows_in(dataset, bytes / BATCHES).min(BATCH_ROWS);
    let batch = rows_at_once.map_or(batch, |rows| rows.min(batch));
    scanner.batch_size(batch);
    options.use_spilling = true;
    options.mem_pool_size = Some(bytes as u64);
    options.batch_size = Some(batch);
    let searches = !matches!(query.vector, Vectors::None) || query.text.is_some();
    let many = query.reach() > rows_in(dataset, bytes / KEPT) as u64;
    if many && !searches {
        scanner.limit(None, None).map_err(Error::of_input)?;
    }
    let mut plan = stale_rows::plan(&scanner, dataset)
        .await
        .map_err(Error::of_input)?;
    if many && !searches {
        plan = limited(plan, query);
    }
    Ok(Sorted { plan, options })
}

fn limited(plan: Arc<dyn ExecutionPlan>, query: &Query) -> Arc<dyn ExecutionPlan> {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let offset = number(query.offset.unwrap_or(0));
    Arc::new(GlobalLimitExec::new(plan, offset, Some(number(query.k))))
}
