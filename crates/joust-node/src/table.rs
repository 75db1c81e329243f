//! Writes and descriptions of a table. Queries and indexes are in other files.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use joust_core::table;
use napi::Env;
use napi::bindgen_prelude::{Either, PromiseRaw, within_runtime_if_available};
use napi_derive::napi;

use crate::job_threads::on_threads_for;
use crate::promise::{promise, promise_of};
use crate::upload::{Upload, reader};

/// A table's address and its operations.
#[napi]
pub struct Table {
    pub(crate) inner: joust_core::Table,
}

/// The state of a table to read.
#[napi(object)]
#[derive(Default)]
pub struct ReadOptions {
    /// A version; the newest when absent.
    pub version: Option<f64>,
    /// Only use a state that was checked after this time (ms since the epoch).
    pub min_timestamp_millis: Option<f64>,
    /// Do not answer from an older version, if this one exists.
    pub min_version: Option<f64>,
}

#[napi(object)]
#[derive(Default)]
pub struct CountOptions {
    /// SQL; all live rows when absent.
    pub predicate: Option<String>,
    pub version: Option<f64>,
    pub min_timestamp_millis: Option<f64>,
    pub min_version: Option<f64>,
    /// Time that the request has left, ms; the engine stops its work then. No limit of its own when absent.
    pub timeout_ms: Option<f64>,
}

impl CountOptions {
    /// Whether these options select all rows of the newest version, without a freshness bound.
    fn is_plain(&self) -> bool {
        self.predicate.is_none()
            && self.version.is_none()
            && self.min_timestamp_millis.is_none()
            && self.min_version.is_none()
    }
}

#[napi(object)]
pub struct WriteResult {
    pub version: f64,
    /// Rows of the upload.
    pub num_rows: f64,
}

#[napi(object)]
pub struct DeleteResult {
    pub version: f64,
    pub num_deleted_rows: f64,
}

/// The description of a version.
#[napi(object)]
pub struct TableDescription {
    pub version: f64,
    /// Equal stamps mean equal descriptions; unique within this process. 0 for versions that are not the newest.
    pub stamp: f64,
    /// JSON text with the namespace interface's type names (`float32`, `utf8`).
    pub schema: String,
    /// JSON text with Lance's logical type names (`float`, `string`); absent when a column's type has
    /// none.
    pub lance_schema: Option<String>,
    pub metadata: HashMap<String, String>,
    pub num_deleted_rows: f64,
    pub num_fragments: f64,
    pub timestamp_millis: f64,
}

#[napi(object)]
pub struct TableStats {
    /// Bytes of the data files that the newest version references.
    pub total_bytes: f64,
    /// Live rows.
    pub num_rows: f64,
    pub num_deleted_rows: f64,
    pub num_indices: f64,
    pub num_fragments: f64,
    pub num_small_fragments: f64,
    pub lengths: FragmentLengths,
}

/// The distribution of live rows over fragments.
#[napi(object)]
pub struct FragmentLengths {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p99: f64,
}

impl Table {
    pub fn new(inner: joust_core::Table) -> Self {
        Self { inner }
    }
}

#[napi]
impl Table {
    /// The stamp of the newest version, if it is known without a storage access; else null: call `describe`.
    #[napi]
    pub fn peek(&self) -> Option<f64> {
        self.inner.peek().map(|stamp| stamp as f64)
    }

