//! Conditions that DataFusion simplifies to the same value for null.
//!
//! DataFusion 54 merges lists of one column: `x IN (1) AND x IN (2)` becomes false, and `x NOT IN (1) OR x NOT IN (2)`
//! becomes true, also where `x` is null and SQL says unknown (apache/datafusion#24258). A row filter must not show such
//! a row, so its comparisons say themselves what they are for null.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::{Expression, parse, tokens};
use crate::error::{Error, Result};

/// Comparisons of a condition that is written again. sqlparser writes a chain of them recursively.
const MAX_COMPARISONS: usize = 1_000;

impl Expression {
    /// The same condition: true for the same rows, and false where it may also be unknown.
    pub fn with_decided_nulls(&self) -> Result<Self> {
        if !self.0.may_merge_lists {
            return Ok(self.clone());
        }
        let mut tree = parse(tokens::read(self.sql())?)?;
        let mut found = 0;
        // A comparison under an odd number of NOTs becomes true for null, so that the NOT is false.
        let mut rest = vec![(&mut tree.0, false)];
        while let Some((expr, null)) = rest.pop() {
            match expr {
                Expr::Nested(inner) => rest.push((inner, null)),
                Expr::UnaryOp {
                    op: UnaryOperator::Not,
                    expr,
                } => rest.push((expr, !null)),
                Expr::BinaryOp {
                    left,
                    op: BinaryOperator::And | BinaryOperator::Or,
                    right,
                } => rest.extend([(left.as_mut(), null), (right.as_mut(), null)]),
                comparison => {
                    if let Some(operand) = compared(comparison) {
                        found += 1;
                        *comparison = decided(comparison.clone(), operand.clone(), null);
                    }
                }
            }
        }
        if found > MAX_COMPARISONS {
            return Err(Error::invalid(format!(
                "the row filters join more than {MAX_COMPARISONS} comparisons; compare with a list: column IN (…)"
            )));
        }
        let mut whole = &tree.0;
        while let Expr::Nested(inner) = whole {
            whole = inner;
        }
        Self::new(&whole.to_string())
    }
}

/// Whether DataFusion may merge comparisons of a condition with a wrong value for null.
pub(super) fn may_merge_lists(tree: &Expr) -> bool {
    let (mut is_negated, mut comparisons) = (false, 0);
    let mut rest = vec![tree];
    while let Some(expr) = rest.pop() {
        match expr {
            Expr::Nested(inner) => rest.push(inner),
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr,
            } => {
                is_negated = true;
                rest.push(expr);
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And | BinaryOperator::Or,
                right,
            } => rest.extend([left.as_ref(), right.as_ref()]),
            comparison => {
                is_negated |= matches!(comparison, Expr::InList { negated: true, .. });
                comparisons += usize::from(compared(comparison).is_some());
            }
        }
    }
    is_negated && comparisons > 1
}

/// What a comparison that DataFusion may take for a list compares.
fn compared(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::InList { expr, .. } => Some(expr),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => match left.as_ref() {
            Expr::Value(_) => Some(right),
            _ => Some(left),
        },
        _ => None,
    }
}

/// A comparison whose value is `null` where its operand is null.
fn decided(comparison: Expr, operand: Expr, null: bool) -> Expr {
    let operand = Box::new(Expr::Nested(Box::new(operand)));
    let (op, operand) = match null {
        true => (BinaryOperator::Or, Expr::IsNull(operand)),
        false => (BinaryOperator::And, Expr::IsNotNull(operand)),
    };
    Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(comparison),
        op,
        right: Box::new(operand),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(sql: &str) -> String {
        let condition = Expression::new(sql).unwrap().with_decided_nulls().unwrap();
        condition.sql().to_string()
    }

    #[test]
    fn a_condition_that_merges_no_lists_stays() {
        for sql in [
            "tenant = 'a'",
            "tenant = 'a' OR tenant IN ('b', 'c')",
            "NOT tenant = 'a'",
            "tenant NOT IN ('a', 'b')",
        ] {
            assert_eq!(decided(sql), Expression::new(sql).unwrap().sql());
        }
    }

    #[test]
    fn comparisons_say_what_they_are_for_null() {
        assert_eq!(
            decided("x NOT IN (1) OR x NOT IN (2)"),
            "( ( x NOT IN ( 1 ) AND ( x ) IS NOT NULL ) OR ( x NOT IN ( 2 ) AND ( x ) IS NOT NULL ) )"
        );
        assert_eq!(
            decided("NOT (`x` IN (1, 2, 'a') AND 'it''s' = y) AND z = 1"),
            "( NOT ( ( `x` IN ( 1 , 2 , 'a' ) OR ( `x` ) IS NULL ) AND ( 'it''s' = y OR ( y ) IS NULL ) ) \
             AND ( z = 1 AND ( z ) IS NOT NULL ) )"
        );
    }

    #[test]
    fn too_many_comparisons_are_refused() {
        let all = vec!["NOT x = 1"; MAX_COMPARISONS + 1].join(" OR ");
        let refused = Expression::new(&all).unwrap().with_decided_nulls();
        assert!(refused.unwrap_err().to_string().contains("IN (…)"));
    }
}
