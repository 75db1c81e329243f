//! Compaction: few large fragments in the place of many small ones, without rows that were deleted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::{StreamExt, TryStreamExt};
use lance::Dataset;
use lance::dataset::index::DatasetIndexRemapperOptions;
use lance::dataset::optimize::{
    CompactionMetrics, CompactionOptions, commit_compaction, plan_compaction,
};

use crate::error::{Code, Error, Result};
use crate::table::Table;
use crate::work::Work;

/// Rounds that may lose against other writers before the compaction gives up.
const ATTEMPTS: usize = 5;
const CONCURRENCY: usize = 1;
const MOST_CONCURRENCY: usize = 16;
/// Bytes that may be read ahead of a rewrite, at most: a quarter of a job's.
const READ_AHEAD_BYTES: usize = 256 << 20;

/// How to compact; what is absent is Lance's default.
#[derive(Debug, Clone, Default)]
pub struct Compact {
    /// Fragments with fewer rows are put together until they have about so many.
    pub target_rows_per_fragment: Option<usize>,
    /// Part of a fragment's rows (0 to 1) that must be deleted for it to be rewritten without them.
    pub deletion_threshold: Option<f32>,
    /// Groups of fragments that are rewritten at the same time.
    pub concurrency: Option<usize>,
}

/// A compaction that is done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compacted {
    pub source_version: u64,
    /// `None` when there was nothing to do.
    pub published_version: Option<u64>,
    pub fragments_removed: u64,
    pub fragments_added: u64,
    pub files_removed: u64,
    pub files_added: u64,
}

impl Table {
    /// Compacts the table in one commit. Dropping the future leaves it as it was, unless the commit is
    /// under way.
    pub async fn compact(&self, compact: &Compact, work: &Work) -> Result<Compacted> {
        let memory = self
            .memory_for_job(0, |stage| work.report(stage, 0, None))
            .await;
        let read_ahead = (memory.bytes() / 4).min(READ_AHEAD_BYTES) as u64;
        for _ in 0..ATTEMPTS {
            let mut dataset = self.newest().await?.as_ref().clone();
            let source_version = dataset.version_id();
            let metrics = match rewrite(&mut dataset, compact, read_ahead, work).await {
                Err(error) if error.code() == Code::ConcurrentModification => continue,
                outcome => outcome?,
            };
            let published = dataset.version_id();
            let changed = published != source_version;
            return Ok(Compacted {
                source_version,
                published_version: changed.then(|| self.committed(dataset)),
                fragments_removed: metrics.fragments_removed as u64,
                fragments_added: metrics.fragments_added as u64,
                files_removed: metrics.files_removed as u64,
                files_added: metrics.files_added as u64,
            });
        }
        Err(Error::new(
            Code::ConcurrentModification,
            "other writers changed the table all the time; try again when they are done",
        ))
    }
}

async fn rewrite(
    dataset: &mut Dataset,
    compact: &Compact,
    read_ahead: u64,
    work: &Work,
) -> Result<CompactionMetrics> {
    let options = options(compact, read_ahead);
    let plan = plan_compaction(dataset, &options).await?;
    let total = plan.num_tasks() as u64;
    let done = AtomicU64::new(0);
    let source: &Dataset = dataset;
    let concurrency = compact.concurrency.unwrap_or(CONCURRENCY);
    let rewritten: Vec<_> = futures::stream::iter(plan.compaction_tasks())
        .map(|task| {
            let done = &done;
            async move {
                let result = task.execute(source).await?;
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                work.report("compact", done, Some(total));
                Ok::<_, Error>(result)
            }
        })
        .buffer_unordered(concurrency.clamp(1, MOST_CONCURRENCY))
        .try_collect()
        .await?;
    let remap = Arc::new(DatasetIndexRemapperOptions::default());
    work.set_committing(true);
    let metrics = commit_compaction(dataset, rewritten, remap, plan.options()).await;
    work.set_committing(false);
    Ok(metrics?)
}

fn options(compact: &Compact, read_ahead: u64) -> CompactionOptions {
    let mut options = CompactionOptions {
        io_buffer_size: Some(read_ahead),
        ..CompactionOptions::default()
    };
    if let Some(rows) = compact.target_rows_per_fragment {
        options.target_rows_per_fragment = rows;
    }
    if let Some(part) = compact.deletion_threshold {
        options.materialize_deletions_threshold = part;
    }
    options
}
