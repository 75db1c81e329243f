//! Literals.

use datafusion::sql::sqlparser::ast::{Expr, Value};

use super::MAX_LITERAL;
use super::size::Size;
use super::walk::unknown;
use crate::error::{Error, Result};

/// The size of a literal.
pub fn literal(value: &Value) -> Result<Size> {
    let bytes = match value {
        Value::Null | Value::Boolean(_) => return Ok(Size::SMALL),
        Value::Number(digits, _) => digits.len(),
        Value::SingleQuotedString(text)
        | Value::DoubleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::NationalStringLiteral(text) => text.len(),
        Value::HexStringLiteral(digits) => digits.len().div_ceil(2),
        Value::DollarQuotedString(text) => text.value.len(),
        _ => return Err(unknown("this kind of literal")),
    };
    if bytes > MAX_LITERAL {
        return Err(Error::invalid(format!(
            "the expression has a value of {bytes} bytes; one may have {MAX_LITERAL}"
        )));
    }
    Ok(Size::literal(bytes))
}

/// Whether it is a number, with or without a sign.
pub fn number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::UnaryOp { expr, .. } => number(expr),
        _ => false,
    }
}

/// The text of a literal.
pub fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) => text(inner),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The number of a literal.
pub fn count(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Nested(inner) => count(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}
