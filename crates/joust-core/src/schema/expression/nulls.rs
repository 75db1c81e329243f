//! Conditions that DataFusion simplifies to the same value for null.
//!
//! DataFusion 54 merges lists of one column: `x IN (1) AND x IN (2)` becomes false, and `x NOT IN (1) OR x NOT IN (2)`
//! becomes true, also where `x` is null and SQL says unknown (apache/datafusion#24258). A row filter must not show such
//! a row, so its comparisons say themselves what they are for null.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::{Expression, parse, tokens};
use crate::error::{Error, Result};

/// ANDs, ORs, NOTs and operands of a condition that is written again. sqlparser writes a chain of them recursively.
const MAX_NODES: usize = 1_000;

/// What DataFusion may do with the comparisons of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// It merges none, or rightly.
    Right,
    /// It may merge comparisons that AND, OR and NOT join.
    Joined,
    /// It may merge comparisons inside of something else, such as `(…) IS TRUE` or `(…) = false`.
    Inside,
}

impl Lists {
    /// `comparisons`: those in the whole tree.
    pub(super) fn of(tree: &Expr, comparisons: usize) -> Self {
        let (mut is_negated, mut joined) = (false, 0);
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
                    joined += usize::from(compared(comparison).is_some());
                }
            }
        }
        if comparisons > joined + 1 {
            return Self::Inside;
        }
        match is_negated && comparisons > 1 {
            true => Self::Joined,
            false => Self::Right,
        }
    }
}

impl Expression {
    /// The same condition: true for the same rows, and false where it may also be unknown. Errors: DataFusion may
    /// simplify it wrongly, and it cannot be written in another way.
    pub fn with_decided_nulls(&self) -> Result<Self> {
        match self.0.lists {
            Lists::Right => Ok(self.clone()),
            Lists::Inside => Err(Error::invalid(
                "a row filter joins comparisons with AND, OR and NOT only: write it without IS TRUE, IS FALSE, CASE, \
                 functions or comparisons around them",
            )),
            Lists::Joined => match self.0.decided.get() {
                Some(decided) => Ok(decided.clone()),
                None => {
                    let decided = self.decide_nulls()?;
                    Ok(self.0.decided.get_or_init(|| decided).clone())
                }
            },
        }
    }

    fn decide_nulls(&self) -> Result<Self> {
        let mut tree = parse(tokens::read(self.sql())?)?;
        let mut nodes = 0;
        // A comparison under an odd number of NOTs becomes true for null, so that the NOT is false.
        let mut rest = vec![(&mut tree.0, false)];
        while let Some((expr, null)) = rest.pop() {
            nodes += 1;
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
                        *comparison = decided(comparison.clone(), operand.clone(), null);
                    }
                }
            }
        }
        if nodes > MAX_NODES {
            return Err(Error::invalid(format!(
                "the row filters have more than {MAX_NODES} conditions, ANDs, ORs, NOTs and parentheses: compare with \
                 a list, column IN (…)"
            )));
        }
        let mut whole = &tree.0;
        while let Expr::Nested(inner) = whole {
            whole = inner;
        }
        Self::new(&whole.to_string())
    }
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
        for (other, times) in [("NOT x = 1", MAX_NODES), ("x > 1", 10_000)] {
            let all = format!("NOT x = 1 OR x = 2 OR {}", vec![other; times].join(" OR "));
            let refused = Expression::new(&all).unwrap().with_decided_nulls();
            assert!(refused.unwrap_err().to_string().contains("IN (…)"));
        }
    }

    #[test]
    fn comparisons_inside_of_something_else_are_refused() {
        for sql in [
            "(x NOT IN (1) OR x NOT IN (2)) IS TRUE",
            "(x IN (1) AND x IN (2)) IS FALSE",
            "(x IN (1) AND x IN (2)) = false",
            "(x NOT IN (1) OR x NOT IN (2)) = true AND y = 1",
            "NOT ((x IN (1) AND x IN (2)) IS NOT TRUE)",
            "coalesce(x NOT IN (1) OR x NOT IN (2), false)",
            "CASE WHEN x NOT IN (1) OR x NOT IN (2) THEN true ELSE false END",
        ] {
            let refused = Expression::new(sql).unwrap().with_decided_nulls();
            assert!(
                refused.unwrap_err().to_string().contains("IS TRUE"),
                "{sql}"
            );
        }
        for sql in ["(x = 1) IS TRUE", "(x = 1) IS NOT FALSE AND y = 2"] {
            assert!(Expression::new(sql).unwrap().with_decided_nulls().is_ok());
        }
    }
}
