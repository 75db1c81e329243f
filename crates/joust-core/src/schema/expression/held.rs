//! The memory of an expression's evaluation at one moment.

use datafusion::sql::sqlparser::ast::Expr;

use super::size::Size;
use super::walk::Walk;

impl Walk {
    /// Counts the value of an expression. During its computation, its operands are in memory too; afterwards only the
    /// value is. `before`: the memory before its operands.
    pub(super) fn hold(&mut self, expr: &Expr, size: Size, before: Size) {
        let made = match expr {
            Expr::Identifier(name) if name.quote_style != Some('\'') => {
                self.columns.insert(name.value.clone());
                Size::default()
            }
            Expr::CompoundIdentifier(path) => {
                self.columns
                    .extend(path.first().map(|name| name.value.clone()));
                Size::default()
            }
            // They are not copied for each row.
            Expr::Identifier(_) | Expr::Value(_) | Expr::TypedString(_) | Expr::Interval(_) => {
                Size::default()
            }
            Expr::Nested(_) => return,
            _ => size.without_small(),
        };
        self.peak = self.peak.or(self.held.plus(made));
        self.held = before.plus(made);
    }

    /// Counts the constants among operands as DataFusion expands them: to a value for each row.
    pub(super) fn expand<'a>(&mut self, operands: impl IntoIterator<Item = &'a Size>) {
        for operand in operands {
            if operand.is_constant() {
                self.held = self.held.plus(operand.without_small());
            }
        }
    }
}
