//! Subqueries that DataFusion 54.1 evaluates wrongly. joust refuses them.
//!
//! - `a IN (SELECT ...)` below OR, NOT or IS NULL becomes a mark join, for which NULL is false
//!   (`DecorrelatePredicateSubquery`). That is right for a condition of ANDs and ORs only.
//! - A correlated NOT IN becomes a join that looks at the NULLs of all rows, and not of those that the correlation
//!   selects. Without a column on its left, NOT IN ignores the NULLs.
//! - A correlated subquery becomes a join, and the correlation its condition. So the correlation selects rows only after
//!   an aggregate, a window function, an OFFSET and an outer join. joust refuses these between the correlation and the
//!   top of the subquery. One aggregate without GROUP BY is right in a subquery of one value.
//! - The columns of the correlation are columns of the join by their name alone, so that `u.id` and `v.id` are the same.

use std::collections::HashSet;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, Subquery};

use super::barriers::is_offset;
use crate::error::{Error, Result};
use crate::names::short;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Exists,
    In,
    /// Of one value.
    Scalar,
    Lateral,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Exists => "EXISTS (SELECT ...)",
            Self::In => "IN (SELECT ...)",
            Self::Scalar => "a subquery of one value",
            Self::Lateral => "LATERAL (SELECT ...)",
        }
    }
}

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
fn check_rows(subquery: &Subquery, kind: Kind) -> Result<()> {
    if !is_correlated(subquery) {
        return Ok(());
    }
    if let Some(what) = after_correlation(&subquery.subquery, kind, false) {
        return Err(Error::invalid(format!(
            "{} with an outer column cannot have {what} after the condition on this column: join the tables, or compare \
             with a subquery of one value, such as (SELECT count(*) FROM u WHERE u.a = t.a) = 0",
            kind.name()
        )));
    }
    match same_names(subquery, kind)? {
        Some(name) => Err(Error::invalid(format!(
            "{} with an outer column confuses two columns `{}` of its tables: rename one in a subquery, such as (SELECT id \
             AS id2, ... FROM v) AS v",
            kind.name(),
            short(&name)
        ))),
        None => Ok(()),
    }
}

/// What is between the top of a subquery and its references to outer columns, and would see the wrong rows. `is_below`:
/// an operator that changes rows is above `node`.
fn after_correlation(node: &LogicalPlan, kind: Kind, is_below: bool) -> Option<&'static str> {
    let inputs = node.inputs();
    let is_outer: Vec<bool> = inputs.iter().map(|input| has_outer(input)).collect();
    if !is_outer.contains(&true) {
        return None;
    }
    let found = match node {
        LogicalPlan::Aggregate(aggregate) if is_grouping_set(&aggregate.group_expr) => {
            Some("ROLLUP, CUBE or GROUPING SETS")
        }
        LogicalPlan::Aggregate(aggregate)
            if aggregate.group_expr.is_empty()
                && (is_below || matches!(kind, Kind::Exists | Kind::In)) =>
        {
            Some("an aggregate without GROUP BY")
        }
        LogicalPlan::Window(_) => Some("a window function"),
        LogicalPlan::Limit(limit) if is_offset(limit) || kind == Kind::In => {
            Some("LIMIT or OFFSET")
        }
        LogicalPlan::Join(join) => {
            let optional = match join.join_type {
                JoinType::Left => [false, true],
                JoinType::Right => [true, false],
                JoinType::Full => [true, true],
                _ => [false, false],
            };
            let is_optional = is_outer
                .iter()
                .zip(optional)
                .any(|(outer, at)| *outer && at);
            is_optional.then_some("an outer join")
        }
        _ => None,
    };
    let is_below = is_below
        || !matches!(
            node,
            LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_)
        );
    let mut inputs = inputs.into_iter();
    found.or_else(|| inputs.find_map(|input| after_correlation(input, kind, is_below)))
}

fn has_outer(plan: &LogicalPlan) -> bool {
    !plan.all_out_ref_exprs().is_empty()
}

pub(super) fn is_grouping_set(group: &[Expr]) -> bool {
    matches!(group, [Expr::GroupingSet(_)])
}

/// A name that two columns have of those that the correlation and the result of a subquery use.
fn same_names(subquery: &Subquery, kind: Kind) -> Result<Option<String>> {
    let mut columns: HashSet<Column> = HashSet::new();
    let visited = subquery.subquery.apply(|node| {
        if let LogicalPlan::Filter(filter) = node {
            for condition in split_conjunction(&filter.predicate) {
                if condition.contains_outer() {
                    columns.extend(condition.column_refs().into_iter().cloned());
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    visited.map_err(Error::of_input)?;
    // The result of EXISTS is replaced by a constant.
    if kind != Kind::Exists {
        let results = subquery.subquery.schema().columns();
        // DataFusion reports a new name that is one of the other columns.
        columns.extend(
            results
                .into_iter()
                .filter(|column| column.relation.is_some()),
        );
    }
    let mut seen: HashSet<&str> = HashSet::new();
    let twice = columns.iter().find(|column| !seen.insert(&column.name));
    Ok(twice.map(|column| column.name.clone()))
}
