//! Materialized views.

use std::collections::HashMap;

use joust_core::Result;
use joust_core::jobs::{remote, view_refresh};
use napi::Env;
use napi::bindgen_prelude::{Buffer, ClassInstance, Function, PromiseRaw};
use napi_derive::napi;

use crate::auto_refresh::AutoRefresh;
use crate::engine::Engine;
use crate::job_threads::on_job_threads;
use crate::jobs::{ComputingFunction, FailedFragment, RowFailure, begin, failed_fragments};
use crate::progress::{Progress, how_many, reporter};
use crate::promise::promise;
use crate::remote_work::RemoteWork;
use crate::table::{Table, millis, version_number};
use crate::task::Task;

/// A table in a view's query.
#[napi(object)]
pub struct ViewSource {
    /// The name in the query, in parts.
    pub name: Vec<String>,
    /// The identifier of the table.
    pub table: Vec<String>,
    pub location: String,
    pub storage_options: HashMap<String, String>,
    /// The version to read; the newest when absent.
    pub version: Option<f64>,
}

/// A view to create.
#[napi(object)]
pub struct NewView {
    /// One SELECT statement.
    pub sql: String,
    pub sources: Vec<ViewSource>,
    /// An Arrow IPC message or stream with the schema of the view; the schema of the query when absent.
    pub schema: Option<Buffer>,
    /// Absent: only requests refresh it.
    pub auto_refresh: Option<AutoRefresh>,
    /// Makes the rows of the view from each row of the query; the rows are those of the query when absent.
    pub function: Option<NewViewFunction>,
    /// Time that the request has left for planning, ms; no limit of its own when absent.
    pub timeout_ms: Option<f64>,
}

/// The Python function of a view to create.
#[napi(object)]
pub struct NewViewFunction {
    pub name: String,
    /// As its client declared it.
    pub version: Option<String>,
    /// The function as its client sent it.
    pub payload: Buffer,
    /// SHA-256 of the payload, hex.
    pub sha256: String,
    /// Paths of the columns of the query that are its arguments, in their order.
    pub inputs: Vec<String>,
    /// The columns of its rows. Empty if `schema` has them.
    pub outputs: Vec<ViewOutput>,
    /// The columns of the query that the view has, too; all when absent. `schema` names them.
    pub inherited: Option<Vec<String>>,
}

/// A column that the function of a view gives.
#[napi(object)]
pub struct ViewOutput {
    pub name: String,
    /// The type as JSON: an object with `type`, or only its name.
    pub data_type: String,
}

/// A table name in a view's query.
#[napi(object)]
pub struct NamedTable {
    /// The name in the query, in parts.
    pub name: Vec<String>,
    /// The identifier of the table.
    pub table: Vec<String>,
}

/// The definition of a view.
#[napi(object)]
pub struct ViewDefinition {
    pub sql: String,
    pub tables: Vec<NamedTable>,
    /// Absent: only requests refresh it.
    pub auto_refresh: Option<AutoRefresh>,
    /// Makes the rows of the view from each row of the query.
    pub function: Option<ComputingFunction>,
}

/// How to refresh a view.
#[napi(object)]
pub struct RefreshOptions {
    pub sources: Vec<ViewSource>,
    /// Compute all rows, also if it is known which have changed.
    pub full: Option<bool>,
    /// The most rows of a fragment of the view.
    pub max_rows_per_fragment: Option<f64>,
    /// Partitions of the query that run concurrently, or processes of the view's function.
    pub concurrency: Option<f64>,
    /// The most rows of a call of the view's function.
    pub call_rows: Option<f64>,
    /// The most rows that the view has afterwards, if a function makes them.
    pub output_limit: Option<f64>,
    /// The id of the job. With a function, a later run of it continues with the fragments that this one has computed.
    pub job: Option<String>,
}

/// A refresh that ended.
#[napi(object)]
pub struct RefreshResult {
    /// The version of the view; no new one if there was nothing to do.
    pub version: f64,
    /// Why all rows were computed; absent if only those that come from changed rows were.
    pub full_because: Option<String>,
    pub rows_written: f64,
    /// Rows that were replaced or removed.
    pub rows_removed: f64,
    /// The version of each source that was read, in the order of the options.
    pub source_versions: Vec<f64>,
    /// The function that made the rows; absent: the query did.
    pub function: Option<ComputingFunction>,
    /// The first rows of the source for which the function failed.
    pub failures: Vec<RowFailure>,
    /// Fragments of the source with such rows.
    pub failed_fragments: Vec<FailedFragment>,
}

/// How far a view is behind its sources, and how the next refresh works.
#[napi(object)]
pub struct ViewStatus {
    /// Why the next refresh computes all rows; absent if it only computes those that come from changed rows.
    pub full_because: Option<String>,
    /// When the last refresh was committed, ms since 1970; absent if it is not known.
    pub refreshed_millis: Option<f64>,
    /// In the order of the view's tables.
    pub sources: Vec<SourceStatus>,
}

/// A source of a view.
#[napi(object)]
pub struct SourceStatus {
    /// The version of the last refresh; absent if it is not known.
    pub refreshed_version: Option<f64>,
    pub newest_version: f64,
}

impl From<ViewSource> for view_refresh::Source {
    fn from(source: ViewSource) -> Self {
        Self {
            name: source.name,
            table: source.table,
            location: source.location,
            storage_options: source.storage_options,
            version: source.version.map(version_number),
        }
    }
}

fn sources(sources: Vec<ViewSource>) -> Vec<view_refresh::Source> {
    sources
        .into_iter()
        .map(view_refresh::Source::from)
        .collect()
}

