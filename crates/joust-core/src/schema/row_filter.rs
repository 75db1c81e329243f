//! Row filters: which rows of a table one caller may use.
//!
//! A filter and a condition of the caller are parsed separately and joined as expressions. Lance may evaluate the
//! condition also for rows that the filter hides, so the condition must be [total](super::total): otherwise an error
//! would reveal their values.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{PhysicalExpr, SendableRecordBatchStream};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use futures::StreamExt;
use lance::Dataset;
use lance_arrow::FieldExt;
use lance_arrow::json::is_json_field;
use lance_datafusion::planner::Planner;

use super::expression::Expression;
use super::predicate::{Is, Value, comparisons};
use super::total;
use crate::error::{Code, Error, Result};
use crate::planning::planned;

/// A condition that every row meets which the caller may use. A row for which it is null is hidden.
#[derive(Debug, Clone)]
pub struct RowFilter(Expression);

impl RowFilter {
    /// The rows that any of the conditions admits.
    pub fn any(conditions: &[String]) -> Result<Self> {
        let mut conditions = conditions
            .iter()
            .map(|condition| Expression::new(condition));
        let Some(first) = conditions.next() else {
            return Err(Error::invalid("a row filter needs a condition"));
        };
        let any = conditions.try_fold(first?, |any, next| any.joined(&BinaryOperator::Or, &next?));
        any?.with_decided_nulls().map(Self)
    }

    /// The filter and a condition, as SQL for Lance.
    pub fn and(&self, condition: Option<&str>) -> Result<String> {
        let both = match condition {
            Some(condition) => self
                .0
                .joined(&BinaryOperator::And, &Expression::new(condition)?)?,
            None => self.0.clone(),
        };
        Ok(both.sql().to_string())
    }

    /// Checks that the filter applies to a version, and that a condition of the caller reveals nothing of hidden rows.
    /// Both are planned where that may take long.
    pub async fn admit(&self, dataset: &Arc<Dataset>, condition: Option<&str>) -> Result<()> {
        let (own, dataset) = (self.clone(), dataset.clone());
        let condition = condition.map(Expression::new).transpose()?;
        planned(async move {
            own.tree(&dataset).map_err(|_| no_longer_applies())?;
            match condition {
                Some(condition) => total::check(&dataset, &condition).map(drop),
                None => Ok(()),
            }
        })
        .await
    }

    /// Checks that the filter applies to a version. The caller that grants the filter runs this check.
    pub async fn check(&self, dataset: &Arc<Dataset>) -> Result<()> {
        let (own, dataset) = (self.clone(), dataset.clone());
        planned(async move { own.tree(&dataset).map(drop) }).await
    }

    /// The filter for a scan of a version. Code 15 if it does not apply to it.
    pub async fn expression(&self, dataset: &Arc<Dataset>) -> Result<Expr> {
        let (own, dataset) = (self.clone(), dataset.clone());
        planned(async move { own.tree(&dataset).map_err(|_| no_longer_applies()) }).await
    }

    /// Whether the filter reads the same columns in two versions: one may have been renamed. Code 15 if it does not apply
    /// to the later one.
    pub fn reads_same_columns(&self, earlier: &Dataset, later: &Dataset) -> Result<bool> {
        let read = self.columns(later).map_err(|_| no_longer_applies())?;
        let fields = |dataset: &Dataset, name: &str| -> Option<Vec<(i32, String)>> {
            let column = dataset.schema().field(name)?;
            let mut found = Vec::new();
            let mut fields = vec![column];
            while let Some(field) = fields.pop() {
                found.push((field.id, field.name.clone()));
                fields.extend(&field.children);
            }
            Some(found)
        };
        Ok(read.iter().all(|column| {
            let name = column.name();
            fields(earlier, name).is_some_and(|before| Some(before) == fields(later, name))
        }))
    }

    /// Whether the filter reads a top-level column.
    pub fn reads(&self, dataset: &Dataset, column: &str) -> Result<bool> {
        let read = self.columns(dataset).map_err(|_| no_longer_applies())?;
        Ok(read
            .iter()
            .any(|own| own.name().eq_ignore_ascii_case(column)))
    }