    #[napi(ts_return_type = "Promise<TableDescription>")]
    pub fn describe<'env>(
        &self,
        env: &'env Env,
        options: Option<ReadOptions>,
    ) -> napi::Result<PromiseRaw<'env, TableDescription>> {
        let table = self.inner.clone();
        let options = options.unwrap_or_default().into();
        promise(
            env,
            async move { table.describe(options).await },
            TableDescription::from,
        )
    }

    /// Creates a table. `overwrite` replaces schema and rows of an existing one in one commit; without, an existing one
    /// is an error (code 5).
    #[napi(ts_return_type = "Promise<WriteResult>")]
    pub fn create<'env>(
        &self,
        env: &'env Env,
        body: Either<&[u8], &Upload>,
        overwrite: bool,
    ) -> napi::Result<PromiseRaw<'env, WriteResult>> {
        let table = self.inner.clone();
        let reader = reader(&self.inner, body);
        promise(
            env,
            async move { table.create(reader?, overwrite).await },
            WriteResult::from,
        )
    }

    /// Adds the upload's rows. Nullable columns that it lacks are filled with nulls.
    #[napi(ts_return_type = "Promise<WriteResult>")]
    pub fn append<'env>(
        &self,
        env: &'env Env,
        body: Either<&[u8], &Upload>,
    ) -> napi::Result<PromiseRaw<'env, WriteResult>> {
        let reader = reader(&self.inner, body);
        promise_of(
            env,
            |sender| match reader {
                Ok(reader) => within_runtime_if_available(|| {
                    self.inner
                        .append_then(reader, |outcome| sender.send(outcome));
                }),
                Err(error) => sender.send(Err(error)),
            },
            WriteResult::from,
        )
    }

    /// Replaces schema and rows in one commit.
    #[napi(ts_return_type = "Promise<WriteResult>")]
    pub fn overwrite<'env>(
        &self,
        env: &'env Env,
        body: Either<&[u8], &Upload>,
    ) -> napi::Result<PromiseRaw<'env, WriteResult>> {
        let table = self.inner.clone();
        let reader = reader(&self.inner, body);
        promise(
            env,
            async move { table.overwrite(reader?).await },
            WriteResult::from,
        )
    }

    /// Deletes the rows for which a SQL predicate is true.
    #[napi(ts_return_type = "Promise<DeleteResult>")]
    pub fn delete<'env>(
        &self,
        env: &'env Env,
        predicate: String,
    ) -> napi::Result<PromiseRaw<'env, DeleteResult>> {
        let table = self.inner.clone();
        promise(
            env,
            async move {
                let expressions = [predicate.clone()];
                let change = async move { table.delete(&predicate).await };
                on_threads_for(&expressions, change).await
            },
            |deleted| DeleteResult {
                version: deleted.version as f64,
                num_deleted_rows: deleted.num_deleted_rows as f64,
            },
        )
    }

    /// Live rows, or those for which a predicate is true. Returns a number if the manifest has it.
    #[napi(ts_return_type = "number | Promise<number>")]
    pub fn count_rows<'env>(
        &self,
        env: &'env Env,
        options: Option<CountOptions>,
    ) -> napi::Result<Either<f64, PromiseRaw<'env, f64>>> {
        let options = options.unwrap_or_default();
        if options.is_plain()
            && let Some(count) = self.inner.count_at_hand()
        {
            return Ok(Either::A(count as f64));
        }
        let table = self.inner.clone();
        let timeout = options.timeout_ms.map(millis);
        let CountOptions { predicate, .. } = options;
        let read = ReadOptions {
            version: options.version,
            min_timestamp_millis: options.min_timestamp_millis,
            min_version: options.min_version,
        };
        let work = async move {
            let predicate = predicate.as_deref();
            table
                .count_rows_within(predicate, read.into(), timeout)
                .await
        };
        promise(env, work, |count| count as f64).map(Either::B)
    }

    #[napi(ts_return_type = "Promise<TableStats>")]
    pub fn stats<'env>(
        &self,
        env: &'env Env,
        options: Option<ReadOptions>,
    ) -> napi::Result<PromiseRaw<'env, TableStats>> {
        let table = self.inner.clone();
        let options = options.unwrap_or_default().into();
        let work = async move { table.stats(options).await };
        promise(env, work, TableStats::from)
    }
}

/// Converts a JavaScript number to a version. An invalid one becomes a version that no table has.
pub fn version_number(number: f64) -> u64 {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if number.fract() == 0.0 && (0.0..=LARGEST).contains(&number) {
        number as u64
    } else {
        u64::MAX - 1
    }
}

/// Converts milliseconds to a duration; zero if invalid.
pub fn millis(number: f64) -> Duration {
    Duration::try_from_secs_f64(number / 1000.0).unwrap_or_default()
}

/// Converts milliseconds since the epoch to a time.
pub fn time(number: f64) -> SystemTime {
    SystemTime::UNIX_EPOCH
        .checked_add(millis(number))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

impl From<ReadOptions> for table::ReadOptions {
    fn from(options: ReadOptions) -> Self {
        Self {
            version: options.version.map(version_number),
            not_before: options.min_timestamp_millis.map(time),
            min_version: options.min_version.map(version_number),
        }
    }
}

impl From<table::Written> for WriteResult {
    fn from(written: table::Written) -> Self {
        Self {
            version: written.version as f64,
            num_rows: written.num_rows as f64,
        }
    }
}

impl From<table::Description> for TableDescription {
    fn from(description: table::Description) -> Self {
        Self {
            version: description.version as f64,
            stamp: description.stamp as f64,
            schema: description.schema,
            lance_schema: description.lance_schema,
            metadata: description.metadata,
            num_deleted_rows: description.num_deleted_rows as f64,
            num_fragments: description.num_fragments as f64,
            timestamp_millis: description.timestamp_millis as f64,
        }
    }
}

impl From<joust_core::index::Stats> for TableStats {
    fn from(stats: joust_core::index::Stats) -> Self {
        let lengths = stats.lengths;
        Self {
            total_bytes: stats.total_bytes as f64,
            num_rows: stats.num_rows as f64,
            num_deleted_rows: stats.num_deleted_rows as f64,
            num_indices: stats.num_indices as f64,
            num_fragments: stats.num_fragments as f64,
            num_small_fragments: stats.num_small_fragments as f64,
            lengths: FragmentLengths {
                min: lengths.min as f64,
                max: lengths.max as f64,
                mean: lengths.mean as f64,
                p25: lengths.p25 as f64,
                p50: lengths.p50 as f64,
                p75: lengths.p75 as f64,
                p99: lengths.p99 as f64,
            },
        }
    }
}
