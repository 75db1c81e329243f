//! The answers of the commands that describe the catalog and the server.

use std::fmt;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::error::FlightError;
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetTableTypes, CommandGetTables,
};
use futures::{StreamExt, TryStreamExt, stream};
use tonic::{Code, Status};

use crate::backend::{Backend, Context, Outcome, Statement};
use crate::status::{internal, invalid};

/// The name of the only catalog.
pub const CATALOG: &str = "joust";
/// The type of tables for clients, which `information_schema` calls `BASE TABLE` as the SQL standard does.
const TABLE: &str = "TABLE";
const BASE_TABLE: &str = "BASE TABLE";
/// Tables whose columns one command lists, and tables that it plans concurrently.
const MOST_TABLES: usize = 10_000;
const AT_ONCE: usize = 8;

pub fn catalogs(command: CommandGetCatalogs) -> Result<RecordBatch, FlightError> {
    let mut builder = command.into_builder();
    builder.append(CATALOG);
    builder.build()
}

pub fn table_types(command: CommandGetTableTypes) -> Result<RecordBatch, FlightError> {
    let mut builder = command.into_builder();
    builder.append(TABLE);
    builder.build()
}

pub async fn schemas(
    backend: &dyn Backend,
    context: &Context,
    command: CommandGetDbSchemas,
) -> Result<RecordBatch, Status> {
    let mut builder = command.into_builder();
    let sql = "SELECT schema_name FROM information_schema.schemata";
    for [name] in rows(backend, context, sql).await? {
        builder.append(CATALOG, name);
    }
    builder.build().map_err(of_client)
}

pub async fn tables(
    backend: &dyn Backend,
    context: &Context,
    command: CommandGetTables,
) -> Result<RecordBatch, Status> {
    let sql = "SELECT table_schema, table_name, table_type FROM information_schema.tables";
    let mut names = CommandGetTables {
        include_schema: false,
        ..command.clone()
    }
    .into_builder();
    for [schema, name, kind] in rows(backend, context, sql).await? {
        let kind = if kind == BASE_TABLE { TABLE } else { &kind };
        let none = Schema::empty();
        names
            .append(CATALOG, schema, name, kind, &none)
            .map_err(internal)?;
    }
    let selected = names.build().map_err(of_client)?;
    if !command.include_schema {
        return Ok(selected);
    }
    if selected.num_rows() > MOST_TABLES {
        return Err(invalid(format!(
            "the columns of more than {MOST_TABLES} tables are requested; ask for a schema or a table"
        )));
    }
    let described: Vec<Schema> = stream::iter(texts::<4>(&selected)?)
        .map(|[_, schema, name, _]| columns(backend, context, schema, name))
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let mut tables = command.into_builder();
    for ([catalog, schema, name, kind], columns) in texts::<4>(&selected)?.iter().zip(&described) {
        tables
            .append(catalog, schema, name, kind, columns)
            .map_err(internal)?;
    }
    tables.build().map_err(of_client)
}

/// The columns that `SELECT *` gives. None for a table that is only declared, that was dropped meanwhile, or that the
/// caller may see and not read.
async fn columns(
    backend: &dyn Backend,
    context: &Context,
    schema: String,
    name: String,
) -> Result<Schema, Status> {
    let quoted = [schema, name].map(|part| format!("\"{}\"", part.replace('"', "\"\"")));
    let statement = Statement {
        sql: format!("SELECT * FROM {}", quoted.join(".")),
        ..Statement::default()
    };
    match backend.describe(context, &statement).await {
        Ok(described) => Ok(Schema::clone(&described.schema)),
        Err(status) => match status.code() {
            Code::NotFound | Code::PermissionDenied => Ok(Schema::empty()),
            _ => Err(status),
        },
    }
}

/// The rows of a query over `information_schema`, whose columns are texts.
async fn rows<const N: usize>(
    backend: &dyn Backend,
    context: &Context,
    sql: &str,
) -> Result<Vec<[String; N]>, Status> {
    let statement = Statement {
        sql: sql.to_string(),
        ..Statement::default()
    };
    let Outcome::Rows { mut batches, .. } = backend.execute(context, &statement).outcome.await?
    else {
        return Err(internal("a query has no rows"));
    };
    let mut rows = Vec::new();
    while let Some(batch) = batches.try_next().await? {
        rows.extend(texts(&batch)?);
    }
    Ok(rows)
}

fn texts<const N: usize>(batch: &RecordBatch) -> Result<Vec<[String; N]>, Status> {
    let columns: Vec<_> = (0..N)
        .map(|at| batch.column(at).as_string_opt::<i32>())
        .collect::<Option<_>>()
        .ok_or_else(|| internal("a column is not text"))?;
    let row = |row: usize| std::array::from_fn(|at| columns[at].value(row).to_string());
    Ok((0..batch.num_rows()).map(row).collect())
}

/// A pattern that the builder cannot apply is the client's error.
fn of_client(error: impl fmt::Display) -> Status {
    invalid(format!("the filter cannot be applied: {error}"))
}

/// No table has keys: the columns of the answers about primary and foreign keys, without rows.
pub fn keys(is_primary: bool) -> SchemaRef {
    let text = |name: &str, nullable| Field::new(name, DataType::Utf8, nullable);
    let number = |name: &str| Field::new(name, DataType::Int32, false);
    Arc::new(Schema::new(match is_primary {
        true => vec![
            text("catalog_name", true),
            text("db_schema_name", true),
            text("table_name", false),
            text("column_name", false),
            number("key_sequence"),
            text("key_name", true),
        ],
        false => vec![
            text("pk_catalog_name", true),
            text("pk_db_schema_name", true),
            text("pk_table_name", false),
            text("pk_column_name", false),
            text("fk_catalog_name", true),
            text("fk_db_schema_name", true),
            text("fk_table_name", false),
            text("fk_column_name", false),
            number("key_sequence"),
            text("fk_key_name", true),
            text("pk_key_name", true),
            Field::new("update_rule", DataType::UInt8, false),
            Field::new("delete_rule", DataType::UInt8, false),
        ],
    }))
}
