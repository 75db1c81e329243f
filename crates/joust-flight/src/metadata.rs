//! The answers of the commands that describe the catalog and the server.

use std::fmt;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{
    SqlInfoData, SqlInfoDataBuilder, XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder,
};
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetTableTypes, CommandGetTables, Nullable,
    Searchable, SqlInfo, SqlNullOrdering, SqlOuterJoinsSupportLevel, SqlSupportedCaseSensitivity,
    SqlSupportedTransaction, XdbcDataType,
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

/// The columns that `SELECT *` gives. None for a table that is only declared, or that was dropped meanwhile.
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
        Err(status) if status.code() == Code::NotFound => Ok(Schema::empty()),
        Err(status) => Err(status),
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

pub fn server_info() -> Result<SqlInfoData, FlightError> {
    use SqlInfo as I;
    let mut info = SqlInfoDataBuilder::new();
    info.append(I::FlightSqlServerName, "joust");
    info.append(I::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(I::FlightSqlServerArrowVersion, "1.3");
    info.append(I::FlightSqlServerReadOnly, false);
    info.append(I::FlightSqlServerSql, true);
    info.append(I::FlightSqlServerSubstrait, false);
    let transactions = SqlSupportedTransaction::None as i32;
    info.append(I::FlightSqlServerTransaction, transactions);
    info.append(I::FlightSqlServerCancel, true);
    info.append(I::FlightSqlServerBulkIngestion, false);
    info.append(I::SqlDdlCatalog, false);
    info.append(I::SqlDdlSchema, true);
    info.append(I::SqlDdlTable, true);
    // Flight SQL has no value for names that keep their case: quoted and unquoted names are both case sensitive.
    let case = SqlSupportedCaseSensitivity::SqlCaseSensitivityUnknown as i32;
    info.append(I::SqlIdentifierCase, case);
    info.append(I::SqlQuotedIdentifierCase, case);
    info.append(I::SqlIdentifierQuoteChar, "\"");
    info.append(I::SqlAllTablesAreSelectable, true);
    info.append(
        I::SqlNullOrdering,
        SqlNullOrdering::SqlNullsSortedHigh as i32,
    );
    info.append(I::SqlSupportsColumnAliasing, true);
    info.append(I::SqlNullPlusNullIsNull, true);
    info.append(I::SqlSupportsExpressionsInOrderBy, true);
    info.append(I::SqlSupportsOrderByUnrelated, true);
    info.append(I::SqlSupportsTableCorrelationNames, true);
    info.append(I::SqlCorrelatedSubqueriesSupported, true);
    info.append(
        I::SqlOuterJoinsSupportLevel,
        1_i32 << SqlOuterJoinsSupportLevel::SqlFullOuterJoins as i32,
    );
    info.append(I::SqlCatalogTerm, "catalog");
    info.append(I::SqlSchemaTerm, "namespace");
    info.append(I::SqlSelectForUpdateSupported, false);
    info.append(I::SqlStoredProceduresSupported, false);
    info.append(I::SqlTransactionsSupported, false);
    info.append(I::SqlBatchUpdatesSupported, false);
    info.append(I::SqlSavepointsSupported, false);
    info.append(I::SqlNamedParametersSupported, true);
    info.build()
}

/// The types of columns.
pub fn types() -> Result<XdbcTypeInfoData, FlightError> {
    use XdbcDataType as X;
    let mut types = XdbcTypeInfoDataBuilder::new();
    // Name, type, size (digits, characters or bits), quote of its literals, radix of its size.
    for (name, data_type, size, quote, radix) in [
        ("BOOLEAN", X::XdbcBit, Some(1), None, None),
        ("TINYINT", X::XdbcTinyint, Some(8), None, Some(2)),
        ("SMALLINT", X::XdbcSmallint, Some(16), None, Some(2)),
        ("INTEGER", X::XdbcInteger, Some(32), None, Some(2)),
        ("BIGINT", X::XdbcBigint, Some(64), None, Some(2)),
        ("REAL", X::XdbcReal, Some(24), None, Some(2)),
        ("DOUBLE", X::XdbcDouble, Some(53), None, Some(2)),
        ("DECIMAL", X::XdbcDecimal, Some(76), None, Some(10)),
        ("VARCHAR", X::XdbcVarchar, None, Some("'"), None),
        ("VARBINARY", X::XdbcVarbinary, None, None, None),
        ("DATE", X::XdbcDate, Some(10), Some("'"), None),
        ("TIME", X::XdbcTime, Some(18), Some("'"), None),
        ("TIMESTAMP", X::XdbcTimestamp, Some(29), Some("'"), None),
    ] {
        types.append(XdbcTypeInfo {
            type_name: name.to_string(),
            data_type,
            column_size: size,
            literal_prefix: quote.map(str::to_string),
            literal_suffix: quote.map(str::to_string),
            nullable: Nullable::NullabilityNullable,
            case_sensitive: data_type == X::XdbcVarchar,
            searchable: Searchable::Full,
            unsigned_attribute: radix.map(|_| false),
            sql_data_type: data_type,
            num_prec_radix: radix,
            ..XdbcTypeInfo::default()
        });
    }
    types.build()
}