    /// The top-level columns that have one value in all rows which the filter admits; `None` if the filter has a
    /// condition that does not say so. A text and an integer only: values of other types may be equal and look different.
    pub fn fixed_columns(&self, dataset: &Dataset) -> Option<Vec<String>> {
        let comparisons = comparisons(self.0.sql())?;
        let mut columns: Vec<String> = Vec::new();
        for comparison in comparisons {
            let path = dataset
                .schema()
                .resolve_case_insensitive(&comparison.column)?;
            let [field] = path.as_slice() else {
                return None;
            };
            let data_type = field.data_type();
            let is_fixed = match &comparison.is {
                Is::OneOf(values) => match values.as_slice() {
                    [Value::Integer(_)] => data_type.is_integer(),
                    [Value::Text(_)] => is_plain_text(&Field::from(*field)),
                    _ => false,
                },
                Is::Compared(..) => false,
            };
            if !is_fixed {
                return None;
            }
            if !columns.contains(&field.name) {
                columns.push(field.name.clone());
            }
        }
        Some(columns)
    }

    /// The top-level columns that the filter reads, if each is one of these keys: rows with equal keys are on the same
    /// side of the filter. `None` if it reads another column, or one whose values may be equal and look different.
    pub fn key_columns(&self, dataset: &Dataset, keys: &[String]) -> Result<Option<Vec<String>>> {
        let read = self.columns(dataset).map_err(|_| no_longer_applies())?;
        let is_exact = |field: &Field| {
            let data_type = field.data_type();
            data_type.is_integer() || *data_type == DataType::Boolean || is_plain_text(field)
        };
        let are_keys = read
            .iter()
            .all(|field| is_exact(field) && keys.contains(field.name()));
        Ok(are_keys.then(|| read.iter().map(|field| field.name().clone()).collect()))
    }

    /// The rows of an upload. They end with an error (code 15) at the first one that the filter hides.
    pub fn check_inserted(
        &self,
        dataset: &Dataset,
        rows: SendableRecordBatchStream,
    ) -> Result<SendableRecordBatchStream> {
        let condition = self.condition(dataset)?;
        let uploaded = rows.schema();
        let checked = rows.map(move |batch| {
            let batch = batch?;
            match condition.admits(&batch) {
                Ok(true) => Ok(batch),
                Ok(false) => Err(DataFusionError::External(Box::new(hidden_row()))),
                Err(error) => Err(DataFusionError::External(Box::new(error))),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(uploaded, checked)))
    }

    /// The filter for rows in memory. Code 15 if it does not apply to this version.
    pub fn condition(&self, dataset: &Dataset) -> Result<RowCondition> {
        let (tree, columns) = self
            .tree(dataset)
            .and_then(|tree| Ok((tree, self.columns(dataset)?)))
            .map_err(|_| no_longer_applies())?;
        let schema = Arc::new(Schema::new(columns));
        let condition = Planner::new(schema.clone())
            .create_physical_expr(&tree)
            .map_err(|_| no_longer_applies())?;
        Ok(RowCondition { condition, schema })
    }

    fn tree(&self, dataset: &Dataset) -> Result<Expr> {
        let tree = total::check(dataset, &self.0)?;
        self.columns_of(dataset, &tree)?;
        Ok(tree)
    }

    /// The top-level columns that the filter reads.
    fn columns(&self, dataset: &Dataset) -> Result<Vec<Field>> {
        self.columns_of(dataset, &total::check(dataset, &self.0)?)
    }

    fn columns_of(&self, dataset: &Dataset, tree: &Expr) -> Result<Vec<Field>> {
        let read = fields(dataset, tree)?;
        if !read.is_empty() {
            return Ok(read);
        }
        // Lance has simplified the condition to a constant.
        let schema = Arc::new(Schema::from(dataset.schema()));
        let written = Planner::new(schema).parse_filter(self.0.sql());
        let read = fields(dataset, &written.map_err(Error::of_input)?)?;
        match read.is_empty() {
            true => Err(Error::invalid(
                "the row filter reads no column; text is in single quotes, and a name in backticks",
            )),
            false => Ok(read),
        }
    }
}

/// The top-level columns of the table that an expression reads. Error: it reads one that Lance adds.
fn fields(dataset: &Dataset, tree: &Expr) -> Result<Vec<Field>> {
    let table = Schema::from(dataset.schema());
    let mut read: Vec<Field> = Vec::new();
    for path in Planner::column_names_in_expr(tree) {
        let root = path.split('.').next().unwrap_or_default();
        let field = table.field_with_name(&path);
        let Ok(field) = field.or_else(|_| table.field_with_name(root)) else {
            return Err(Error::invalid(format!(
                "a row filter reads columns of the table; `{path}` is none"
            )));
        };
        if !read.contains(field) {
            read.push(field.clone());
        }
    }
    Ok(read)
}

/// A row filter, planned for the columns of one version.
pub struct RowCondition {
    condition: Arc<dyn PhysicalExpr>,
    /// The columns that the condition reads.
    schema: Arc<Schema>,
}

impl RowCondition {
    /// The top-level columns that the filter reads.
    pub fn columns(&self) -> Vec<&str> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().as_str()).collect()
    }

    /// Whether rows in memory have the values of the columns: of JSON and blobs they have another form than Lance
    /// filters.
    pub fn reads_values(&self) -> bool {
        let mut fields = self.schema.fields().iter();
        !fields.any(|field| has_other_form(field))
    }

    /// Whether the filter admits every row of a batch. A column that the batch does not have is null.
    pub fn admits(&self, batch: &RecordBatch) -> Result<bool> {
        let fields = self.schema.fields();
        let columns = fields.iter().map(|field| uploaded(batch, field));
        let columns: Vec<_> = columns.collect::<Result<_>>()?;
        // A missing column is null, whatever the table allows.
        let nullable = fields.iter();
        let nullable = nullable.map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Schema::new(nullable.collect::<Vec<_>>());
        let read = RecordBatch::try_new(Arc::new(schema), columns)?;
        let admitted = self
            .condition
            .evaluate(&read)
            .and_then(|admitted| admitted.into_array(batch.num_rows()))
            .map_err(|error| Error::of_input(lance::Error::from(error)))?;
        let admitted = admitted.as_boolean_opt();
        Ok(admitted.is_some_and(|admitted| admitted.true_count() == batch.num_rows()))
    }
}

