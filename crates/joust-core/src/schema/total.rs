//! Total conditions: those whose evaluation fails for no row.
//!
//! A division, a cast or a pattern fails for some values only, so its error would tell a caller about rows that a row
//! filter hides from it. The expression is checked as it runs: after Lance has resolved and coerced it.

use arrow::datatypes::{DataType, Schema};
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator};
use lance::Dataset;

use super::expression::Expression;
use crate::error::{Error, Result};

/// Functions that fail for no value.
const FUNCTIONS: &[&str] = &[
    "array_has",
    "array_has_all",
    "array_has_any",
    "character_length",
    "contains",
    "ends_with",
    "get_field",
    "lower",
    "starts_with",
    "upper",
];

/// Plans a condition over the rows of a version. Errors: it is no condition over its columns, or it is not total.
pub fn check(dataset: &Dataset, condition: &Expression) -> Result<Expr> {
    let mut scanner = dataset.scan();
    let tree = scanner
        .filter(condition.sql())
        .and_then(|scanner| scanner.get_expr_filter())
        .map_err(Error::of_input)?
        .ok_or_else(|| Error::invalid("the condition is empty"))?;
    let schema = Schema::from(dataset.schema());
    let schema =
        DFSchema::try_from(schema).map_err(|error| Error::of_input(lance::Error::from(error)))?;
    match is_total(&tree, &schema) {
        true => Ok(tree),
        false => Err(Error::invalid(
            "a row filter, and a condition of a caller with one, may have columns, values, comparisons, AND, OR, NOT, \
             IN, BETWEEN, LIKE, IS NULL and a few functions of text and lists, but nothing that can fail for a value, \
             such as a cast or a calculation",
        )),
    }
}

fn is_total(tree: &Expr, schema: &DFSchema) -> bool {
    let all = |trees: &[&Expr]| trees.iter().all(|tree| is_total(tree, schema));
    match tree {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::BinaryExpr(both) => is_comparison(both.op) && all(&[&both.left, &both.right]),
        Expr::Like(like) => {
            is_total(&like.expr, schema) && matches!(like.pattern.as_ref(), Expr::Literal(..))
        }
        Expr::Not(inner)
        | Expr::IsNotNull(inner)
        | Expr::IsNull(inner)
        | Expr::IsTrue(inner)
        | Expr::IsFalse(inner)
        | Expr::IsUnknown(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsNotFalse(inner)
        | Expr::IsNotUnknown(inner) => is_total(inner, schema),
        Expr::Between(between) => all(&[&between.expr, &between.low, &between.high]),
        Expr::InList(list) => {
            is_total(&list.expr, schema) && list.list.iter().all(|tree| is_total(tree, schema))
        }
        Expr::Cast(cast) => {
            matches!(cast.expr.as_ref(), Expr::Literal(..))
                || is_total(&cast.expr, schema)
                    && cast
                        .expr
                        .get_type(schema)
                        .is_ok_and(|from| widens(&from, cast.field.data_type()))
        }
        Expr::ScalarFunction(call) => {
            FUNCTIONS.contains(&call.name()) && call.args.iter().all(|tree| is_total(tree, schema))
        }
        _ => false,
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{And, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq, Or};
    matches!(
        operator,
        And | Or | Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom
    )
}

/// Whether each value of a type has one of the other type.
fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType::{Boolean, Float16, Float32, Float64, LargeUtf8, Utf8, Utf8View};
    let is_text = |of: &DataType| matches!(of, Utf8 | LargeUtf8 | Utf8View);
    if from == to || is_text(to) && (is_text(from) || from.is_integer() || *from == Boolean) {
        return true;
    }
    if *to == Float64 {
        return from.is_integer() || matches!(from, Float16 | Float32);
    }
    let bits = |of: &DataType| of.primitive_width().unwrap_or(0);
    match (from.is_integer(), to.is_integer()) {
        (true, true) if from.is_signed_integer() => {
            to.is_signed_integer() && bits(from) <= bits(to)
        }
        (true, true) if to.is_signed_integer() => bits(from) < bits(to),
        (true, true) => bits(from) <= bits(to),
        _ => false,
    }
}
