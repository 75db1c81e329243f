//! The declaration of a computed column in its field's metadata.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema as ArrowSchema};
use datafusion::physical_plan::PhysicalExpr;
use lance::Dataset;
use lance_core::datatypes::{Field, Schema};
use lance_datafusion::planner::Planner;

use super::Backfill;
use super::slices::Slices;
use crate::error::{Code, Error, Result};
use crate::planning::planned;
use crate::schema::columns::unknown_column;
use crate::schema::expression::Expression;
use crate::schema::predicate;
use crate::schema::{Arguments, Evaluation, FunctionColumn};
use crate::table::{COMPUTED, EXPRESSION, KIND, SQL};

/// A column and its computation.
pub struct Binding {
    /// The schema of only this column, as in the table.
    pub target: Schema,
    pub data_type: DataType,
    pub nullable: bool,
    /// The columns to read: the column itself, and the inputs of its computation and of the condition.
    pub inputs: Schema,
    pub computation: Computation,
    /// The arguments of a function.
    pub arguments: Arguments,
    pub condition: Option<Arc<dyn PhysicalExpr>>,
    /// The same in SQL.
    pub condition_sql: Option<String>,
    /// The size of the results of both; `None` if it is negligible.
    pub evaluation: Option<Evaluation>,
    /// Of the evaluation of both.
    pub slices: Slices,
}

/// What computes the values.
pub enum Computation {
    Sql {
        /// As declared.
        declared: String,
        expression: Arc<dyn PhysicalExpr>,
    },
    Function(FunctionColumn),
}

impl Binding {
    /// As [`of`](Self::of), on a planning thread.
    pub async fn planned(dataset: &Arc<Dataset>, backfill: &Backfill) -> Result<Self> {
        let (dataset, backfill) = (dataset.clone(), backfill.clone());
        planned(async move { Self::of(&dataset, &backfill) }).await
    }

    /// Plans the expressions for a version of the table. A computation of another kind than SQL or a Python function is
    /// code 0.
    fn of(dataset: &Dataset, backfill: &Backfill) -> Result<Self> {
        let field = find(dataset, &backfill.column)?;
        let declared = declared(field)?;
        let mut computes = Vec::new();
        if let Declared::Sql(sql) = &declared {
            computes.push(Expression::new(sql)?);
        }
        if let Some(sql) = backfill
            .predicate
            .as_deref()
            .filter(|sql| !sql.trim().is_empty())
        {
            computes.push(Expression::new(sql)?);
        }
        let condition = match backfill.predicate.as_deref() {
            Some(sql) => Some(predicate::checked(dataset, sql)?),
            None => None,
        };
        let arguments = match &declared {
            Declared::Sql(_) => Arguments::default(),
            Declared::Function(function) => {
                Arguments::of(dataset.schema(), "table", &function.inputs)?
            }
        };
        let inputs = inputs(dataset, field, &declared, condition.as_deref())?;
        let planner = Planner::new(Arc::new(ArrowSchema::from(&inputs)));
        let computation = match declared {
            Declared::Sql(sql) => Computation::Sql {
                expression: planner
                    .parse_expr(Expression::new(&sql)?.sql())
                    .and_then(|expr| planner.optimize_expr(expr))
                    .and_then(|expr| planner.create_physical_expr(&expr))
                    .map_err(Error::of_input)?,
                declared: sql,
            },
            Declared::Function(function) => Computation::Function(function),
        };
        let condition_sql = condition;
        let condition = condition_sql
            .as_deref()
            .map(|sql| {
                planner
                    .parse_filter(sql)
                    .and_then(|expr| planner.optimize_expr(expr))
                    .and_then(|expr| planner.create_physical_expr(&expr))
                    .map_err(Error::of_input)
            })
            .transpose()?;
        Ok(Self {
            target: dataset.schema().project(&[&field.name])?,
            data_type: field.data_type(),
            nullable: field.nullable,
            inputs,
            computation,
            arguments,
            condition,
            condition_sql,
            evaluation: Evaluation::of_scan(dataset, &computes),
            slices: Slices::default(),
        })
    }

    /// The column's name.
    pub fn name(&self) -> &str {
        self.target.fields.first().map_or("", |field| &field.name)
    }

