//! Subqueries and groups that DataFusion 54.1 evaluates wrongly. joust refuses them.
//!
//! - `a IN (SELECT ...)` below OR, NOT or IS NULL becomes a mark join, for which NULL is false
//!   (`DecorrelatePredicateSubquery`). That is right for a condition of ANDs and ORs only.
//! - A correlated NOT IN becomes a join that looks at the NULLs of all rows, and not of those that the correlation
//!   selects.
//! - A correlated EXISTS or IN selects the rows after an aggregate without GROUP BY, a window function and an OFFSET.
//! - GROUP BY with constants only becomes an aggregate without GROUP BY, which has a row even if there are none
//!   (`EliminateGroupByConstant`).

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, Subquery};

use crate::error::{Error, Result};

pub fn check(plan: &LogicalPlan) -> Result<()> {
    let mut refused = None;
    let visited = plan.apply_with_subqueries(|node| {
        refused = check_node(node).err();
        Ok(match refused {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    visited.map_err(Error::of_input)?;
    refused.map_or(Ok(()), Err)
}

fn check_node(node: &LogicalPlan) -> Result<()> {
    if let LogicalPlan::Aggregate(aggregate) = node
        && !aggregate.group_expr.is_empty()
        && !aggregate.group_expr.iter().any(Expr::any_column_refs)
    {
        return Err(Error::invalid(
            "GROUP BY has no column: leave it out, and add HAVING count(*) > 0 if no rows shall give no row",
        ));
    }
    let inputs = node.inputs();
    let schema = inputs.first().map(|input| input.schema().as_ref());
    if let LogicalPlan::Filter(filter) = node {
        for condition in split_conjunction(&filter.predicate) {
            match condition {
                Expr::InSubquery(found) if !found.negated || !is_correlated(&found.subquery) => {
                    check_rows(&found.subquery, "IN")?;
                    check_expr(&found.expr, schema, false)?;
                }
                other => check_expr(other, schema, true)?,
            }
        }
        return Ok(());
    }
    let mut refused = Ok(());
    let visited = node.apply_expressions(|expr| {
        refused = check_expr(expr, schema, false);
        Ok(match refused {
            Err(_) => TreeNodeRecursion::Stop,
            Ok(()) => TreeNodeRecursion::Continue,
        })
    });
    visited.map_err(Error::of_input)?;
    refused
}

/// `is_condition`: false and NULL have the same effect here.
fn check_expr(expr: &Expr, schema: Option<&DFSchema>, is_condition: bool) -> Result<()> {
    match expr {
        Expr::BinaryExpr(both) if matches!(both.op, Operator::And | Operator::Or) => {
            check_expr(&both.left, schema, is_condition)?;
            return check_expr(&both.right, schema, is_condition);
        }
        Expr::InSubquery(found) => {
            check_rows(&found.subquery, "IN")?;
            let is_right = is_condition && !found.negated || !may_be_null(found, schema);
            if !is_right || found.negated && is_correlated(&found.subquery) {
                return Err(Error::invalid(
                    "IN (SELECT ...) is available in a condition of ANDs and ORs, and NOT IN (SELECT ...) as a condition of \
                     its own whose query names no outer column: write [NOT] EXISTS (SELECT 1 ... WHERE u.a = t.a)",
                ));
            }
        }
        Expr::Exists(found) => check_rows(&found.subquery, "EXISTS")?,
        _ => {}
    }
    let mut refused = Ok(());
    let visited = expr.apply_children(|child| {
        refused = check_expr(child, schema, false);
        Ok(match refused {
            Err(_) => TreeNodeRecursion::Stop,
            Ok(()) => TreeNodeRecursion::Continue,
        })
    });
    visited.map_err(Error::of_input)?;
    refused
}

fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

fn may_be_null(found: &InSubquery, schema: Option<&DFSchema>) -> bool {
    let is_nullable =
        |expr: &Expr| schema.is_none_or(|schema| expr.nullable(schema).unwrap_or(true));
    let fields = found.subquery.subquery.schema().fields();
    is_nullable(&found.expr) || fields.iter().any(|field| field.is_nullable())
}

/// Checks what a correlated subquery does with the rows that the correlation selects.
fn check_rows(subquery: &Subquery, name: &str) -> Result<()> {
    if !is_correlated(subquery) {
        return Ok(());
    }
    let mut found = None;
    let visited = subquery.subquery.apply(|node| {
        found = match node {
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
                Some("an aggregate without GROUP BY")
            }
            LogicalPlan::Window(_) => Some("a window function"),
            LogicalPlan::Limit(limit) if limit.skip.is_some() || name == "IN" => {
                Some("LIMIT or OFFSET")
            }
            _ => None,
        };
        Ok(match found {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    visited.map_err(Error::of_input)?;
    match found {
        Some(what) => Err(Error::invalid(format!(
            "{name} (SELECT ...) with an outer column in its condition cannot have {what}: join the tables, or compare \
             with a subquery of one value, such as (SELECT count(*) FROM u WHERE u.a = t.a) = 0"
        ))),
        None => Ok(()),
    }
}
