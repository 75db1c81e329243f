//! How a view can be refreshed, from the logical plan of its query.
//!
//! In a row-wise query each row of the result comes from one row of one table and from nothing else: it is made of
//! projections and filters with functions that have one result for the same arguments. Then a changed row of the table
//! changes one row of the view. In a query with [`Groups`] over such rows it changes one group.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Aggregate, LogicalPlan, Volatility};
use datafusion::prelude::Expr;

use lance_core::ROW_ID;

use super::groups::Groups;

/// Which part of a view a refresh has to compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// The rows that come from changed rows.
    RowWise,
    /// The rows that a function makes of changed rows. The query is row-wise.
    Expanded,
    /// The groups of changed rows.
    Groups(Groups),
    /// All rows, because of a part of the query.
    Whole(&'static str),
}

impl Shape {
    pub fn of(plan: &LogicalPlan) -> Self {
        match below(plan) {
            Ok(LogicalPlan::TableScan(_)) => Self::RowWise,
            Ok(LogicalPlan::Aggregate(aggregate)) => match Groups::of(plan, aggregate) {
                Ok(groups) => Self::Groups(groups),
                Err(reason) => Self::Whole(reason),
            },
            Ok(other) => Self::Whole(reason(other)),
            Err(reason) => Self::Whole(reason),
        }
    }
}

/// What is below the projections and filters of a plan; an error if one of them is not row-wise.
pub fn below(plan: &LogicalPlan) -> Result<&LogicalPlan, &'static str> {
    let input = match plan {
        LogicalPlan::Projection(projection) => &projection.input,
        LogicalPlan::Filter(filter) => &filter.input,
        LogicalPlan::SubqueryAlias(alias) => &alias.input,
        other => return Ok(other),
    };
    check_row_wise(&plan.expressions())?;
    let names_row_id = plan
        .schema()
        .fields()
        .iter()
        .any(|field| field.name() == ROW_ID);
    if names_row_id {
        return Err("the query names a column `_rowid`");
    }
    below(input)
}

/// The aggregate below the projections and filters of a plan.
pub fn aggregate(plan: &LogicalPlan) -> Option<&Aggregate> {
    match below(plan) {
        Ok(LogicalPlan::Aggregate(aggregate)) => Some(aggregate),
        _ => None,
    }
}

fn reason(plan: &LogicalPlan) -> &'static str {
    match plan {
        LogicalPlan::Join(_) => "the query joins tables",
        LogicalPlan::Window(_) => "the query has window functions",
        LogicalPlan::Sort(_) => "the query has ORDER BY",
        LogicalPlan::Limit(_) => "the query has LIMIT or OFFSET",
        LogicalPlan::Distinct(_) => "the query has DISTINCT",
        LogicalPlan::Union(_) => "the query has UNION",
        LogicalPlan::Unnest(_) => "the query makes several rows of one with unnest",
        LogicalPlan::Values(_) | LogicalPlan::EmptyRelation(_) => "the query reads no table",
        _ => "the query is more than a projection, a filter and a GROUP BY",
    }
}

/// An error if the result of an expression depends on more than one row, or differs from one refresh to the next.
pub fn check_row_wise(expressions: &[Expr]) -> Result<(), &'static str> {
    match expressions.iter().find_map(unlike_a_row) {
        Some(reason) => Err(reason),
        None => Ok(()),
    }
}

fn unlike_a_row(expression: &Expr) -> Option<&'static str> {
    let mut found = None;
    let walked = expression.apply(|part| {
        found = match part {
            Expr::Alias(_)
            | Expr::Column(_)
            | Expr::Literal(..)
            | Expr::BinaryExpr(_)
            | Expr::Like(_)
            | Expr::SimilarTo(_)
            | Expr::Not(_)
            | Expr::IsNotNull(_)
            | Expr::IsNull(_)
            | Expr::IsTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNotFalse(_)
            | Expr::IsNotUnknown(_)
            | Expr::Negative(_)
            | Expr::Between(_)
            | Expr::Case(_)
            | Expr::Cast(_)
            | Expr::TryCast(_)
            | Expr::InList(_) => None,
            Expr::ScalarFunction(call) => changing(call.func.signature().volatility),
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) => {
                Some("the query has a subquery in an expression")
            }
            _ => Some("the query has an expression over more than one row"),
        };
        Ok(match found {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    match walked {
        Ok(_) => found,
        Err(_) => Some("the query has an expression that can't be read"),
    }
}

/// A reason if a function may have another result for the same arguments.
pub fn changing(volatility: Volatility) -> Option<&'static str> {
    match volatility {
        Volatility::Immutable => None,
        Volatility::Stable | Volatility::Volatile => {
            Some("the query has a function whose result changes, such as now()")
        }
    }
}
