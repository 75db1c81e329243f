//! Keys of subqueries that DataFusion 54.1 assigns to other columns. joust refuses what the [`rules`](super::rules) cannot
//! correct.

use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::error::{Error, Result};

/// Refuses a GROUP BY of several columns over a subquery whose unique key DataFusion assigns to other columns: it would
/// remove columns of the GROUP BY.
pub fn check(node: &LogicalPlan) -> Result<()> {
    let LogicalPlan::Aggregate(aggregate) = node else {
        return Ok(());
    };
    if aggregate.group_expr.len() < 2 || !confuses_keys(&aggregate.input) {
        return Ok(());
    }
    Err(Error::invalid(
        "GROUP BY over a subquery with GROUP BY or a window function needs the columns of the latter first: write (SELECT \
         a, count(*) AS n ... GROUP BY a), and not (SELECT count(*) AS n, a ...)",
    ))
}

/// Whether a column of a key follows a computed column.
fn confuses_keys(plan: &LogicalPlan) -> bool {
    if plan.schema().functional_dependencies().is_empty() {
        return false;
    }
    if let LogicalPlan::Projection(projection) = plan {
        let fields = projection.input.schema().field_names();
        let is_column = |expr: &Expr| {
            let name = match expr {
                Expr::Alias(alias) => alias.expr.to_string(),
                other => other.to_string(),
            };
            fields.contains(&name)
        };
        let computed = projection.expr.iter().position(|expr| !is_column(expr));
        let column = projection.expr.iter().rposition(is_column);
        if computed
            .zip(column)
            .is_some_and(|(first, last)| first < last)
        {
            return true;
        }
    }
    let is_aggregate = matches!(plan, LogicalPlan::Aggregate(_));
    !is_aggregate && plan.inputs().into_iter().any(confuses_keys)
}
