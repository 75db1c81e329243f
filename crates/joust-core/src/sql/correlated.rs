//! Correlated subqueries that DataFusion 54.1 evaluates wrongly. joust refuses them.
//!
//! A correlated subquery becomes a join, and the correlation its condition. So the correlation selects rows only after
//! an aggregate, a window function, an OFFSET, an outer join and EXCEPT. joust refuses these between the correlation and
//! the top of the subquery. One aggregate without GROUP BY is right in a subquery of one value, if its result is NULL
//! without rows or DataFusion knows it. A LIMIT beside the correlation is lost in EXISTS.
//!
//! The columns of the correlation are columns of the join by their name alone, so that `u.id` and `v.id` are the same.

use std::collections::HashSet;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, Operator, Subquery};

use super::barriers::{is_literal, is_offset};
use crate::error::{Error, Result};
use crate::names::short;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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

pub fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

/// Checks what a correlated subquery does with the rows that the correlation selects.
pub fn check_rows(subquery: &Subquery, kind: Kind) -> Result<()> {
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
        LogicalPlan::Aggregate(aggregate)
            if aggregate.group_expr.is_empty() && aggregate.aggr_expr.iter().any(counts) =>
        {
            Some("regr_count or approx_distinct")
        }
        LogicalPlan::Projection(projection)
            if matches!(kind, Kind::Scalar | Kind::Lateral)
                && is_single(&projection.input)
                && projection.expr.iter().any(is_literal) =>
        {
            Some("a constant beside an aggregate")
        }
        LogicalPlan::Aggregate(aggregate)
            if kind == Kind::Lateral && aggregate.aggr_expr.is_empty() && is_unequal(node) =>
        {
            Some("DISTINCT or GROUP BY")
        }
        LogicalPlan::Distinct(Distinct::All(_)) if kind == Kind::Lateral && is_unequal(node) => {
            Some("DISTINCT")
        }
        LogicalPlan::Distinct(Distinct::On(_)) => Some("DISTINCT ON"),
        LogicalPlan::Window(_) => Some("a window function"),
        LogicalPlan::Limit(limit) if is_offset(limit) || kind == Kind::In => {
            Some("LIMIT or OFFSET")
        }
        LogicalPlan::Join(_)
            if kind == Kind::Exists && inputs.iter().any(|input| has_limit(input)) =>
        {
            Some("LIMIT or OFFSET")
        }
        LogicalPlan::Filter(filter)
            if kind == Kind::Exists && has_limited_subquery(&filter.predicate) =>
        {
            Some("LIMIT or OFFSET")
        }
        LogicalPlan::Join(join) => {
            let optional = match join.join_type {
                JoinType::Inner => [false, false],
                JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
                    [false, true]
                }
                JoinType::Right
                | JoinType::RightSemi
                | JoinType::RightAnti
                | JoinType::RightMark => [true, false],
                JoinType::Full => [true, true],
            };
            let is_optional = is_outer
                .iter()
                .zip(optional)
                .any(|(outer, at)| *outer && at);
            is_optional.then_some("an outer join, INTERSECT or EXCEPT")
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

fn is_single(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty())
}

/// Whether an aggregate is 0 over no rows. DataFusion knows `count` only.
fn counts(aggregate: &Expr) -> bool {
    match aggregate {
        Expr::Alias(alias) => counts(&alias.expr),
        Expr::AggregateFunction(call) => {
            matches!(call.func.name(), "regr_count" | "approx_distinct")
        }
        _ => false,
    }
}

/// Whether a correlation in a plan is something else than an equality.
fn is_unequal(plan: &LogicalPlan) -> bool {
    let is_equality =
        |condition: &&Expr| matches!(condition, Expr::BinaryExpr(both) if both.op == Operator::Eq);
    let found = plan.exists(|node| {
        let LogicalPlan::Filter(filter) = node else {
            return Ok(false);
        };
        let conditions = split_conjunction(&filter.predicate);
        let mut outer = conditions
            .into_iter()
            .filter(|condition| condition.contains_outer());
        Ok(!outer.all(|condition| is_equality(&condition)))
    });
    found.unwrap_or(true)
}

fn has_limit(plan: &LogicalPlan) -> bool {
    plan.exists(|node| Ok(matches!(node, LogicalPlan::Limit(_))))
        .unwrap_or(true)
}

fn has_limited_subquery(condition: &Expr) -> bool {
    let found = condition.exists(|expr| {
        Ok(match expr {
            Expr::InSubquery(found) => has_limit(&found.subquery.subquery),
            Expr::Exists(found) => has_limit(&found.subquery.subquery),
            Expr::ScalarSubquery(found) => has_limit(&found.subquery),
            _ => false,
        })
    });
    found.unwrap_or(true)
}

fn has_outer(plan: &LogicalPlan) -> bool {
    !plan.all_out_ref_exprs().is_empty()
}

pub(super) fn is_grouping_set(group: &[Expr]) -> bool {
    matches!(group, [Expr::GroupingSet(_)])
}

/// A name that two columns have of those that the correlation and the results of a subquery use.
fn same_names(subquery: &Subquery, kind: Kind) -> Result<Option<String>> {
    let columns = correlated_columns(&subquery.subquery).map_err(Error::of_input)?;
    let mut seen: HashSet<&str> = HashSet::new();
    if let Some(twice) = columns.iter().find(|column| !seen.insert(&column.name)) {
        return Ok(Some(twice.name.clone()));
    }
    let mut found = None;
    let visited = subquery.subquery.apply(|node| {
        let is_top = std::ptr::eq(node, subquery.subquery.as_ref());
        let results = match node {
            // The result of EXISTS is replaced by a constant.
            _ if is_top && kind == Kind::Exists => Vec::new(),
            LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_) => {
                node.schema().columns()
            }
            _ if is_top => node.schema().columns(),
            _ => Vec::new(),
        };
        let mut below = HashSet::new();
        for input in node.inputs().into_iter().filter(|_| !results.is_empty()) {
            below.extend(correlated_columns(input)?);
        }
        let same = results.into_iter().find(|result| {
            // DataFusion reports a new name at the top that is one of the other columns.
            let is_new = is_top && result.relation.is_none();
            let mut others = below.iter().filter(|other| other.name == result.name);
            !is_new && others.any(|other| other.relation != result.relation)
        });
        found = same.map(|column| column.name);
        Ok(match found {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    visited.map_err(Error::of_input)?;
    Ok(found)
}

/// The columns that a plan compares with outer ones.
fn correlated_columns(plan: &LogicalPlan) -> datafusion::error::Result<HashSet<Column>> {
    let mut columns = HashSet::new();
    plan.apply(|node| {
        if let LogicalPlan::Filter(filter) = node {
            for condition in split_conjunction(&filter.predicate) {
                if condition.contains_outer() {
                    columns.extend(condition.column_refs().into_iter().cloned());
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(columns)
}
