//! DataFusion on workers: the version that they need, and what they may run with it.

use std::collections::BTreeMap;

use datafusion::DATAFUSION_VERSION;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::Expr;
use serde::Serialize;

use crate::sql::session::OPTIONS;

/// The most levels of an expression: DataFusion is recursive, and the threads of workers have small stacks. That of
/// Python overflows between 1,500 and 5,000.
const MOST_LEVELS: usize = 500;

/// The most levels of a condition that a scan evaluates: the table of pylance gets it as a protobuf message, which is read
/// up to 100 levels deep, and an expression has up to three for each of its own.
const MOST_SCAN_LEVELS: usize = 30;

/// The DataFusion of workers, in an order.
#[derive(Serialize)]
pub struct WorkerDataFusion {
    /// Of this engine. The one of a worker has the same major and minor version.
    version: &'static str,
    /// Of each session.
    options: BTreeMap<&'static str, &'static str>,
}

impl WorkerDataFusion {
    pub fn new() -> Self {
        Self {
            version: DATAFUSION_VERSION,
            options: OPTIONS.into(),
        }
    }
}

/// Whether no expression of a plan has too many levels.
pub fn is_shallow(plan: &LogicalPlan) -> bool {
    let mut is_shallow = true;
    let walked = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            is_shallow &= has_levels(expression, MOST_LEVELS)?;
            Ok(continues(is_shallow))
        })
    });
    is_shallow && walked.is_ok()
}

/// Whether the table of pylance can read a condition.
pub fn can_scan(condition: &Expr) -> bool {
    has_levels(condition, MOST_SCAN_LEVELS).unwrap_or(false)
}

/// Whether an expression has at most so many levels.
fn has_levels(expression: &Expr, most: usize) -> Result<bool> {
    let Some(below) = most.checked_sub(1) else {
        return Ok(false);
    };
    let mut has = true;
    expression.apply_children(|child| {
        has &= has_levels(child, below)?;
        Ok(continues(has))
    })?;
    Ok(has)
}

fn continues(goes_on: bool) -> TreeNodeRecursion {
    match goes_on {
        true => TreeNodeRecursion::Continue,
        false => TreeNodeRecursion::Stop,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    #[test]
    fn levels_of_an_expression_are_bounded() {
        let chain = |terms: usize| (1..terms).fold(col("a"), |sum, _| sum + lit(1));
        assert!(has_levels(&chain(MOST_LEVELS), MOST_LEVELS).unwrap());
        assert!(!has_levels(&chain(MOST_LEVELS + 1), MOST_LEVELS).unwrap());
    }
}
