//! Jobs on one table: backfill and compaction.

use joust_core::Result;
use joust_core::jobs::{backfill, maintenance, remote};
use napi::Env;
use napi::bindgen_prelude::{ClassInstance, Function, PromiseRaw};
use napi_derive::napi;

use crate::auto_refresh::Since;
use crate::job_threads::on_job_threads;
use crate::progress::{Progress, how_many, reporter};
use crate::promise::promise;
use crate::remote_work::RemoteWork;
use crate::table::{Table, version_number};
use crate::task::Task;

/// What to fill.
#[napi(object)]
pub struct BackfillOptions {
    /// Path of a computed column.
    pub column: String,
    /// SQL; rows for which it is not true keep their value.
    pub predicate: Option<String>,
    /// Version whose rows are the inputs; the newest when absent.
    pub read_version: Option<f64>,
    /// Fragments that are computed concurrently.
    pub concurrency: Option<f64>,
    /// Only the first fragments of the table, up to this number.
    pub max_fragments: Option<f64>,
    /// The least rows of a call of a function; default: 1.
    pub min_batch_rows: Option<f64>,
    /// The most rows of a call of a function; default and largest: 4,096.
    pub max_batch_rows: Option<f64>,
    /// An earlier backfill of all rows: only fragments that have changed since are computed.
    pub changed_since: Option<Since>,
    /// The id of the job. With a function, a later run of it continues with the fragments that this one has computed.
    pub job: Option<String>,
}

/// A row whose value could not be computed.
#[napi(object)]
pub struct RowFailure {
    pub fragment: f64,
    /// Position in the fragment, deleted rows included.
    pub offset: f64,
    pub message: String,
}

/// A fragment with rows whose value could not be computed.
#[napi(object)]
pub struct FailedFragment {
    pub fragment: f64,
    pub rows: f64,
}

/// A finished backfill.
#[napi(object)]
pub struct BackfillResult {
    pub rows_assigned: f64,
    /// Rows whose value could not be computed; they are null.
    pub rows_failed: f64,
    /// Rows of the new version that were not processed.
    pub rows_remaining: f64,
    pub source_version: f64,
    /// Absent if there was nothing to write.
    pub published_version: Option<f64>,
    /// Fragments with rows that failed.
    pub failed_fragments: Vec<FailedFragment>,
    /// The function that computed the values; absent: SQL did.
    pub function: Option<ComputingFunction>,
    /// The first failures.
    pub failures: Vec<RowFailure>,
}

/// The Python function of a virtual column or a view.
#[napi(object)]
pub struct ComputingFunction {
    pub name: String,
    /// As its client declared it.
    pub version: Option<String>,
}

/// Options of a compaction; absent ones take the engine's defaults.
#[napi(object)]
pub struct CompactOptions {
    /// Fragments with fewer rows are merged up to about this size.
    pub target_rows_per_fragment: Option<f64>,
    /// Fragments with at least this many rows stay unchanged, unless too many of their rows are deleted. All other
    /// neighbouring fragments are merged, up to the target.
    pub below: Option<f64>,
    /// A fragment is rewritten if at least this part of its rows (0 to 1) is deleted.
    pub deletion_threshold: Option<f64>,
    /// Groups of fragments that are rewritten concurrently.
    pub concurrency: Option<f64>,
}

/// A finished compaction.
#[napi(object)]
pub struct CompactResult {
    pub source_version: f64,
    /// Absent if there was nothing to do.
    pub published_version: Option<f64>,
    pub fragments_removed: f64,
    pub fragments_added: f64,
    pub files_removed: f64,
    pub files_added: f64,
}

impl BackfillOptions {
    fn into_core(self, workers: Option<remote::RemoteWork>) -> Result<backfill::Backfill> {
        Ok(backfill::Backfill {
            column: self.column,
            predicate: self.predicate,
            read_version: self.read_version.map(version_number),
            concurrency: how_many("concurrency", self.concurrency)?,
            max_fragments: how_many("num_frags", self.max_fragments)?,
            min_batch_rows: how_many("min_checkpoint_size", self.min_batch_rows)?,
            max_batch_rows: how_many("checkpoint_size", self.max_batch_rows)?,
            changed_since: self.changed_since.map(Into::into),
            job: self.job,
            workers,
        })
    }
}

impl CompactOptions {
    fn into_core(self, workers: Option<remote::RemoteWork>) -> Result<maintenance::Compact> {
        Ok(maintenance::Compact {
            target_rows_per_fragment: how_many(
                "target_rows_per_fragment",
                self.target_rows_per_fragment,
            )?,
            below: self.below.map(|rows| rows as u64),
            deletion_threshold: self.deletion_threshold.map(|part| part as f32),
            concurrency: how_many("concurrency", self.concurrency)?,
            workers,
        })
    }
}

