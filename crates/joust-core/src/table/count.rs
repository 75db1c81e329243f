//! Count rows.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use datafusion::physical_plan::ExecutionPlan;
use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::scanner::AggregateExpr;
use lance_datafusion::exec::{LanceExecutionOptions, execute_plan};
use lance_table::format::Fragment;

use super::{ReadOptions, Table};
use crate::error::{Error, Result};
use crate::schema::Evaluation;

impl Table {
    /// Live rows of the newest version, if both are known without a storage access.
    pub fn count_at_hand(&self) -> Option<u64> {
        if self.rows().is_some() {
            return None;
        }
        let current = self.handle().peek()?;
        let fragments = current.dataset.manifest().fragments.iter();
        let rows: Option<usize> = fragments.map(Fragment::num_rows).sum();
        rows.map(|rows| rows as u64)
    }

    /// Live rows, or those for which a SQL predicate is true. Without a predicate, the manifest has the number.
    pub async fn count_rows(&self, predicate: Option<&str>, options: ReadOptions) -> Result<u64> {
        self.count_rows_within(predicate, options, None).await
    }

    /// As [`count_rows`](Self::count_rows), for a request that has only this time left.
    pub async fn count_rows_within(
        &self,
        predicate: Option<&str>,
        options: ReadOptions,
        timeout: Option<Duration>,
    ) -> Result<u64> {
        let mut deadline = self.tables().query_deadline(timeout);
        let counted = deadline.spend(self.counted(predicate, options));
        self.while_there(counted).await
    }

    async fn counted(&self, predicate: Option<&str>, options: ReadOptions) -> Result<u64> {
        let dataset = self.dataset(options).await?;
        let restricted = match self.rows() {
            Some(rows) => {
                rows.admit(&dataset, predicate).await?;
                Some(rows.and(predicate)?)
            }
            None => None,
        };
        let Some(predicate) = restricted.as_deref().or(predicate) else {
            return Ok(dataset.count_rows(None).await? as u64);
        };
        let computes = crate::schema::predicate::computed_expressions(predicate)?;
        let evaluation = Evaluation::of_scan(&dataset, &computes);
        let _memory = self.memory_for_query(&dataset, false, evaluation).await?;
        let plan = plan(dataset, predicate.to_string(), evaluation);
        let plan = crate::schema::predicate::planned_where_long(predicate, plan).await?;
        let counted = execute_plan(plan, LanceExecutionOptions::default());
        let mut counted = counted.map_err(Error::of_input)?;
        let batch = counted.try_next().await.map_err(Error::of_input)?;
        let count = batch.as_ref().filter(|batch| batch.num_rows() > 0);
        let count = count.and_then(|batch| batch.column(0).as_primitive_opt::<Int64Type>());
        Ok(count.map_or(0, |count| count.value(0) as u64))
    }
}

/// The plan that counts the rows for which a predicate is true.
async fn plan(
    dataset: Arc<Dataset>,
    predicate: String,
    evaluation: Option<Evaluation>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let predicate = crate::schema::predicate::checked(&dataset, &predicate)?;
    let mut scanner = dataset.scan();
    if let Some(evaluation) = evaluation {
        scanner.batch_size(evaluation.rows);
    }
    scanner
        .filter(&predicate)
        .and_then(|scanner| scanner.project::<&str>(&[]))
        // Lance cannot count the rows of a scan without columns.
        .and_then(|scanner| scanner.with_row_id().aggregate(count_star()))
        .map_err(Error::of_input)?;
    scanner.create_plan().await.map_err(Error::of_input)
}

fn count_star() -> AggregateExpr {
    AggregateExpr::builder().count_star().build()
}
