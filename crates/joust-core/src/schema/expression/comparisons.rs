//! Operands of comparisons that sqlparser and DataFusion do not take as they are written.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr};

use crate::error::{Error, Result};

/// DataFusion compares rows with NULL as a value: `(1, NULL) = (1, NULL)` would be true.
pub(super) fn refuse_row(operand: &Expr) -> Result<()> {
    match operand {
        Expr::Tuple(_) => Err(Error::invalid(
            "rows of values such as (a, b) cannot be compared: compare each column",
        )),
        Expr::Nested(inner) => refuse_row(inner),
        _ => Ok(()),
    }
}

/// sqlparser 0.62 reads `a IS DISTINCT FROM b AND c` as `a IS DISTINCT FROM (b AND c)`.
pub(super) fn refuse_swallowed(right: &Expr) -> Result<()> {
    use BinaryOperator::{And, Or, Xor};
    match right {
        Expr::BinaryOp { op, .. } if matches!(op, And | Or | Xor) => Err(Error::invalid(format!(
            "IS DISTINCT FROM beside {op} needs parentheses: write (a IS DISTINCT FROM b) {op} c"
        ))),
        _ => Ok(()),
    }
}
