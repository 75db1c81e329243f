//! Keeps DataFusion 54.1 from pushing a condition below an aggregate without GROUP BY.
//!
//! `PushDownFilter` pushes a condition below an aggregate if all its columns are those of the GROUP BY. A condition that
//! is constant after the columns are replaced has none, as in `SELECT * FROM (SELECT 'x' AS k, count(*) AS n FROM t) AS a
//! WHERE k = 'y'`. Below the aggregate it removes the rows, but not the row of the result. A LIMIT stops the condition:
//! such an aggregate has one row.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};

/// Puts a LIMIT on each aggregate without GROUP BY that is below a condition.
pub fn place(plan: LogicalPlan) -> Result<LogicalPlan> {
    below(plan, false)
}

fn below(plan: LogicalPlan, is_filtered: bool) -> Result<LogicalPlan> {
    if let LogicalPlan::Subquery(subquery) = &plan
        && !subquery.outer_ref_columns.is_empty()
    {
        // DataFusion groups its aggregate by the columns of the correlation; a LIMIT would prevent that.
        return Ok(plan);
    }
    let is_single =
        matches!(&plan, LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty());
    let has_condition = matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_));
    let filters = has_condition || is_filtered && !is_single;
    let plan = plan
        .map_subqueries(|query| below(query, false).map(Transformed::yes))?
        .data
        .map_children(|child| below(child, filters).map(Transformed::yes))?
        .data;
    match is_single && is_filtered {
        true => LogicalPlanBuilder::from(plan).limit(0, Some(1))?.build(),
        false => Ok(plan),
    }
}
