//! Expressions over a text score, which is not a column of the table.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::physical_plan::PhysicalExpr;
use lance::Dataset;
use lance_arrow::json::{JsonArray, is_json_field};
use lance_datafusion::planner::Planner;

use super::SCORE;
use crate::error::{Error, Result};

/// An expression over the score and table columns, by their names in it.
pub struct Computed {
    expression: Arc<dyn PhysicalExpr>,
    inputs: Vec<(Field, usize)>,
}

impl Computed {
    /// `None`: the expression does not use the score. `take` requests a table column and returns its position among the
    /// read columns.
    pub fn new(
        dataset: &Dataset,
        sql: &str,
        mut take: impl FnMut(String) -> usize,
    ) -> Result<Option<Self>> {
        let table = Schema::from(dataset.schema());
        let own = table.fields().iter();
        let mut fields: Vec<Field> = own
            .filter(|field| field.name() != SCORE)
            .map(|field| (**field).clone())
            .collect();
        fields.push(score_field());
        let all = Arc::new(Schema::new(fields));
        let planner = Planner::new(all.clone());
        let expression = planner
            .parse_expr(sql)
            .and_then(|expression| planner.optimize_expr(expression))
            .map_err(Error::of_input)?;
        let columns = Planner::column_names_in_expr(&expression);
        if !columns.iter().any(|path| path == SCORE) {
            return Ok(None);
        }
        let mut inputs = Vec::new();
        let mut used = vec![score_field()];
        for path in columns {
            let name = path.split('.').next().unwrap_or_default();
            let known = all
                .field_with_name(&path)
                .or_else(|_| all.field_with_name(name));
            let Ok(field) = known.cloned() else { continue };
            if used.iter().any(|own| own.name() == field.name()) {
                continue;
            }
            let sql = lance_core::datatypes::format_field_path(&[field.name().as_str()]);
            inputs.push((field.clone(), take(sql)));
            used.push(field);
        }
        let planner = Planner::new(Arc::new(Schema::new(used)));
        let expression = planner
            .create_physical_expr(&expression)
            .map_err(Error::of_input)?;
        Ok(Some(Self { expression, inputs }))
    }

    pub fn evaluate(&self, taken: &[ArrayRef], score: &ArrayRef) -> Result<ArrayRef> {
        let mut fields = vec![score_field()];
        let mut columns = vec![score.clone()];
        for (field, index) in &self.inputs {
            let column = as_stored(field, &taken[*index])?;
            fields.push(field.clone().with_data_type(column.data_type().clone()));
            columns.push(column);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        let computed = self
            .expression
            .evaluate(&batch)
            .and_then(|value| value.into_array(batch.num_rows()))
            .map_err(|error| Error::of_input(lance::Error::from(error)))?;
        Ok(computed)
    }
}

/// The JSON functions of Lance read stored values, and a query returns text.
fn as_stored(field: &Field, column: &ArrayRef) -> Result<ArrayRef> {
    if is_json_field(field) && column.data_type() != field.data_type() {
        return Ok(Arc::new(JsonArray::try_from(column.clone())?.into_inner()));
    }
    Ok(column.clone())
}

fn score_field() -> Field {
    Field::new(SCORE, DataType::Float32, true)
}
