//! Sibling nodes: conditions, operands, items of lists, and the parts of a path.

use datafusion::sql::sqlparser::ast::{AccessExpr, BinaryOperator, Expr, Subscript};

use super::literals::number;
use super::size::Size;
use super::walk::{Walk, check_pattern, unknown};
use crate::error::{Error, Result};

/// Sibling ANDs and ORs where DataFusion plans them, which does not balance them.
const MAX_UNBALANCED: usize = 1_000;

impl Walk {
    /// A chain of ANDs or of ORs of any length: its left sides are walked without recursion.
    pub(super) fn conditions(
        &mut self,
        expr: &Expr,
        op: &BinaryOperator,
        depth: usize,
        is_balanced: bool,
    ) -> Result<Size> {
        let mut rest = vec![expr];
        let mut count = 0;
        while let Some(expr) = rest.pop() {
            match expr {
                Expr::BinaryOp {
                    left,
                    op: own,
                    right,
                } if own == op => rest.extend([right.as_ref(), left.as_ref()]),
                operand => {
                    count += 1;
                    if !is_balanced && count > MAX_UNBALANCED {
                        return Err(Error::invalid(format!(
                            "the expression joins more than {MAX_UNBALANCED} conditions inside of a \
                             function or view; compare with a list instead: column IN (…)"
                        )));
                    }
                    self.expr(operand, depth, is_balanced)?;
                }
            }
        }
        Ok(Size::SMALL)
    }

    pub(super) fn operator(
        &mut self,
        op: &BinaryOperator,
        left: Size,
        right: Size,
    ) -> Result<Size> {
        use BinaryOperator as Op;
        match op {
            Op::StringConcat => {
                self.expand([&left, &right]);
                Ok(self.all(&[left, right]))
            }
            Op::PGRegexMatch | Op::PGRegexIMatch | Op::PGRegexNotMatch | Op::PGRegexNotIMatch => {
                check_pattern(right).map(|()| Size::SMALL)
            }
            Op::Plus
            | Op::Minus
            | Op::Multiply
            | Op::Divide
            | Op::Modulo
            | Op::Gt
            | Op::Lt
            | Op::GtEq
            | Op::LtEq
            | Op::Eq
            | Op::NotEq
            | Op::BitwiseOr
            | Op::BitwiseAnd
            | Op::BitwiseXor
            | Op::PGBitwiseXor
            | Op::PGBitwiseShiftLeft
            | Op::PGBitwiseShiftRight
            | Op::MyIntegerDivide
            | Op::PGLikeMatch
            | Op::PGILikeMatch
            | Op::PGNotLikeMatch
            | Op::PGNotILikeMatch
            | Op::AtArrow
            | Op::ArrowAt => Ok(Size::SMALL),
            other => Err(unknown(&format!("the operator `{other}`"))),
        }
    }

    /// Concatenated values.
    pub(super) fn all(&mut self, parts: &[Size]) -> Size {
        let joined = parts.iter().filter(|part| !part.is_constant()).count() as u64;
        self.operands += joined.saturating_sub(1);
        let sum = |sum: Size, part: &Size| sum.plus(*part);
        parts.iter().fold(Size::default(), sum)
    }

    pub(super) fn list<'a>(
        &mut self,
        items: impl Iterator<Item = &'a Expr>,
        depth: usize,
    ) -> Result<Size> {
        let mut sizes = Vec::new();
        for item in items {
            let size = self.expr(item, depth, false)?;
            // Numbers take eight bytes here, and lists of them are long.
            sizes.push(match number(item) {
                true => Size::literal(8),
                false => size,
            });
        }
        Ok(self.all(&sizes))
    }

    pub(super) fn access(&mut self, access: &AccessExpr, depth: usize) -> Result<()> {
        match access {
            AccessExpr::Dot(Expr::Identifier(_)) => Ok(()),
            AccessExpr::Subscript(Subscript::Index { index }) => {
                self.expr(index, depth, false).map(drop)
            }
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride,
            }) => {
                for bound in [lower_bound, upper_bound, stride].into_iter().flatten() {
                    self.expr(bound, depth, false)?;
                }
                Ok(())
            }
            AccessExpr::Dot(_) => Err(unknown("a path that is no path of names")),
        }
    }
}