    /// The fields that the computation reads, without the column itself.
    pub fn input_ids(&self) -> Vec<i32> {
        let target = self.target.field_ids();
        let mut ids = self.inputs.field_ids();
        ids.retain(|id| !target.contains(id));
        ids
    }

    /// Whether two bindings compute the same values for the same column.
    pub fn is_same(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    /// What is computed, and from which columns. It differs for two bindings that compute other values.
    pub fn identity(&self) -> String {
        let fields = self.target.fields.iter().chain(&self.inputs.fields);
        let columns: Vec<_> = fields
            .map(|field| (field.id, field.data_type(), field.nullable))
            .collect();
        match &self.computation {
            Computation::Sql { declared, .. } => format!("{declared:?} {columns:?}"),
            Computation::Function(function) => format!("{function:?} {columns:?}"),
        }
    }
}

/// The column at a path: only top-level columns can be computed.
pub fn find<'a>(dataset: &'a Dataset, path: &str) -> Result<&'a Field> {
    let fields = dataset
        .schema()
        .resolve_case_insensitive(path)
        .ok_or_else(|| unknown_column(dataset, path))?;
    match fields.as_slice() {
        [field] => dataset
            .schema()
            .field(&field.name)
            .ok_or_else(|| unknown_column(dataset, path)),
        _ => Err(not_computed(path)),
    }
}

/// Rejects a column without a declared computation.
pub fn check_computed(field: &Field) -> Result<()> {
    let is_declared = is_set(field, COMPUTED) && field.metadata.contains_key(KIND);
    if is_declared || FunctionColumn::of(field)?.is_some() {
        return Ok(());
    }
    Err(not_computed(&field.name))
}

/// The declaration of a column.
enum Declared {
    Sql(String),
    Function(FunctionColumn),
}

fn declared(field: &Field) -> Result<Declared> {
    if let Some(kind) = field.metadata.get(KIND)
        && is_set(field, COMPUTED)
    {
        return match field.metadata.get(EXPRESSION) {
            Some(sql) if kind == SQL => Ok(Declared::Sql(sql.clone())),
            _ => Err(Error::new(
                Code::Unsupported,
                format!(
                    "column `{}` is a computed column of the kind `{kind}`, and this server computes \
                     SQL expressions and virtual columns only",
                    field.name
                ),
            )),
        };
    }
    let function = FunctionColumn::of(field)?;
    function
        .map(Declared::Function)
        .ok_or_else(|| not_computed(&field.name))
}

/// Whether a SQL expression computes the column.
pub fn is_computed_with_sql(field: &Field) -> bool {
    is_set(field, COMPUTED) && field.metadata.get(KIND).is_some_and(|kind| kind == SQL)
}

fn is_set(field: &Field, key: &str) -> bool {
    field.metadata.get(key).is_some_and(|value| value == "true")
}

fn not_computed(path: &str) -> Error {
    Error::invalid(format!(
        "column `{path}` is not a computed column: a backfill needs a column that was added with \
         computed or virtual_column"
    ))
}

/// The columns to read, in the table's order.
fn inputs(
    dataset: &Dataset,
    target: &Field,
    computation: &Declared,
    condition: Option<&str>,
) -> Result<Schema> {
    let schema = dataset.schema();
    let planner = Planner::new(Arc::new(ArrowSchema::from(schema)));
    let mut names = vec![target.name.clone()];
    let mut read = match computation {
        Declared::Sql(sql) => planner
            .parse_expr(Expression::new(sql)?.sql())
            .map(|expr| Planner::column_names_in_expr(&expr))
            .map_err(Error::of_input)?,
        Declared::Function(function) => function.inputs.clone(),
    };
    if let Some(condition) = condition {
        let expr = planner.parse_filter(condition).map_err(Error::of_input)?;
        read.extend(Planner::column_names_in_expr(&expr));
    }
    for path in read {
        let root = schema
            .resolve_case_insensitive(&path)
            .and_then(|fields| fields.first().map(|field| field.name.clone()))
            .ok_or_else(|| unknown_column(dataset, &path))?;
        names.push(root);
    }
    let wanted: Vec<&str> = schema
        .fields
        .iter()
        .map(|field| field.name.as_str())
        .filter(|name| names.iter().any(|wanted| wanted == name))
        .collect();
    Ok(schema.project(&wanted)?)
}