#[napi]
impl Table {
    /// Validates a backfill without computing anything; returns the column's name in the spelling of the schema.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn plan_backfill<'env>(
        &self,
        env: &'env Env,
        options: BackfillOptions,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let table = self.inner.clone();
        let work = async move { table.plan_backfill(&options.into_core(None)?).await };
        promise(env, work, |planned| planned.column)
    }

    /// Computes a column's values and commits them as one version. `workers`: they call the function of a virtual column,
    /// in place of processes of this engine.
    #[napi(ts_return_type = "Promise<BackfillResult>")]
    pub fn backfill<'env>(
        &self,
        env: &'env Env,
        options: BackfillOptions,
        task: &Task,
        on_progress: Function<'_, Progress, ()>,
        workers: Option<ClassInstance<'_, RemoteWork>>,
    ) -> napi::Result<PromiseRaw<'env, BackfillResult>> {
        let work = task.context(reporter(on_progress)?);
        let (workers, begun) = begin(workers);
        let table = self.inner.clone();
        let done = async move {
            let _begun = begun;
            let options = options.into_core(workers)?;
            work.run(table.backfill(&options, &work)).await
        };
        promise(env, on_job_threads(done), BackfillResult::from)
    }

    /// Removes what a cancelled backfill or refresh of this id has computed.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn discard_checkpoint<'env>(
        &self,
        env: &'env Env,
        job: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let done = async move { table.discard_checkpoint(&job).await };
        promise(env, done, |()| ())
    }

    /// Merges small fragments and removes deleted rows, in one version. `workers`: they rewrite large groups of fragments,
    /// in place of this process.
    #[napi(ts_return_type = "Promise<CompactResult>")]
    pub fn compact<'env>(
        &self,
        env: &'env Env,
        options: CompactOptions,
        task: &Task,
        on_progress: Function<'_, Progress, ()>,
        workers: Option<ClassInstance<'_, RemoteWork>>,
    ) -> napi::Result<PromiseRaw<'env, CompactResult>> {
        let work = task.context(reporter(on_progress)?);
        let (workers, begun) = begin(workers);
        let table = self.inner.clone();
        let done = async move {
            let _begun = begun;
            let options = options.into_core(workers)?;
            work.run(table.compact(&options, &work)).await
        };
        promise(env, on_job_threads(done), CompactResult::from)
    }
}

impl From<backfill::Backfilled> for BackfillResult {
    fn from(done: backfill::Backfilled) -> Self {
        Self {
            rows_assigned: done.rows_assigned as f64,
            rows_failed: done.rows_failed as f64,
            rows_remaining: done.rows_remaining as f64,
            source_version: done.source_version as f64,
            published_version: done.published_version.map(|version| version as f64),
            failed_fragments: failed_fragments(done.failed_fragments),
            function: done.function.map(ComputingFunction::from),
            failures: done.failures.into_iter().map(RowFailure::from).collect(),
        }
    }
}

impl From<joust_core::jobs::RowFailure> for RowFailure {
    fn from(failure: joust_core::jobs::RowFailure) -> Self {
        Self {
            fragment: failure.fragment as f64,
            offset: failure.offset as f64,
            message: failure.message,
        }
    }
}

impl From<(String, Option<String>)> for ComputingFunction {
    fn from((name, version): (String, Option<String>)) -> Self {
        Self { name, version }
    }
}

/// The work that a job leaves to workers; the guard lives as long as the job.
pub fn begin(
    workers: Option<ClassInstance<'_, RemoteWork>>,
) -> (Option<remote::RemoteWork>, Option<remote::EndWork>) {
    let workers = workers.map(|workers| workers.inner.clone());
    let begun = workers.as_ref().map(remote::RemoteWork::begin);
    (workers, begun)
}

/// Fragments, and the number of rows that failed in each.
pub fn failed_fragments(fragments: Vec<(u64, u64)>) -> Vec<FailedFragment> {
    let fragments = fragments.into_iter();
    fragments
        .map(|(fragment, rows)| FailedFragment {
            fragment: fragment as f64,
            rows: rows as f64,
        })
        .collect()
}

impl From<maintenance::Compacted> for CompactResult {
    fn from(done: maintenance::Compacted) -> Self {
        Self {
            source_version: done.source_version as f64,
            published_version: done.published_version.map(|version| version as f64),
            fragments_removed: done.fragments_removed as f64,
            fragments_added: done.fragments_added as f64,
            files_removed: done.files_removed as f64,
            files_added: done.files_added as f64,
        }
    }
}
