//! Expressions in the SQL of Lance, with which workers scan the source of a view.
//!
//! The planner of Lance reads the text of each expression again. Only if it gives the expression of the view's query, the
//! text means the same to the workers.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::utils::split_binary_owned;
use datafusion::logical_expr::{ExprSchemable, Operator, binary_expr};
use datafusion::prelude::Expr;
use datafusion::sql::unparser::Unparser;
use datafusion::sql::unparser::dialect::{CustomDialect, CustomDialectBuilder};
use lance::Dataset;
use lance_datafusion::planner::Planner;

use super::super::schema::is_extension;
use super::plain_columns::has_plain;
use crate::sql::plain_type;

/// Writes expressions in the SQL of Lance.
pub struct LanceSql<'a> {
    source: &'a Dataset,
    schema: DFSchema,
    planner: Planner,
    dialect: CustomDialect,
}

impl<'a> LanceSql<'a> {
    pub fn new(source: &'a Dataset) -> Option<Self> {
        let schema = Arc::new(Schema::from(source.schema()));
        Some(Self {
            source,
            schema: DFSchema::try_from(schema.as_ref().clone()).ok()?,
            planner: Planner::new(schema),
            dialect: CustomDialectBuilder::new()
                .with_identifier_quote_style('`')
                .build(),
        })
    }

    /// An expression for a column of this type.
    pub fn column(&self, own: Expr, data_type: &DataType) -> Option<String> {
        if self.compares_floats(&own) {
            return None;
        }
        let text = self.text(&own)?;
        let read = self.planner.parse_expr(&text).ok()?;
        let read = self.same(own, read)?;
        let (_, field) = read.to_field(&self.schema).ok()?;
        let is_plain = plain_type(field.data_type()) == plain_type(data_type);
        (is_plain && !is_extension(&field)).then_some(text)
    }

    /// Conditions of which all are true. As one chain: Lance bounds how deep a text may be nested.
    pub fn filter(&self, conditions: &[Expr]) -> Option<String> {
        let texts = conditions
            .iter()
            .map(|one| Some(format!("({})", self.text(one)?)));
        let text = texts.collect::<Option<Vec<_>>>()?.join(" AND ");
        // As workers nest it beside the condition for changed rows.
        let nested = format!("(TRUE) AND ({text})");
        self.planner.parse_filter(&nested).ok()?;
        let read = self.planner.parse_filter(&text).ok()?;
        let own = conditions.iter().cloned().reduce(Expr::and)?;
        self.same(own, read).map(|_| text)
    }

    /// Whether a part compares floats: to Lance -0.0 and 0.0 are equal, to DataFusion they are not. A filter runs in Lance
    /// in any case.
    pub fn compares_floats(&self, expression: &Expr) -> bool {
        let is_float = |own: &Expr| {
            let data_type = own.get_type(&self.schema);
            data_type.is_ok_and(|data_type| data_type.is_floating())
        };
        let mut found = false;
        let walked = expression.apply(|part| {
            found |= match part {
                Expr::BinaryExpr(own) if own.op.supports_propagation() => {
                    is_float(&own.left) || is_float(&own.right)
                }
                Expr::Between(own) => {
                    is_float(&own.expr) || is_float(&own.low) || is_float(&own.high)
                }
                Expr::InList(own) => is_float(&own.expr) || own.list.iter().any(is_float),
                _ => false,
            };
            Ok(TreeNodeRecursion::Continue)
        });
        found || walked.is_err()
    }

    fn text(&self, expression: &Expr) -> Option<String> {
        let columns = expression.column_refs();
        let mut columns = columns.iter();
        let is_plain = columns.all(|column| has_plain(self.source, column.name()));
        let written = Unparser::new(&self.dialect).expr_to_sql(expression).ok()?;
        is_plain.then(|| written.to_string())
    }

    /// What Lance reads, if it is the expression of the query.
    fn same(&self, own: Expr, read: Expr) -> Option<Expr> {
        let own = self.planner.optimize_expr(own).ok()?;
        let read = self.planner.optimize_expr(read).ok()?;
        let is_same = chained(own).ok()? == chained(read.clone()).ok()?;
        is_same.then_some(read)
    }
}

/// The same with each sequence of AND or of OR as one chain from the left: Lance makes balanced trees of them.
fn chained(expression: Expr) -> datafusion::error::Result<Expr> {
    let operator = match &expression {
        Expr::BinaryExpr(own) if matches!(own.op, Operator::And | Operator::Or) => own.op,
        _ => {
            let children = expression.map_children(|child| chained(child).map(Transformed::yes));
            return Ok(children?.data);
        }
    };
    let mut parts = split_binary_owned(expression, operator).into_iter();
    let first = chained(parts.next().unwrap_or_default())?;
    parts.try_fold(first, |chain, part| {
        Ok(binary_expr(chain, operator, chained(part)?))
    })
}
