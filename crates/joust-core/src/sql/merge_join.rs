//! Merge joins in place of hash joins.
//!
//! A hash join holds one side in memory and cannot spill. A merge join sorts both sides, and sorts spill, but it takes
//! longer. So a statement runs with hash joins. If they exhaust its memory before its first row, it runs again with
//! merge joins.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::{StreamExt, TryStreamExt, stream};

use super::session;
use super::thread::{ReaderDropped, interruptible};
use crate::error::{Code, Error, Result, is_exhausted};
use crate::planning::planned;

/// A query that is planned.
pub struct Planned {
    frame: DataFrame,
    plan: Arc<dyn ExecutionPlan>,
}

impl Planned {
    pub async fn new(frame: DataFrame) -> Result<Self> {
        let plan = frame.clone().create_physical_plan().await;
        let plan = plan.map_err(|error| of_planning(Error::of_input(error)))?;
        Ok(Self { frame, plan })
    }

    pub fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// Its rows in this memory and with temporary files of this size, bytes.
    pub fn rows(
        self,
        memory: usize,
        disk: u64,
        reader_dropped: &ReaderDropped,
    ) -> Result<SendableRecordBatchStream> {
        let context = session::new(1, memory, disk)?;
        let can_change = has_hash_join(&self.plan)?;
        let rows = execute_stream(
            interruptible(self.plan, reader_dropped)?,
            context.task_ctx(),
        );
        let rows = rows.map_err(Error::of_input)?;
        if !can_change {
            return Ok(rows);
        }
        let (frame, reader_dropped) = (self.frame, reader_dropped.clone());
        let again = move || async move {
            let frame = with_merge_joins(frame);
            let plan = planned(async move {
                let plan = frame.create_physical_plan().await;
                plan.map_err(Error::of_input)
            });
            let plan = interruptible(plan.await?, &reader_dropped)?;
            let context = session::for_merge_joins(memory, disk)?;
            execute_stream(plan, context.task_ctx()).map_err(Error::of_input)
        };
        Ok(or_again(rows, again))
    }
}

/// The rows of `first`, or those of `again` if `first` exhausts its memory before its first row.
fn or_again<F>(
    first: SendableRecordBatchStream,
    again: impl FnOnce() -> F + Send + 'static,
) -> SendableRecordBatchStream
where
    F: Future<Output = Result<SendableRecordBatchStream>> + Send,
{
    let schema = first.schema();
    let columns = schema.clone();
    let rows = stream::once(async move {
        let (head, rest) = first.into_future().await;
        if let Some(Err(error)) = &head
            && is_exhausted(error)
        {
            // Releases its memory.
            drop(rest);
            let rows = again().await;
            return rows.map_err(|error| DataFusionError::External(Box::new(error)));
        }
        let rows = stream::iter(head).chain(rest);
        let rows: SendableRecordBatchStream =
            Box::pin(RecordBatchStreamAdapter::new(columns, rows));
        Ok(rows)
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows.try_flatten()))
}

fn has_hash_join(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let found = plan.exists(|node| Ok(node.downcast_ref::<HashJoinExec>().is_some()));
    found.map_err(Error::of_input)
}

fn with_merge_joins(frame: DataFrame) -> DataFrame {
    let (state, plan) = frame.into_parts();
    let rules = state.physical_optimizers().to_vec();
    let state = SessionStateBuilder::new_from_existing(state)
        .with_physical_optimizer_rules(with_rule(rules))
        .build();
    DataFrame::new(state, plan)
}

/// The query has all of its columns here: DataFusion lost one while it made joins of subqueries.
fn of_planning(error: Error) -> Error {
    match error.code() {
        Code::TableColumnNotFound => Error::invalid(
            "the query has a correlated subquery that DataFusion cannot plan: join the tables, or compute the subquery in \
             a query of WITH without outer columns",
        ),
        _ => error,
    }
}

pub type Rules = Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>;

/// The rules of an optimizer, and the one that makes merge joins. It follows the choice of the join's sides. The rules
/// that add the sorts follow it.
pub fn with_rule(mut rules: Rules) -> Rules {
    let choice = rules
        .iter()
        .position(|rule| rule.name() == "join_selection");
    rules.insert(choice.map_or(0, |at| at + 1), Arc::new(MergeJoins));
    rules
}

#[derive(Debug)]
struct MergeJoins;

impl PhysicalOptimizerRule for MergeJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        plan.transform_up(merge_join).map(|changed| changed.data)
    }

    fn name(&self) -> &'static str {
        "merge_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn merge_join(node: Arc<dyn ExecutionPlan>) -> PlanResult<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(join) = node.downcast_ref::<HashJoinExec>() else {
        return Ok(Transformed::no(node));
    };
    // NOT IN needs to know whether the other side has a null: only a hash join does.
    if join.null_aware || join.projection.is_some() || !has_order(join)? {
        return Ok(Transformed::no(node));
    }
    let sorted = SortMergeJoinExec::try_new(
        join.left().clone(),
        join.right().clone(),
        join.on().to_vec(),
        join.filter().cloned(),
        *join.join_type(),
        vec![SortOptions::default(); join.on().len()],
        join.null_equality(),
    )?;
    Ok(Transformed::yes(Arc::new(sorted)))
}

/// Whether a merge join can compare the keys.
fn has_order(join: &HashJoinExec) -> PlanResult<bool> {
    use DataType as T;
    let schema = join.left().schema();
    for (key, _) in join.on() {
        let data_type = key.data_type(&schema)?;
        let is_simple = data_type.is_integer()
            || matches!(
                data_type,
                T::Boolean | T::Float32 | T::Float64 | T::Decimal128(..)
            )
            || matches!(data_type, T::Date32 | T::Date64 | T::Timestamp(_, None))
            || data_type.is_string()
            || data_type.is_binary();
        if !is_simple {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
#[path = "merge_join_tests.rs"]
mod tests;
