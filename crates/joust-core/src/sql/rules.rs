//! The rules of the optimizer: those of DataFusion 54.1, with changes where they give wrong rows.
//!
//! DataFusion derives from GROUP BY and `row_number()` that columns determine others. It assigns this to wrong columns if
//! a computed column precedes the key (`calc_func_dependencies_for_project`), and a join repeats the key. So joust
//! removes no sort key and no DISTINCT because of it; [`keys`](super::keys) refuses what remains.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::{Aggregate, Distinct, Expr, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

use super::merge_join::Rules;

/// A GROUP BY of constants has no group over no rows. Without it, the aggregate would have one row.
const REMOVED: &str = "eliminate_group_by_constant";

/// A column that no query has.
const CONSTANT: &str = "__joust_constant";

type LogicalRule = Arc<dyn OptimizerRule + Send + Sync>;

pub fn logical() -> Vec<LogicalRule> {
    let rules = Optimizer::new().rules.into_iter();
    let kept = rules.filter(|rule| rule.name() != REMOVED);
    kept.map(|rule| -> LogicalRule {
        match rule.name() {
            "eliminate_duplicated_expr" => Arc::new(WithoutSorts(rule)),
            "replace_distinct_aggregate" => Arc::new(WithEachDistinct(rule)),
            _ => rule,
        }
    })
    .collect()
}

/// A rule that leaves sorts as they are.
#[derive(Debug)]
struct WithoutSorts(LogicalRule);

impl OptimizerRule for WithoutSorts {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Sort(_) => Ok(Transformed::no(plan)),
            other => self.0.rewrite(other, config),
        }
    }
}

/// A rule that replaces each DISTINCT of columns by an aggregate.
#[derive(Debug)]
struct WithEachDistinct(LogicalRule);

impl OptimizerRule for WithEachDistinct {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Distinct(Distinct::All(input)) if !input.schema().fields().is_empty() => {
                let columns = input.schema().columns().into_iter().map(Expr::Column);
                let columns: Vec<Expr> = columns.collect();
                let mut group = columns.clone();
                let has_key = !input.schema().functional_dependencies().is_empty();
                // `OptimizeProjections` removes columns only if all are columns of the input.
                group.extend(has_key.then(|| lit(true).alias(CONSTANT)));
                let aggregate = Aggregate::try_new(input, group, Vec::new())?;
                let plan = LogicalPlan::Aggregate(aggregate);
                Ok(Transformed::yes(match has_key {
                    true => LogicalPlanBuilder::from(plan).project(columns)?.build()?,
                    false => plan,
                }))
            }
            other => self.0.rewrite(other, config),
        }
    }
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
