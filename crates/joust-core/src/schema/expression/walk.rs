//! Walks the tree of an expression: its calls, its depth, and the size of its value.

use std::collections::BTreeSet;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, Expr, FunctionArg, FunctionArgExpr, UnaryOperator, Value,
};

use super::comparisons::{refuse_row, refuse_swallowed};
use super::functions::Place;
use super::literals::{literal, text};
use super::size::Size;
use super::{json, types};
use crate::error::{Error, Result};

/// Nested operators and functions.
const MAX_DEPTH: usize = 128;
/// Bytes of a regular expression.
const MAX_PATTERN: u64 = 4 << 10;

/// The properties of the walked expressions.
pub struct Walk {
    pub(super) place: Place,
    /// Equal rows give equal values at any time.
    pub is_immutable: bool,
    /// The largest growth of any value.
    pub growth: u64,
    /// Operands that are concatenated into texts and lists.
    pub operands: u64,
    /// The most memory of its evaluation at one moment: texts, lists and other variable-size values.
    pub peak: Size,
    /// The memory of the values that were walked so far.
    pub(super) held: Size,
    /// The columns that it reads, as written; of a path its first name.
    pub columns: BTreeSet<String>,
    /// Comparisons with a list or for equality.
    pub comparisons: usize,
    /// Operations that may take long for a row.
    pub calls: u64,
}

impl Walk {
    pub fn new(place: Place) -> Self {
        Self {
            place,
            is_immutable: true,
            growth: 1,
            operands: 0,
            peak: Size::default(),
            held: Size::default(),
            columns: BTreeSet::new(),
            comparisons: 0,
            calls: 0,
        }
    }

    /// Checks an expression; returns the size of its value.
    pub fn expression(&mut self, expr: &Expr) -> Result<Size> {
        let size = self.expr(expr, 1, self.place == Place::Rows)?;
        size.check_added()?;
        // A constant is written once for each row, too.
        self.peak = self.peak.or(size.without_small());
        Ok(size)
    }

