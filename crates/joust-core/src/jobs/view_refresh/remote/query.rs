//! The query of a view in the SQL of Lance, with which workers scan its source.
//!
//! The planner of Lance reads the text of each expression again. Only if it gives the expression of the view's query, the
//! text means the same to the workers.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::utils::{split_binary_owned, split_conjunction_owned};
use datafusion::logical_expr::{ExprSchemable, LogicalPlan, Operator, binary_expr};
use datafusion::prelude::Expr;
use datafusion::sql::unparser::Unparser;
use datafusion::sql::unparser::dialect::{CustomDialect, CustomDialectBuilder};
use lance::Dataset;
use lance_core::datatypes::Field;
use lance_core::{ROW_ADDR, ROW_ID};
use lance_datafusion::planner::Planner;

use super::super::schema::is_extension;
use crate::error::Result;
use crate::planning::planned;
use crate::sql::plain_type;

/// The most parts of all expressions: a nested query may repeat those of the inner one many times.
const MOST_PARTS: usize = 10_000;

/// The query of a view over one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerQuery {
    /// The columns of the result: name and expression.
    pub columns: Vec<(String, String)>,
    /// Only rows for which it is true.
    pub filter: Option<String>,
}

impl WorkerQuery {
    /// The query of a row-wise plan; `None`: Lance has no such expressions, or reads columns of this kind in another form.
    fn of(plan: &LogicalPlan, source: &Dataset) -> Option<Self> {
        let Expressions {
            columns,
            conditions,
        } = Expressions::of(plan)?;
        let lance = LanceSql::new(source)?;
        let columns = columns
            .into_iter()
            .zip(plan.schema().fields())
            .map(|((name, own), field)| {
                let is_own = name == ROW_ID || name == ROW_ADDR;
                let text = lance.column(own, field.data_type()).filter(|_| !is_own);
                Some((name, text?))
            })
            .collect::<Option<_>>()?;
        let conditions: Vec<Expr> = conditions
            .into_iter()
            .flat_map(split_conjunction_owned)
            .collect();
        let filter = match conditions.is_empty() {
            false => Some(lance.filter(&conditions)?),
            true => None,
        };
        Some(Self { columns, filter })
    }
}

/// The query of a row-wise plan for workers; `None`: they cannot scan the source with it.
pub async fn worker_query(plan: &DataFrame, source: &Arc<Dataset>) -> Result<Option<WorkerQuery>> {
    let (plan, source) = (plan.logical_plan().clone(), source.clone());
    planned(async move { Ok(WorkerQuery::of(&plan, &source)) }).await
}

/// The result of a plan, in expressions over the columns of its only table.
struct Expressions {
    columns: Vec<(String, Expr)>,
    conditions: Vec<Expr>,
}

impl Expressions {
    fn of(plan: &LogicalPlan) -> Option<Self> {
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

/// Writes expressions in the SQL of Lance.
struct LanceSql<'a> {
    source: &'a Dataset,
    schema: DFSchema,
    planner: Planner,
    dialect: CustomDialect,
}

impl<'a> LanceSql<'a> {
    fn new(source: &'a Dataset) -> Option<Self> {
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
    fn column(&self, own: Expr, data_type: &DataType) -> Option<String> {
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
    fn filter(&self, conditions: &[Expr]) -> Option<String> {
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
    fn compares_floats(&self, expression: &Expr) -> bool {
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
                Expr::Between(own) => is_float(&own.expr),
                Expr::InList(own) => is_float(&own.expr),
                _ => false,
            };
            Ok(TreeNodeRecursion::Continue)
        });
        found || walked.is_err()
    }

    fn text(&self, expression: &Expr) -> Option<String> {
        let columns = expression.column_refs();
        let mut columns = columns.iter();
        let is_plain = columns.all(|column| {
            let mut fields = self.source.schema().fields.iter();
            fields.any(|field| field.name == column.name() && is_plain(field))
        });
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

/// Whether a scan of Lance gives the values as they are: not those of blobs and of extension types, such as JSON.
fn is_plain(field: &Field) -> bool {
    let own = arrow::datatypes::Field::from(field);
    !field.is_blob()
        && !field.is_blob_v2()
        && !is_extension(&own)
        && field.children.iter().all(is_plain)
}
