//! Subqueries that DataFusion 54.1 evaluates wrongly. joust refuses them.
//!
//! - `a IN (SELECT ...)` below OR, NOT or IS NULL becomes a mark join, for which NULL is false
//!   (`DecorrelatePredicateSubquery`). That is right for a condition of ANDs and ORs only.
//! - A correlated NOT IN becomes a join that looks at the NULLs of all rows, and not of those that the correlation
//!   selects. Without a column on its left, NOT IN ignores the NULLs.
//! - A correlated subquery becomes a join: [`correlated`](super::correlated).
//! - A key of a GROUP BY is taken for another column: [`keys`](super::keys).

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator};

use super::correlated::{Kind, check_rows, is_correlated};
use super::keys;
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
    keys::check(node)?;
    let inputs = node.inputs();
    for input in &inputs {
        if let LogicalPlan::Subquery(lateral) = input {
            check_rows(lateral, Kind::Lateral)?;
        }
    }
    let schema = inputs.first().map(|input| input.schema().as_ref());
    if let LogicalPlan::Filter(filter) = node {
        for condition in split_conjunction(&filter.predicate) {
            match condition {
                Expr::InSubquery(found) if !found.negated || may_become_anti_join(found) => {
                    check_rows(&found.subquery, Kind::In)?;
                    check_expr(&found.expr, schema, false)?;
                }
                Expr::Not(inner) => match inner.as_ref() {
                    Expr::InSubquery(found) if !found.negated && may_become_anti_join(found) => {
                        check_rows(&found.subquery, Kind::In)?;
                        check_expr(&found.expr, schema, false)?;
                    }
                    _ => check_expr(condition, schema, true)?,
                },
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

/// Whether DataFusion evaluates a NOT IN as an anti join that knows NULL.
fn may_become_anti_join(found: &InSubquery) -> bool {
    !is_correlated(&found.subquery) && found.expr.any_column_refs()
}

/// `is_condition`: false and NULL have the same effect here.
fn check_expr(expr: &Expr, schema: Option<&DFSchema>, is_condition: bool) -> Result<()> {
    match expr {
        Expr::BinaryExpr(both) if matches!(both.op, Operator::And | Operator::Or) => {
            check_expr(&both.left, schema, is_condition)?;
            return check_expr(&both.right, schema, is_condition);
        }
        Expr::InSubquery(found) => {
            check_rows(&found.subquery, Kind::In)?;
            let is_right = is_condition && !found.negated || !may_be_null(found, schema);
            if !is_right || found.negated && is_correlated(&found.subquery) {
                return Err(Error::invalid(
                    "IN (SELECT ...) is only available in a WHERE or HAVING of ANDs and ORs, and NOT IN (SELECT ...) as a \
                     condition of its own, with a column on its left and no outer column in its query: write [NOT] EXISTS \
                     (SELECT 1 ... WHERE u.a = t.a), to which NULL is equal to nothing, or a LEFT JOIN",
                ));
            }
        }
        Expr::Exists(found) => check_rows(&found.subquery, Kind::Exists)?,
        Expr::ScalarSubquery(found) => check_rows(found, Kind::Scalar)?,
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

fn may_be_null(found: &InSubquery, schema: Option<&DFSchema>) -> bool {
    let is_nullable =
        |expr: &Expr| schema.is_none_or(|schema| expr.nullable(schema).unwrap_or(true));
    let fields = found.subquery.subquery.schema().fields();
    is_nullable(&found.expr) || fields.iter().any(|field| field.is_nullable())
}
