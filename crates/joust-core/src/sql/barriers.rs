//! Changes of a plan that keep its meaning, and that stop rules of DataFusion 54.1 which would not.
//!
//! - `PushDownFilter` pushes a condition below an aggregate if all its columns are those of the GROUP BY. A condition
//!   that is constant after the columns are replaced has none, as in `SELECT * FROM (SELECT 'x' AS k, count(*) AS n FROM
//!   t) AS a WHERE k = 'y'`. Below the aggregate it removes the rows, but not the row of the result that has no group. A
//!   LIMIT stops the condition.
//! - The sort of an ORDER BY with an OFFSET and no LIMIT is removed in a subquery. A LIMIT of all rows keeps it.
//! - A subquery of one value has the nullability of its column, also if it may have no row: [`nullable`].
//! - Some calls of `min` and `max` are wrong: [`min_max`] replaces them.
//! - A correlated EXISTS becomes a join, for which columns with the same name are one: its result becomes a constant.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, FetchType, Filter, Limit, LogicalPlan, LogicalPlanBuilder, SkipType,
    Subquery, Window, lit,
};

use super::correlated::is_grouping_set;
use super::min_max;
use super::nullable::nullable;

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
    let is_single =
        matches!(&plan, LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty());
    // One of the groups may be that of all rows.
    let is_set = matches!(&plan, LogicalPlan::Aggregate(aggregate) if is_grouping_set(&aggregate.group_expr));
    // DataFusion groups such an aggregate by the columns of the correlation; a LIMIT would prevent that.
    let is_correlated = is_single && !plan.all_out_ref_exprs().is_empty();
    let has_condition = match &plan {
        LogicalPlan::Filter(filter) => !is_having(filter),
        LogicalPlan::Join(_) => true,
        _ => false,
    };
    let inside = Above {
        filters: has_condition || above.filters && !is_single,
        is_part: true,
    };
    let plan = with_own_functions(plan)?
        .map_expressions(|expr| expr.transform_down(change_subquery))?
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

/// Whether a condition is a HAVING that cannot become constant.
fn is_having(filter: &Filter) -> bool {
    let conditions = split_conjunction(&filter.predicate);
    matches!(filter.input.as_ref(), LogicalPlan::Aggregate(_))
        && conditions.into_iter().all(Expr::any_column_refs)
}

fn with_own_functions(plan: LogicalPlan) -> Result<LogicalPlan> {
    let (LogicalPlan::Aggregate(Aggregate { input, .. })
    | LogicalPlan::Window(Window { input, .. })) = &plan
    else {
        return Ok(plan);
    };
    let schema = input.schema().clone();
    let replace = |call| min_max::replace(call, &schema);
    Ok(plan
        .map_expressions(|expr| expr.transform_down(replace))?
        .data)
}

fn change_subquery(expr: Expr) -> Result<Transformed<Expr>> {
    let part = Above {
        filters: false,
        is_part: true,
    };
    let changed = match expr {
        Expr::Exists(Exists { subquery, negated }) => {
            let plan = match subquery.outer_ref_columns.is_empty() {
                true => LogicalPlan::clone(&subquery.subquery),
                false => without_result(&subquery.subquery)?,
            };
            let subquery = with_plan(subquery, below(plan, part)?);
            Expr::Exists(Exists { subquery, negated })
        }
        Expr::ScalarSubquery(subquery) => {
            let plan = match has_row(&subquery.subquery) {
                true => LogicalPlan::clone(&subquery.subquery),
                false => nullable(&subquery.subquery)?,
            };
            Expr::ScalarSubquery(with_plan(subquery, below(plan, part)?))
        }
        Expr::InSubquery(found) => {
            // The comparison becomes a condition on the rows of the query.
            let filtered = Above {
                filters: true,
                ..part
            };
            let plan = below(LogicalPlan::clone(&found.subquery.subquery), filtered)?;
            let subquery = with_plan(found.subquery, plan);
            Expr::InSubquery(InSubquery { subquery, ..found })
        }
        other => return Ok(Transformed::no(other)),
    };
    Ok(Transformed::yes(changed))
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
        LogicalPlan::Projection(projection) if !projection.expr.iter().all(is_literal) => {
            let input = LogicalPlan::clone(&projection.input);
            LogicalPlanBuilder::from(input).project([lit(1)])?.build()
        }
        LogicalPlan::Distinct(Distinct::All(input)) => without_result(input),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => without_result(&sort.input),
        LogicalPlan::Limit(limit) if takes_a_row(limit) => without_result(&limit.input),
        other => Ok(other.clone()),
    }
}

pub(super) fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => true,
        Expr::Alias(alias) => is_literal(&alias.expr),
        _ => false,
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

/// Whether a LIMIT leaves a row if there is one.
fn takes_a_row(limit: &Limit) -> bool {
    let takes = match limit.get_fetch_type() {
        Ok(FetchType::Literal(fetch)) => fetch.is_none_or(|rows| rows > 0),
        _ => false,
    };
    takes && !is_offset(limit)
}

/// Whether a LIMIT skips rows.
pub(super) fn is_offset(limit: &Limit) -> bool {
    !matches!(limit.get_skip_type(), Ok(SkipType::Literal(0)))
}
