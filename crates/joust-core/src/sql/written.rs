//! The rows that a statement writes, and the types of its parameters.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use lance::io::RecordBatchStream;

use super::change::{Conversion, Shape};
use super::output::Output;
use super::request::{Request, Written};
use super::rows::Description;
use super::run::{Resources, Source, execute, returned_schema};
use super::session;
use super::source::{ScanSize, SourceTable};
use super::tables::Tables;
use crate::error::{Error, Result};
use crate::ipc::Format;
use crate::planning::planned;
use crate::query::Answer;
use crate::table::{ReadOptions, Table};

/// The rows that a statement writes, as an Arrow stream: the result of its query, with the columns that the change
/// needs. `table`: the table that it changes, if its columns matter.
pub async fn written_rows(
    body: &[u8],
    sources: Vec<Source>,
    table: Option<(Table, ReadOptions)>,
    resources: Resources,
) -> Result<Answer> {
    let mut deadline = resources.deadline;
    let work = converted(body, sources, table, &resources);
    let mut answer = deadline.spend(work).await?;
    answer.set_deadline(deadline);
    Ok(answer)
}

async fn converted(
    body: &[u8],
    sources: Vec<Source>,
    table: Option<(Table, ReadOptions)>,
    resources: &Resources,
) -> Result<Answer> {
    let Written {
        statement,
        shape,
        bound,
    } = Request::decode(body)?.written()?;
    let columns = match table {
        Some(table) if shape.needs_table() => columns_of(table).await?,
        _ => Arc::new(Schema::empty()),
    };
    let mut tables = Tables::of(&statement, sources, resources).await?;
    let (mut statement, has_rows) = match bound {
        None => (statement, false),
        Some((statement, name, rows)) => {
            tables.bind(name, rows)?;
            (statement, true)
        }
    };
    tables.search(&mut statement).await?;
    let execution = execute(tables, statement, None, 0, resources).await?;
    let conversion = shape.conversion(&execution.rows.schema(), &columns)?;
    let schema = conversion.schema().clone();
    let encoder = Output::Arrow(Format::Stream).encoder(&schema, &resources.memory)?;
    let mut before = 0;
    let started = execution
        .start(schema, move |batch| {
            let batch = batch.map_err(Error::of_input)?;
            let converted = conversion.apply(&batch).map_err(|error| match has_rows {
                true => in_row(&conversion, &batch, before, error),
                false => error,
            });
            before += batch.num_rows();
            converted
        })
        .await?;
    Ok(started.into_answer(encoder))
}

/// The error of the first row of parameters that does not fit. `before`: the number of rows before the batch.
fn in_row(conversion: &Conversion, batch: &RecordBatch, before: usize, error: Error) -> Error {
    let mut rows = (0..batch.num_rows()).map(|row| (row, conversion.apply(&batch.slice(row, 1))));
    match rows.find_map(|(row, converted)| Some((row, converted.err()?))) {
        Some((row, error)) => Error::new(
            error.code(),
            format!(
                "row {} of the parameters: {}; no row was inserted",
                before + row + 1,
                error.message()
            ),
        ),
        None => error,
    }
}

/// The types of the parameters of a statement that changes rows; nothing runs. `table`: the table that it changes.
pub async fn describe_change(
    body: &[u8],
    sources: Vec<Source>,
    table: (Table, ReadOptions),
    resources: Resources,
) -> Result<Description> {
    let mut deadline = resources.deadline;
    let work = described(body, sources, table, &resources);
    deadline.spend(work).await
}

async fn described(
    body: &[u8],
    sources: Vec<Source>,
    table: (Table, ReadOptions),
    resources: &Resources,
) -> Result<Description> {
    let changing = Request::decode(body)?.changing()?;
    let count = changing.parameters;
    let Some(open) = changing.open else {
        return Ok(Description::unknown(count));
    };
    let columns = columns_of(table).await?;
    let context = session::for_planning()?;
    let mut query: Option<(_, Shape)> = changing.rows;
    let tables = match &mut query {
        // Without the values of its parameters, a search has no columns.
        Some((statement, _)) if statement.open_searches_of().is_none() => {
            let mut tables = Tables::of(statement, sources, resources).await?;
            tables.search(statement).await?;
            Some(tables)
        }
        _ => None,
    };
    planned(async move {
        let of_query = match (&query, &tables) {
            (Some((statement, _)), Some(tables)) => {
                statement
                    .parameter_types(&context, &tables.providers)
                    .await?
            }
            _ => Vec::new(),
        };
        Ok(Description {
            schema: Arc::new(Schema::empty()),
            parameters: open.types(count, &context, of_query, &columns).await?,
        })
    })
    .await
}

/// The columns of a table, in the form in which a client sends them.
async fn columns_of((table, options): (Table, ReadOptions)) -> Result<SchemaRef> {
    let dataset = table.dataset(options).await?;
    Ok(returned_schema(
        SourceTable::new(dataset, ScanSize::default()).schema(),
    ))
}
