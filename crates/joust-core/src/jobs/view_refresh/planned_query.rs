//! The planned query of a view.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::dataframe::DataFrame;
use datafusion::prelude::SessionContext;
use lance::Dataset;

use super::read_columns::ReadColumns;
use super::shape::Shape;
use super::{expansion, query};
use crate::error::{Code, Error, Result};
use crate::planning::planned;
use crate::schema::ViewFunction;
use crate::sql::plain_type;

/// The query of a view.
pub struct PlannedQuery {
    pub plan: DataFrame,
    pub shape: Shape,
    /// The columns that it reads, if it reads one table.
    pub read: ReadColumns,
}

/// The logical plan of a view's query, whose columns must be those of the view. With a function, the view has some of
/// them.
pub async fn planned_query(
    context: &SessionContext,
    (sql, function): (&str, Option<&ViewFunction>),
    sources: &[(Vec<String>, Arc<Dataset>)],
    view: &Schema,
) -> Result<PlannedQuery> {
    let (context, sql) = (context.clone(), sql.to_string());
    let (sources, view) = (sources.to_vec(), view.clone());
    let function = function.cloned();
    planned(async move {
        let plan = query::plan(&context, &sql, &sources).await?;
        let result = plan.schema().as_arrow();
        let mut shape = Shape::of(plan.logical_plan());
        let mut read = match shape {
            // All rows are computed, whatever has changed.
            Shape::Whole(_) => ReadColumns::All,
            _ => {
                let optimized = plan.clone().into_optimized_plan();
                ReadColumns::of(&optimized.map_err(Error::of_input)?)?
            }
        };
        if let Some(function) = function {
            expansion::check_query(&shape, result, &function)?;
            let shape = Shape::Expanded;
            return Ok(PlannedQuery { plan, shape, read });
        }
        check_columns(result, &view)?;
        if let Shape::Groups(groups) = &mut shape {
            // The plan also runs over the former version, with all columns that it names.
            read = read.and_named(plan.logical_plan())?;
            let mut columns = view.fields().iter();
            if !columns.all(|field| has_type(result, &view, field.name())) {
                // Casts of partial results and of whole ones may differ.
                groups.merge = None;
            }
            let mut keys = groups.keys.iter().map(|key| view.field(*key).name());
            if !keys.all(|key| has_type(result, &view, key)) {
                shape = Shape::Whole("`output_schema` gives a column of GROUP BY another type");
            }
        }
        Ok(PlannedQuery { plan, shape, read })
    })
    .await
}

/// A source may have lost a column that `*` included, or have a new one.
fn check_columns(result: &Schema, view: &Schema) -> Result<()> {
    let names = |schema: &Schema| -> Vec<String> {
        let fields = schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    };
    let (given, wanted) = (names(result), names(view));
    if given == wanted {
        return Ok(());
    }
    Err(Error::new(
        Code::TableSchemaValidationError,
        format!(
            "the query gives the columns {} now, and the view has {}: drop the view and create it again",
            given.join(", "),
            wanted.join(", ")
        ),
    ))
}

/// Whether a column of the view has the type that the query gives it.
pub fn has_type(result: &Schema, view: &Schema, column: &str) -> bool {
    let plain = |schema: &Schema| {
        let field = schema.field_with_name(column);
        field.ok().map(|field| plain_type(field.data_type()))
    };
    plain(result) == plain(view)
}
