//! Create a view: an empty table with a query in its metadata.

use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::Schema;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use lance::Dataset;

use super::shape::Shape;
use super::{
    NamedTable, NewView, NewViewFunction, Source, ViewDefinition, ViewFunction, expansion, query,
    schema,
};
use crate::error::{Code, Error, Result};
use crate::planning::planned;
use crate::sql::session;
use crate::table::Table;

impl Table {
    /// Creates a view without rows at this address; returns the version. The query is planned completely, so that an
    /// invalid one is rejected here, within the time that the request has left. An existing table is code 5.
    pub async fn create_view(&self, view: &NewView, timeout: Option<Duration>) -> Result<u64> {
        match self.newest().await {
            Ok(_) => {
                return Err(Error::new(
                    Code::TableAlreadyExists,
                    "the table already exists",
                ));
            }
            Err(error) if error.code() == Code::TableNotFound => {}
            Err(error) => return Err(error),
        }
        let mut tables = Vec::with_capacity(view.sources.len());
        for source in &view.sources {
            tables.push((source.name.clone(), source.open(self.tables()).await?));
        }
        let mut deadline = self.tables().query_deadline(timeout);
        let (fields, function) = match &view.function {
            None => {
                let plan = planned(fields(view.sql.clone(), tables, view.schema.clone()));
                (deadline.spend(plan).await?, None)
            }
            Some(function) => {
                let plan = planned(query_fields(view.sql.clone(), tables));
                let (query, shape) = deadline.spend(plan).await?;
                let columns = expansion::schema::stored(&query, view.schema.as_deref(), function)?;
                let declared = declared(function, columns.inherited);
                expansion::check_query(&shape, &query, &declared)?;
                let payload = function.payload.clone();
                self.keep_function_of_new(&function.sha256, payload).await?;
                (columns.schema, Some(declared))
            }
        };
        let metadata = definition(view, function).metadata()?;
        let schema = Arc::new(fields.with_metadata(metadata));
        let rows = Box::pin(RecordBatchStreamAdapter::new(schema, stream::empty()));
        let staged = self.stage_new(rows).await?;
        Ok(self.commit_new(staged).await?.version)
    }

    /// The definition of the view at this address; code 19 if it is not a view.
    pub async fn view(&self) -> Result<ViewDefinition> {
        ViewDefinition::of(self.newest().await?.as_ref())
    }
}

fn declared(function: &NewViewFunction, inherited: Vec<String>) -> ViewFunction {
    ViewFunction {
        name: function.name.clone(),
        version: function.version.clone(),
        sha256: function.sha256.clone(),
        inputs: function.inputs.clone(),
        inherited,
    }
}

fn definition(view: &NewView, function: Option<ViewFunction>) -> ViewDefinition {
    let named = |source: &Source| NamedTable {
        name: source.name.clone(),
        table: source.table.clone(),
    };
    ViewDefinition {
        sql: view.sql.clone(),
        tables: view.sources.iter().map(named).collect(),
        auto_refresh: view.auto_refresh,
        function,
    }
}

/// The fields of a view, from the complete plan of its query.
async fn fields(
    sql: String,
    tables: Vec<(Vec<String>, Arc<Dataset>)>,
    declared: Option<Vec<u8>>,
) -> Result<Schema> {
    let context = session::for_planning()?;
    let plan = query::plan(&context, &sql, &tables).await?;
    let fields = schema::stored(plan.schema().as_arrow(), declared.as_deref())?;
    plan.create_physical_plan().await.map_err(Error::of_input)?;
    Ok(fields)
}

/// The fields of a query, and its shape.
async fn query_fields(
    sql: String,
    tables: Vec<(Vec<String>, Arc<Dataset>)>,
) -> Result<(Schema, Shape)> {
    let context = session::for_planning()?;
    let plan = query::plan(&context, &sql, &tables).await?;
    let fields = plan.schema().as_arrow().clone();
    let shape = Shape::of(plan.logical_plan());
    plan.create_physical_plan().await.map_err(Error::of_input)?;
    Ok((fields, shape))
}
