//! Changes of a plan that keep its meaning, and that stop rules of DataFusion 54.1 which would not.
//!
//! - `PushDownFilter` pushes a condition below an aggregate if all its columns are those of the GROUP BY. A condition
//!   that is constant after the columns are replaced has none, as in `SELECT * FROM (SELECT 'x' AS k, count(*) AS n FROM
//!   t) AS a WHERE k = 'y'`. Below the aggregate it removes the rows, but not the row of the result that has no group. A
//!   LIMIT stops the condition.
//! - The sort of an ORDER BY with an OFFSET and no LIMIT is removed in a subquery. A LIMIT of all rows keeps it.
//! - A subquery of one value has the nullability of its column, also if it may have no row: [`nullable`].
//! - A correlated EXISTS becomes a join, for which columns with the same name are one: its result becomes a constant.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr::Exists;
use datafusion::logical_expr::{
    Distinct, Expr, Limit, LogicalPlan, LogicalPlanBuilder, SkipType, Subquery, lit,
};

use super::nullable::nullable;
use super::subqueries::is_grouping_set;

/// More rows than a plan has.
const ALL_ROWS: usize = i64::MAX as usize >> 1;

/// Changes a plan that no rule has changed yet.
pub fn place(plan: LogicalPlan) -> Result<LogicalPlan> {
    below(plan, Above::default())
}

/// What is above a part of a plan.
#[derive(Clone, Copy, Default)]
struct Above {
    /// A condition.
    filters: bool,
    /// Anything.
    is_part: bool,
}

fn below(plan: LogicalPlan, above: Above) -> Result<LogicalPlan> {
    let has_group = |plan: &LogicalPlan| match plan {
        LogicalPlan::Aggregate(aggregate) => !aggregate.group_expr.is_empty(),
        _ => true,
    };
    let is_single = !has_group(&plan);
    // One of the groups may be that of all rows.
    let is_set = matches!(&plan, LogicalPlan::Aggregate(aggregate) if is_grouping_set(&aggregate.group_expr));
    // DataFusion groups such an aggregate by the columns of the correlation; a LIMIT would prevent that.
    let is_correlated = is_single && !plan.all_out_ref_exprs().is_empty();
    let has_condition = matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_));
    let inside = Above {
        filters: has_condition || above.filters && !is_single,
        is_part: true,
    };
    let subquery = Above {
        filters: true,
        is_part: true,
    };
    let plan = plan
        .map_expressions(|expr| expr.transform_down(change_subquery))?
        .data
        .map_subqueries(|query| below(query, subquery).map(Transformed::yes))?
        .data
        .map_children(|child| below(child, inside).map(Transformed::yes))?
        .data;
    let plan = match plan {
        LogicalPlan::Limit(limit) if above.is_part && limit.fetch.is_none() => {
            LogicalPlan::Limit(Limit {
                fetch: Some(Box::new(lit(ALL_ROWS as i64))),
                ..limit
            })
        }
        other => other,
    };
    let rows = match (above.filters, is_single && !is_correlated, is_set) {
        (true, true, _) => 1,
        (true, _, true) => ALL_ROWS,
        _ => return Ok(plan),
    };
    LogicalPlanBuilder::from(plan).limit(0, Some(rows))?.build()
}

fn change_subquery(expr: Expr) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Exists(Exists { subquery, negated }) if !subquery.outer_ref_columns.is_empty() => {
            let plan = without_result(&subquery.subquery)?;
            let subquery = with_plan(subquery, plan);
            Ok(Transformed::yes(Expr::Exists(Exists { subquery, negated })))
        }
        Expr::ScalarSubquery(subquery) if !has_row(&subquery.subquery) => {
            let plan = nullable(&subquery.subquery)?;
            Ok(Transformed::yes(Expr::ScalarSubquery(with_plan(
                subquery, plan,
            ))))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn with_plan(subquery: Subquery, plan: LogicalPlan) -> Subquery {
    Subquery {
        subquery: Arc::new(plan),
        ..subquery
    }
}

/// The query of an EXISTS with a constant result.
fn without_result(plan: &LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let input = LogicalPlan::clone(&projection.input);
            LogicalPlanBuilder::from(input).project([lit(1)])?.build()
        }
        LogicalPlan::Distinct(Distinct::All(input)) => without_result(input),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => without_result(&sort.input),
        other => Ok(other.clone()),
    }
}

/// Whether a plan has a row in any case.
fn has_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        LogicalPlan::Projection(projection) => has_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_row(&alias.input),
        _ => false,
    }
}

/// Whether a LIMIT skips rows.
pub(super) fn is_offset(limit: &Limit) -> bool {
    !matches!(limit.get_skip_type(), Ok(SkipType::Literal(0)))
}
