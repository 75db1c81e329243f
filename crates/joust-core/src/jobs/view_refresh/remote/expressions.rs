//! The query of a view over one table, as expressions over the columns of that table.

use std::collections::HashMap;

use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::Expr;

/// The most parts of all expressions: a nested query may repeat those of the inner one many times.
const MOST_PARTS: usize = 10_000;

/// The result of a plan, in expressions over the columns of its only table.
pub struct Expressions {
    /// Names and values.
    pub columns: Vec<(String, Expr)>,
    /// All of them are true.
    pub conditions: Vec<Expr>,
}

impl Expressions {
    /// `None`: the plan is not row-wise, or too large.
    pub fn of(plan: &LogicalPlan) -> Option<Self> {
        Some(match plan {
            LogicalPlan::TableScan(scan) => {
                let fields = scan.projected_schema.fields().iter();
                let columns = fields.map(|field| {
                    let column = Expr::Column(Column::from_name(field.name()));
                    (field.name().clone(), column)
                });
                Self {
                    columns: columns.collect(),
                    conditions: scan.filters.iter().map(unqualified).collect(),
                }
            }
            LogicalPlan::SubqueryAlias(alias) => Self::of(&alias.input)?,
            LogicalPlan::Projection(projection) => {
                let input = Self::of(&projection.input)?;
                let fields = projection.schema.fields().iter();
                let columns = input.replaced(&projection.expr)?;
                Self {
                    columns: fields
                        .map(|field| field.name().clone())
                        .zip(columns)
                        .collect(),
                    conditions: input.conditions,
                }
            }
            LogicalPlan::Filter(filter) => {
                let mut input = Self::of(&filter.input)?;
                let condition = input.replaced(std::slice::from_ref(&filter.predicate))?;
                input.conditions.extend(condition);
                input
            }
            _ => return None,
        })
    }

    /// Expressions over these columns, as expressions over the columns of the table.
    fn replaced(&self, expressions: &[Expr]) -> Option<Vec<Expr>> {
        let own: HashMap<&str, &Expr> = self
            .columns
            .iter()
            .map(|(name, own)| (name.as_str(), own))
            .collect();
        let mut count = 0;
        for expression in expressions {
            let walked = expression.apply(|part| {
                count += match part {
                    Expr::Column(column) => own.get(column.name()).map_or(1, |own| parts(own)),
                    _ => 1,
                };
                Ok(match count <= MOST_PARTS {
                    true => TreeNodeRecursion::Continue,
                    false => TreeNodeRecursion::Stop,
                })
            });
            walked.ok().filter(|_| count <= MOST_PARTS)?;
        }
        let replaced = expressions.iter().map(|expression| {
            let expression = expression.clone().unalias_nested().data;
            let mut is_complete = true;
            let replaced = expression.transform(|part| {
                let Expr::Column(column) = &part else {
                    return Ok(Transformed::no(part));
                };
                let found = own.get(column.name()).map(|own| (*own).clone());
                is_complete &= found.is_some();
                Ok(Transformed::yes(found.unwrap_or(part)))
            });
            let replaced = replaced.ok()?.data;
            is_complete.then_some(replaced)
        });
        replaced.collect()
    }
}

fn unqualified(expression: &Expr) -> Expr {
    let transformed = expression.clone().transform(|part| {
        Ok(match part {
            Expr::Column(column) => {
                Transformed::yes(Expr::Column(Column::from_name(column.name())))
            }
            other => Transformed::no(other),
        })
    });
    transformed.map_or_else(|_| expression.clone(), |transformed| transformed.data)
}

fn parts(expression: &Expr) -> usize {
    let mut count = 0;
    let walked = expression.apply(|_| {
        count += 1;
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_or(MOST_PARTS, |_| count)
}
