//! The rules of the optimizer: those of DataFusion 54.1, without its faults.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::optimizer::{Optimizer, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

use super::merge_join::Rules;

/// A GROUP BY of constants has no group over no rows. Without it, the aggregate would have one row.
const REMOVED: &str = "eliminate_group_by_constant";

pub fn logical() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    rules.retain(|rule| rule.name() != REMOVED);
    rules
}

pub fn physical() -> Rules {
    let mut rules = PhysicalOptimizer::new().rules;
    rules.push(Arc::new(WholePartitions));
    rules
}

/// Sorts whole partitions if a merge compares them by more columns than the sorts.
///
/// The partitions of a UNION may have a constant each: `SELECT 'a' AS k, id ... UNION ALL SELECT 'b', id ... ORDER BY k, id
/// LIMIT 3`. They are sorted by `id` alone. A sort with a limit shares its threshold with those of the other partitions,
/// which may only be compared by all columns.
#[derive(Debug)]
struct WholePartitions;

impl PhysicalOptimizerRule for WholePartitions {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(without_limit).map(|changed| changed.data)
    }

    fn name(&self) -> &'static str {
        "whole_partitions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn without_limit(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() else {
        return Ok(Transformed::no(node));
    };
    let input = Arc::clone(merge.input());
    match input.downcast_ref::<SortExec>() {
        Some(sort) if sort.fetch().is_some() && sort.expr() != merge.expr() => {
            let whole = Arc::new(sort.with_fetch(None));
            node.with_new_children(vec![whole]).map(Transformed::yes)
        }
        _ => Ok(Transformed::no(node)),
    }
}