/// Whether Lance filters another form of a column than it returns.
fn has_other_form(field: &Field) -> bool {
    let is_below = match field.data_type() {
        DataType::Struct(fields) => fields.iter().any(|field| has_other_form(field)),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            has_other_form(item)
        }
        _ => false,
    };
    is_below || field.is_blob() || is_json_field(field)
}

fn hidden_row() -> Error {
    Error::new(
        Code::PermissionDenied,
        "a row does not match the row filter of your grant; no row is inserted",
    )
}

/// The values of a column in an upload, as the table will store them.
fn uploaded(batch: &RecordBatch, field: &Field) -> Result<ArrayRef> {
    let schema = batch.schema();
    let named = schema.fields().iter().enumerate();
    let named = named.filter(|(_, own)| own.name().eq_ignore_ascii_case(field.name()));
    let named: Vec<_> = named.collect();
    let (position, own) = match named.as_slice() {
        [] => return Ok(new_null_array(field.data_type(), batch.num_rows())),
        [(position, own)] if own.name() == field.name() => (*position, own),
        _ => {
            return Err(Error::invalid(format!(
                "a caller with a row filter sends the column `{}` once, in this spelling",
                field.name()
            )));
        }
    };
    let values = batch.column(position);
    if own.data_type() == field.data_type() {
        return Ok(values.clone());
    }
    if is_text(own.data_type()) && is_text(field.data_type()) {
        return Ok(cast(values, field.data_type())?);
    }
    Err(Error::invalid(format!(
        "a caller with a row filter sends the column `{}` with the type of the table",
        field.name()
    )))
}

/// Whether a column of the table has texts as its values.
fn is_plain_text(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8) && !is_json_field(field)
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        other => matches!(
            other,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        ),
    }
}

fn no_longer_applies() -> Error {
    Error::new(
        Code::PermissionDenied,
        "the row filter of your grant does not apply to the columns of this table: ask for another grant",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(conditions: &[&str]) -> Result<RowFilter> {
        let conditions: Vec<_> = conditions.iter().map(ToString::to_string).collect();
        RowFilter::any(&conditions)
    }

    #[test]
    fn joined_conditions_keep_their_meaning() {
        let rows = any(&["tenant = 'a' OR tenant = 'b'"]).unwrap();
        assert_eq!(
            rows.and(Some("x = 1 OR true")).unwrap(),
            "( ( tenant = 'a' OR tenant = 'b' ) AND ( x = 1 OR true ) )"
        );
        let several = any(&["a = 1 AND b = 1", "c = 1"]).unwrap();
        assert_eq!(
            several.and(Some("d = 1")).unwrap(),
            "( ( ( a = 1 AND b = 1 ) OR ( c = 1 ) ) AND ( d = 1 ) )"
        );
    }

    #[test]
    fn a_text_that_is_no_whole_condition_is_refused() {
        let rows = any(&["tenant = 'a'"]).unwrap();
        for text in [
            "x = 1) OR (true",
            "true --",
            "true /*",
            "",
            " ",
            "x; y",
            "'",
            "(x",
        ] {
            assert!(rows.and(Some(text)).is_err(), "{text}");
            assert!(any(&[text]).is_err(), "{text}");
        }
        assert!(any(&[]).is_err());
    }
}
