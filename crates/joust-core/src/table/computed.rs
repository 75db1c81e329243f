//! Columns that are declared by a SQL expression and filled later.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use lance::Dataset;
use lance_datafusion::planner::Planner;

use crate::error::{Error, Result};
use crate::schema::columns::unknown_column;
use crate::schema::expression;

/// Metadata key that marks such a column. This key and the others are those of the LanceDB SDKs, which read the
/// declaration from the schema.
pub const COMPUTED: &str = "computed_column";
/// Metadata key of the kind of computation; without it the SDKs do not recognize a computed column.
pub const KIND: &str = "computed_column.kind";
/// The kind of a column that a SQL expression computes.
pub const SQL: &str = "sql";
/// Metadata key that says whether the column refreshes itself, `true` or `false`.
pub const AUTO_REFRESH_ENABLED: &str = "computed_column.auto_refresh_enabled";
/// Metadata key of the time between two refreshes.
pub const AUTO_REFRESH_SECONDS: &str = "computed_column.auto_refresh_interval_seconds";
/// Metadata key of its SQL.
pub const EXPRESSION: &str = "computed_column.expression";
/// Metadata key of the paths of the columns it reads, a JSON list.
pub const INPUTS: &str = "computed_column.inputs";

/// The field of a column that `sql` computes: with the type of the expression, and the declaration in its metadata.
pub fn field(
    dataset: &Dataset,
    name: &str,
    sql: &str,
    metadata: &HashMap<String, String>,
) -> Result<Field> {
    let schema = Arc::new(Schema::from(dataset.schema()));
    let planner = Planner::new(schema.clone());
    let condition = expression::whole(sql)?;
    let parsed = planner.parse_expr(&condition).map_err(Error::of_input)?;
    let mut inputs = Planner::column_names_in_expr(&parsed);
    inputs.sort_unstable();
    for input in &inputs {
        if dataset.schema().resolve_case_insensitive(input).is_none() {
            return Err(unknown_column(dataset, input));
        }
    }
    let planned = planner
        .optimize_expr(parsed)
        .and_then(|expr| planner.create_physical_expr(&expr))
        .map_err(Error::of_input)?;
    let data_type = planned.data_type(&schema).map_err(Error::of_input)?;
    let mut metadata = metadata.clone();
    metadata.insert(COMPUTED.into(), "true".into());
    metadata.insert(KIND.into(), SQL.into());
    metadata.insert(EXPRESSION.into(), sql.into());
    metadata.insert(INPUTS.into(), serde_json::json!(inputs).to_string());
    Ok(Field::new(name, data_type, true).with_metadata(metadata))
}
