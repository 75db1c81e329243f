//! SQL statements over the tables of a catalog.

use std::collections::HashMap;

use joust_core::engine::SqlSource as Source;
use joust_core::ipc::Format;
use joust_core::sql::{self, At, Column, Listed, Listing, Output, TableName, Values};
use joust_core::table::ReadOptions;
use joust_core::{Error, Result};
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::engine::Engine;
use crate::promise::promise;
use crate::query::QueryAnswer;
use crate::running::guard;
use crate::table::{millis, time, version_number};

/// A table in a statement.
#[napi(object)]
pub struct SqlTable {
    /// The name in the statement, in parts.
    pub name: Vec<String>,
    /// Of `FOR VERSION AS OF 7`.
    pub version: Option<f64>,
    /// A tag, or else a branch: of `FOR VERSION AS OF 'name'`.
    pub tag: Option<String>,
    /// Of `FOR TIMESTAMP AS OF '2026-01-31'`.
    pub timestamp_millis: Option<f64>,
}

impl From<TableName> for SqlTable {
    fn from(table: TableName) -> Self {
        let mut named = Self {
            name: table.name,
            version: None,
            tag: None,
            timestamp_millis: None,
        };
        match table.at {
            Some(At::Version(version)) => named.version = Some(version as f64),
            Some(At::Tag(tag)) => named.tag = Some(tag),
            Some(At::Time(millis)) => named.timestamp_millis = Some(millis as f64),
            None => {}
        }
        named
    }
}

/// A statement that was read.
#[napi(object)]
pub struct SqlStatement {
    /// The tables that it reads, without duplicates, in a deterministic order.
    pub tables: Vec<SqlTable>,
    /// What it changes, as JSON. Absent for a query.
    pub change: Option<String>,
    /// The number of its parameters if it changes something.
    pub parameters: u32,
}

/// A column of a result, without nulls: numbers that are integers, or texts.
#[napi(object)]
pub struct SqlColumn {
    pub name: String,
    pub numbers: Option<Vec<f64>>,
    pub texts: Option<Vec<String>>,
}

/// The table that a statement changes.
#[napi(object)]
pub struct SqlTarget {
    pub location: String,
    pub storage_options: Option<HashMap<String, String>>,
}

/// The resolution of a name in a statement: a table, or with `information` one of `information_schema`.
#[napi(object)]
pub struct SqlSource {
    pub location: Option<String>,
    pub storage_options: Option<HashMap<String, String>>,
    /// The main branch when absent.
    pub branch: Option<String>,
    /// The newest version when absent.
    pub version: Option<f64>,
    /// SQL: the caller may use the rows for which one of them is true. All rows when absent.
    pub rows: Option<Vec<String>>,
    /// `schemata`, `tables` or `columns`.
    pub information: Option<String>,
}

/// A table in `information_schema`.
#[napi(object)]
pub struct SqlListed {
    pub schema: String,
    pub name: String,
    /// Required if columns are requested.
    pub location: Option<String>,
    pub storage_options: Option<HashMap<String, String>>,
}

/// Options of a statement.
#[napi(object)]
pub struct SqlOptions {
    /// One for each of the statement's tables, in that order.
    pub sources: Vec<SqlSource>,
    /// The content of `information_schema`.
    pub schemata: Option<Vec<String>>,
    pub tables: Option<Vec<SqlListed>>,
    /// Only for `sql`.
    #[napi(ts_type = "'file' | 'stream' | 'json' | 'json-lines' | 'csv' | 'parquet'")]
    pub format: Option<String>,
    /// Only use a state that was checked after this time (ms since the epoch).
    pub min_timestamp_millis: Option<f64>,
    /// Do not answer from an older version of a table, if this one exists.
    pub min_version: Option<f64>,
    /// A number that is unique among the running queries of this process; `cancelQuery` takes it.
    pub number: Option<f64>,
    /// Time that the request has left, ms; the engine stops its work then. No limit of its own when absent.
    pub timeout_ms: Option<f64>,
}

pub fn core_columns(columns: Vec<SqlColumn>) -> Vec<Column> {
    let columns = columns.into_iter().map(|column| Column {
        name: column.name,
        values: match column.texts {
            Some(texts) => Values::Texts(texts),
            None => {
                let numbers = column.numbers.unwrap_or_default().into_iter();
                Values::Numbers(numbers.map(|number| number as i64).collect())
            }
        },
    });
    columns.collect()
}

fn output(format: &str) -> Output {
    match format {
        "file" => Output::Arrow(Format::File),
        "json" => Output::Json,
        "json-lines" => Output::JsonLines,
        "csv" => Output::Csv,
        "parquet" => Output::Parquet,
        _ => Output::Arrow(Format::Stream),
    }
}