impl RefreshOptions {
    fn into_core(self, workers: Option<remote::RemoteWork>) -> Result<view_refresh::Refresh> {
        Ok(view_refresh::Refresh {
            sources: sources(self.sources),
            full: self.full.unwrap_or_default(),
            max_rows_per_fragment: how_many("max_rows_per_fragment", self.max_rows_per_fragment)?,
            concurrency: how_many("concurrency", self.concurrency)?,
            call_rows: how_many("source_task_size", self.call_rows)?,
            output_limit: how_many("output_limit", self.output_limit)?.map(|rows| rows as u64),
            job: self.job,
            workers,
        })
    }
}

#[napi]
impl Engine {
    /// The names of the tables in a view's query, each in parts, as written.
    #[napi(ts_return_type = "Promise<Array<Array<string>>>")]
    pub fn view_tables<'env>(
        &self,
        env: &'env Env,
        sql: String,
    ) -> napi::Result<PromiseRaw<'env, Vec<Vec<String>>>> {
        promise(env, async move { view_refresh::tables(&sql) }, |tables| {
            tables
        })
    }
}

#[napi]
impl Table {
    /// Creates a materialized view without rows; returns the version.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn create_view<'env>(
        &self,
        env: &'env Env,
        view: NewView,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let timeout = view.timeout_ms.map(millis);
        let view = view_refresh::NewView {
            sql: view.sql,
            sources: sources(view.sources),
            schema: view.schema.map(|schema| schema.to_vec()),
            auto_refresh: view.auto_refresh.map(Into::into),
            function: view.function.map(Into::into),
        };
        let work = async move { table.create_view(&view, timeout).await };
        promise(env, work, |version| version as f64)
    }

    /// The definition of the view at this address; code 19 if it is not a view.
    #[napi(ts_return_type = "Promise<ViewDefinition>")]
    pub fn view<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ViewDefinition>> {
        let table = self.inner.clone();
        let work = async move { table.view().await };
        promise(env, work, ViewDefinition::from)
    }

    /// How far the view at this address is behind `sources`, its tables, and how its next refresh works; code 19 if it is
    /// not a view. `timeout_ms`: the time that the request has left; no limit of its own when absent.
    #[napi(ts_return_type = "Promise<ViewStatus>")]
    pub fn view_status<'env>(
        &self,
        env: &'env Env,
        sources: Vec<ViewSource>,
        timeout_ms: Option<f64>,
    ) -> napi::Result<PromiseRaw<'env, ViewStatus>> {
        let table = self.inner.clone();
        let timeout = timeout_ms.map(millis);
        let sources = self::sources(sources);
        let work = async move { table.view_status(&sources, timeout).await };
        promise(env, work, ViewStatus::from)
    }

    /// Runs the view's query over the rows that have changed, or over all, and replaces the view's rows, in one version.
    /// `workers`: they compute rows that come from one table, in place of this process.
    #[napi(ts_return_type = "Promise<RefreshResult>")]
    pub fn refresh_view<'env>(
        &self,
        env: &'env Env,
        options: RefreshOptions,
        task: &Task,
        on_progress: Function<'_, Progress, ()>,
        workers: Option<ClassInstance<'_, RemoteWork>>,
    ) -> napi::Result<PromiseRaw<'env, RefreshResult>> {
        let work = task.context(reporter(on_progress)?);
        let (workers, begun) = begin(workers);
        let table = self.inner.clone();
        let refreshed = async move {
            let _begun = begun;
            let options = options.into_core(workers)?;
            work.run(table.refresh_view(&options, &work)).await
        };
        promise(env, on_job_threads(refreshed), |done| RefreshResult {
            version: done.version as f64,
            full_because: reason(done.mode),
            rows_written: done.rows_written as f64,
            rows_removed: done.rows_removed as f64,
            source_versions: done
                .source_versions
                .into_iter()
                .map(|version| version as f64)
                .collect(),
            function: done.function.map(ComputingFunction::from),
            failures: done.failures.into_iter().map(RowFailure::from).collect(),
            failed_fragments: failed_fragments(done.failed_fragments),
        })
    }
}

impl From<NewViewFunction> for view_refresh::NewViewFunction {
    fn from(function: NewViewFunction) -> Self {
        let outputs = function.outputs.into_iter();
        Self {
            name: function.name,
            version: function.version,
            payload: function.payload.to_vec(),
            sha256: function.sha256,
            inputs: function.inputs,
            outputs: outputs
                .map(|output| (output.name, output.data_type))
                .collect(),
            inherited: function.inherited,
        }
    }
}

fn reason(mode: view_refresh::RefreshMode) -> Option<String> {
    match mode {
        view_refresh::RefreshMode::Incremental => None,
        view_refresh::RefreshMode::Full(reason) => Some(reason.into_owned()),
    }
}

impl From<view_refresh::ViewStatus> for ViewStatus {
    fn from(status: view_refresh::ViewStatus) -> Self {
        let sources = status.sources.into_iter().map(|source| SourceStatus {
            refreshed_version: source.refreshed_version.map(|version| version as f64),
            newest_version: source.newest_version as f64,
        });
        Self {
            full_because: reason(status.next_refresh),
            refreshed_millis: status.refreshed_at.map(|at| at as f64),
            sources: sources.collect(),
        }
    }
}

impl From<view_refresh::ViewDefinition> for ViewDefinition {
    fn from(definition: view_refresh::ViewDefinition) -> Self {
        let tables = definition.tables.into_iter().map(|named| NamedTable {
            name: named.name,
            table: named.table,
        });
        Self {
            sql: definition.sql,
            tables: tables.collect(),
            auto_refresh: definition.auto_refresh.map(Into::into),
            function: definition
                .function
                .map(|function| (function.name, function.version).into()),
        }
    }
}