    /// `is_balanced`: Lance plans the expression, with ANDs and ORs as a balanced tree.
    pub(super) fn expr(&mut self, expr: &Expr, depth: usize, is_balanced: bool) -> Result<Size> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!(
                "the expression applies more than {MAX_DEPTH} operators to one another; split it"
            )));
        }
        self.calls += u64::from(is_call(expr));
        let held = self.held;
        let size = self.kind(expr, depth + 1, is_balanced)?;
        self.hold(expr, size, held);
        match expr {
            // Such a list is mostly searched or measured by a function and rarely a result.
            Expr::Array(_) if size.is_constant() => size.check_list()?,
            _ => size.check_added()?,
        }
        self.growth = self.growth.max(size.factor);
        if self.place == Place::Rows {
            size.check_growth()?;
        }
        Ok(size)
    }

    fn kind(&mut self, expr: &Expr, depth: usize, is_balanced: bool) -> Result<Size> {
        let is_view = self.place == Place::View;
        let mut inner = |expr: &Expr| self.expr(expr, depth, is_balanced);
        match expr {
            Expr::Identifier(name) if name.quote_style == Some('\'') => {
                Ok(Size::literal(name.value.len()))
            }
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => Ok(Size::COLUMN),
            Expr::Value(value) => literal(&value.value),
            Expr::Nested(nested) => inner(nested),
            Expr::IsFalse(operand)
            | Expr::IsNotFalse(operand)
            | Expr::IsTrue(operand)
            | Expr::IsNotTrue(operand)
            | Expr::IsNull(operand)
            | Expr::IsNotNull(operand)
            | Expr::IsUnknown(operand)
            | Expr::IsNotUnknown(operand) => small(inner(operand)),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                refuse_swallowed(right)?;
                inner(left)?;
                small(inner(right))
            }
            Expr::InList { expr, list, .. } => {
                refuse_row(expr)?;
                inner(expr)?;
                for item in list {
                    inner(item)?;
                }
                self.comparisons += 1;
                Ok(Size::SMALL)
            }
            Expr::Between {
                expr, low, high, ..
            } => {
                refuse_row(expr)?;
                inner(expr)?;
                inner(low)?;
                small(inner(high))
            }
            Expr::Like {
                any: false,
                expr,
                pattern,
                ..
            }
            | Expr::ILike {
                any: false,
                expr,
                pattern,
                ..
            } => {
                inner(expr)?;
                small(inner(pattern))
            }
            Expr::SimilarTo { expr, pattern, .. } => {
                inner(expr)?;
                let pattern = inner(pattern)?;
                small(check_pattern(pattern).map(|()| pattern))
            }
            Expr::UnaryOp { op, expr } => match op {
                UnaryOperator::Not
                | UnaryOperator::Minus
                | UnaryOperator::Plus
                | UnaryOperator::BitwiseNot => inner(expr),
                other => Err(unknown(&format!("the operator `{other}`"))),
            },
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::And | BinaryOperator::Or => {
                    self.conditions(expr, op, depth, is_balanced)
                }
                _ => {
                    refuse_row(left)?;
                    refuse_row(right)?;
                    let (left, right) = (inner(left)?, inner(right)?);
                    self.comparisons += usize::from(*op == BinaryOperator::Eq);
                    self.operator(op, left, right)
                }
            },
            Expr::Cast {
                expr,
                data_type,
                kind:
                    CastKind::Cast | CastKind::TryCast | CastKind::SafeCast | CastKind::DoubleColon,
                format: None,
                array: false,
            } => {
                let from = inner(expr)?;
                check_json(data_type, text(expr))?;
                types::cast(from, data_type)
            }
            Expr::TypedString(typed) => {
                let text = match &typed.value.value {
                    Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => text,
                    _ => return Err(unknown("this kind of literal")),
                };
                check_json(&typed.data_type, Some(text))?;
                types::cast(Size::literal(text.len()), &typed.data_type)
            }
            Expr::AtTimeZone {
                timestamp,
                time_zone,
            } => {
                inner(time_zone)?;
                small(inner(timestamp))
            }
            Expr::Extract { expr, .. } | Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => {
                small(inner(expr))
            }
            Expr::Position { expr, r#in } => {
                inner(expr)?;
                small(inner(r#in))
            }
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                for bound in [substring_from, substring_for].into_iter().flatten() {
                    inner(bound)?;
                }
                inner(expr)
            }
            Expr::Trim {
                trim_what,
                expr,
                trim_characters,
                ..
            } => {
                for what in trim_what.iter().map(AsRef::as_ref) {
                    inner(what)?;
                }
                for what in trim_characters.iter().flatten() {
                    inner(what)?;
                }
                inner(expr)
            }
            Expr::Overlay {
                expr,
                overlay_what,
                overlay_from,
                overlay_for,
            } => {
                inner(overlay_from)?;
                if let Some(bound) = overlay_for {
                    inner(bound)?;
                }
                let (whole, what) = (inner(expr)?, inner(overlay_what)?);
                Ok(self.all(&[whole, what]))
            }
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => {
                let mut size = Size::SMALL;
                if let Some(operand) = operand {
                    inner(operand)?;
                }
                for when in conditions {
                    inner(&when.condition)?;
                    size = size.or(inner(&when.result)?);
                }
                if let Some(result) = else_result {
                    size = size.or(inner(result)?);
                }
                Ok(size)
            }
            Expr::Interval(interval) => small(inner(&interval.value)),
            Expr::Array(array) => self.list(array.elem.iter(), depth),
            Expr::Tuple(values) | Expr::Struct { values, .. } => self.list(values.iter(), depth),
            Expr::Dictionary(fields) => {
                self.list(fields.iter().map(|field| field.value.as_ref()), depth)
            }
            Expr::Map(map) => {
                let entries = map.entries.iter();
                let values = entries.flat_map(|entry| [entry.key.as_ref(), entry.value.as_ref()]);
                self.list(values, depth)
            }
            Expr::Named { expr, .. } => inner(expr),
            Expr::CompoundFieldAccess { root, access_chain } => {
                let size = inner(root)?;
                if access_chain.len() > MAX_DEPTH - depth.min(MAX_DEPTH) {
                    return Err(Error::invalid("the expression has too long a path"));
                }
                for access in access_chain {
                    self.access(access, depth)?;
                }
                Ok(size)
            }
            Expr::Function(function) => self.call(function, depth),
            // The content is checked separately as a query.
            Expr::Exists { .. } | Expr::Subquery(_) if is_view => Ok(Size::COLUMN),
            Expr::InSubquery { expr, .. } if is_view => {
                refuse_row(expr)?;
                small(inner(expr))
            }
            Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) if is_view => {
                for part in sets.iter().flatten() {
                    inner(part)?;
                }
                Ok(Size::SMALL)
            }
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } if is_view => {
                inner(left)?;
                small(inner(right))
            }
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) if is_view => Ok(Size::COLUMN),
            Expr::Lambda(_) => Err(Error::invalid(
                "functions that take a lambda, such as array_transform, are not available",
            )),
            _ => Err(unknown("a form")),
        }
    }
}

fn small(inner: Result<Size>) -> Result<Size> {
    inner.map(|_| Size::SMALL)
}

/// The arguments of a call, which have no names.
pub(super) fn argument(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// Regular expressions are compiled: one per row could take any time.
pub(super) fn check_pattern(pattern: Size) -> Result<()> {
    if pattern.is_constant() && pattern.fixed <= MAX_PATTERN {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a regular expression is a text of at most {MAX_PATTERN} bytes"
    )))
}

fn check_json(
    data_type: &datafusion::sql::sqlparser::ast::DataType,
    text: Option<&str>,
) -> Result<()> {
    use datafusion::sql::sqlparser::ast::DataType;
    match (data_type, text) {
        (DataType::JSON | DataType::JSONB, Some(text)) => json::check(text),
        (DataType::JSON | DataType::JSONB, None) => Err(Error::invalid(
            "only a text that is written out can be cast to JSONB",
        )),
        _ => Ok(()),
    }
}

pub(super) fn unknown(what: &str) -> Error {
    Error::invalid(format!("the expression has {what} that is not supported"))
}

/// Whether an operation may take longer for a row than a comparison or arithmetic: a function, a pattern, a new text.
fn is_call(expr: &Expr) -> bool {
    use BinaryOperator as Op;
    match expr {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Value(_)
        | Expr::TypedString(_)
        | Expr::Nested(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InList { .. }
        | Expr::Between { .. }
        | Expr::UnaryOp { .. } => false,
        Expr::BinaryOp { op, .. } => matches!(
            op,
            Op::StringConcat
                | Op::PGRegexMatch
                | Op::PGRegexIMatch
                | Op::PGRegexNotMatch
                | Op::PGRegexNotIMatch
                | Op::PGLikeMatch
                | Op::PGILikeMatch
                | Op::PGNotLikeMatch
                | Op::PGNotILikeMatch
        ),
        _ => true,
    }
}