impl SqlOptions {
    pub fn fresh(&self) -> ReadOptions {
        ReadOptions {
            version: None,
            not_before: self.min_timestamp_millis.map(time),
            min_version: self.min_version.map(version_number),
        }
    }

    pub fn into_core(self) -> Result<(Vec<Source>, Listing)> {
        let fresh = self.fresh();
        let sources = self.sources.into_iter().map(|source| {
            if let Some(name) = source.information {
                return Ok(Source::Information(name));
            }
            Ok(Source::Table {
                location: source
                    .location
                    .ok_or_else(|| Error::invalid("a source has neither a location nor a name"))?,
                storage_options: source.storage_options.unwrap_or_default(),
                branch: source.branch,
                rows: source.rows,
                options: ReadOptions {
                    version: source.version.map(version_number),
                    ..fresh
                },
            })
        });
        let tables = self.tables.unwrap_or_default().into_iter();
        let listing = Listing {
            schemata: self.schemata.unwrap_or_default(),
            tables: tables
                .map(|listed| Listed {
                    schema: listed.schema,
                    name: listed.name,
                    location: listed.location.unwrap_or_default(),
                    storage_options: listed.storage_options.unwrap_or_default(),
                })
                .collect(),
        };
        Ok((sources.collect::<Result<_>>()?, listing))
    }
}

#[napi]
impl Engine {
    /// Reads a statement. `body`: JSON `{query, parameters, limit}`. `describes`: the statement is described and not run,
    /// so the values of its parameters need not be known.
    #[napi(ts_return_type = "Promise<SqlStatement>")]
    pub fn sql_statement<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        describes: Option<bool>,
    ) -> napi::Result<PromiseRaw<'env, SqlStatement>> {
        let body = body.to_vec();
        promise(
            env,
            async move {
                let read = sql::read_statement(&body)?;
                if !describes.unwrap_or(false) {
                    read.check_bound()?;
                }
                Ok(read)
            },
            |described| SqlStatement {
                tables: described.tables.into_iter().map(SqlTable::from).collect(),
                change: described.change,
                parameters: described.parameters as u32,
            },
        )
    }

    /// The rows that a statement writes, as an Arrow stream for the operation that writes them. `body`: as for
    /// `sqlStatement`; `target`: the table that the statement changes, if it exists.
    #[napi(ts_return_type = "Promise<QueryAnswer>")]
    pub fn sql_written_rows<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: SqlOptions,
        target: Option<SqlTarget>,
    ) -> napi::Result<PromiseRaw<'env, QueryAnswer>> {
        let engine = self.inner.clone();
        let body = body.to_vec();
        let number = options.number;
        let timeout = options.timeout_ms.map(millis);
        let work = Box::pin(async move {
            let fresh = options.fresh();
            let (sources, listing) = options.into_core()?;
            let target =
                target.map(|target| (target.location, target.storage_options.unwrap_or_default()));
            let mut answer = engine
                .sql_written_rows(&body, sources, listing, target, fresh, timeout)
                .await?;
            let first = answer.first().await?;
            Ok((first, answer))
        });
        promise(env, guard(number, work), QueryAnswer::from)
    }

    /// The result of a statement that the server ran: columns of the same length. Without columns it has no rows.
    #[napi(ts_return_type = "Promise<QueryAnswer>")]
    pub fn sql_result<'env>(
        &self,
        env: &'env Env,
        columns: Vec<SqlColumn>,
        #[napi(ts_arg_type = "'file' | 'stream' | 'json' | 'json-lines' | 'csv' | 'parquet'")]
        format: String,
    ) -> napi::Result<PromiseRaw<'env, QueryAnswer>> {
        let engine = self.inner.clone();
        let work = async move {
            let mut answer = engine
                .sql_result(core_columns(columns), output(&format))
                .await?;
            let first = answer.first().await?;
            Ok((first, answer))
        };
        promise(env, Box::pin(work), QueryAnswer::from)
    }

    /// Runs a query. `body`: as for `sqlStatement`. The result has no version.
    #[napi(ts_return_type = "Promise<QueryAnswer>")]
    pub fn sql<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: SqlOptions,
    ) -> napi::Result<PromiseRaw<'env, QueryAnswer>> {
        let engine = self.inner.clone();
        let body = body.to_vec();
        let number = options.number;
        let timeout = options.timeout_ms.map(millis);
        let work = Box::pin(async move {
            let output = output(options.format.as_deref().unwrap_or_default());
            let (sources, listing) = options.into_core()?;
            let mut answer = engine.sql(&body, sources, listing, output, timeout).await?;
            let first = answer.first().await?;
            Ok((first, answer))
        });
        promise(env, guard(number, work), QueryAnswer::from)
    }
}
