//! Compaction: merges small fragments into large ones without deleted rows.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use lance::Dataset;
use lance::dataset::index::DatasetIndexRemapperOptions;
use lance::dataset::optimize::{
    CompactionMetrics, CompactionOptions, CompactionPlan, RewriteResult, commit_compaction,
    plan_compaction,
};
use lance_table::format::Fragment;
use tracing::{Instrument, info_span};

use super::remote_compaction::{can_rewrite, rewrite_remotely};
use super::row_lineage::shorten_versions;
use crate::commit::{Attempts, Policy, always_lost, is_conflict};
use crate::error::{Code, Error, Result};
use crate::jobs::file_sizes::bytes_of;
use crate::jobs::remote::RemoteWork;
use crate::jobs::unnamed_files::{UnnamedFiles, names_of};
use crate::table::{Table, live_rows};
use crate::work::WorkContext;

const CONCURRENCY: usize = 1;
const MOST_CONCURRENCY: usize = 16;
/// After a conflict, updates and deletes wait for a rewrite up to this size.
const PRIORITY_BYTES: u64 = 64 << 20;
/// The most bytes that a rewrite reads ahead: a quarter of the memory of a job.
const READ_AHEAD_BYTES: usize = 256 << 20;

/// Options of a compaction; absent ones take Lance's defaults.
#[derive(Debug, Clone, Default)]
pub struct Compact {
    /// Fragments with fewer rows are merged up to about this size.
    pub target_rows_per_fragment: Option<usize>,
    /// Fragments with at least this many rows stay unchanged, unless too many of their rows are deleted. All other
    /// neighbouring fragments are merged, up to the target.
    pub below: Option<u64>,
    /// A fragment is rewritten if at least this part of its rows (0 to 1) is deleted.
    pub deletion_threshold: Option<f32>,
    /// Groups of fragments that are rewritten concurrently.
    pub concurrency: Option<usize>,
    /// Workers that rewrite large groups; `None`: this engine does.
    pub workers: Option<RemoteWork>,
}

/// A finished compaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compacted {
    pub source_version: u64,
    /// `None` if there was nothing to do.
    pub published_version: Option<u64>,
    pub fragments_removed: u64,
    pub fragments_added: u64,
    pub files_removed: u64,
    pub files_added: u64,
}

impl Table {
    /// Compacts the table in one commit. Groups of fragments that other writers change meanwhile stay unchanged.
    /// Dropping the future leaves everything unchanged, unless the commit is running.
    pub async fn compact(&self, compact: &Compact, work: &WorkContext) -> Result<Compacted> {
        let table = self.begun().await?;
        let reserve = || self.memory_for_job(0, |stage| work.report(stage, 0, None));
        let reserved = reserve().await;
        let read_ahead = (reserved.bytes() / 4).min(READ_AHEAD_BYTES) as u64;
        let mut options = options(compact, read_ahead);
        let mut memory = Some(reserved);
        let changing = &self.handle().changing;
        let mut has_priority = false;
        let mut attempts = Attempts::at(Policy::Compaction);
        loop {
            let lock = match has_priority {
                true => Some(changing.lock().await),
                false => None,
            };
            let source = table.newest().await?;
            let source_version = source.version_id();
            if let Some(below) = compact.below {
                options.excluded_fragment_ids = excluded(&source, below, &options).await?;
            }
            let plan = plan_compaction(&source, &options).await?;
            if plan.num_tasks() == 0 {
                return Ok(Compacted {
                    source_version,
                    ..Compacted::default()
                });
            }
            // Changes of rows do not wait for workers.
            let workers = compact.workers.as_ref().filter(|remote| {
                let is_worth = bytes(&plan).is_some_and(|bytes| remote.is_worth(bytes));
                !has_priority && is_worth && can_rewrite(&source, &plan)
            });
            if workers.is_some() {
                // Workers may take hours, in memory of their own.
                drop(memory.take());
            }
            let rewritten = rewrite(&source, &plan, compact.concurrency, workers, work)
                .instrument(info_span!("rewrite fragments"))
                .await?;
            if memory.is_none() {
                // The commit rewrites indexes.
                memory = Some(reserve().await);
            }
            // Excludes changes of rows between the last check of the groups and their commit.
            let lock = match lock {
                Some(lock) => lock,
                None => changing.lock().await,
            };
            let committed = table.commit_unchanged(rewritten, &plan, work).await?;
            drop(lock);
            if let Some((version, metrics)) = committed {
                return Ok(Compacted {
                    source_version,
                    published_version: Some(version),
                    fragments_removed: metrics.fragments_removed as u64,
                    fragments_added: metrics.fragments_added as u64,
                    files_removed: metrics.files_removed as u64,
                    files_added: metrics.files_added as u64,
                });
            }
            // Otherwise continuous updates would invalidate every rewrite.
            has_priority = bytes(&plan).is_some_and(|bytes| bytes <= PRIORITY_BYTES);
            // Smaller groups are rewritten sooner, with fewer conflicts.
            if let Some(below) = compact.below {
                let below = usize::try_from(below).unwrap_or(usize::MAX);
                options.target_rows_per_fragment = options.target_rows_per_fragment.min(below);
            }
            attempts
                .lost(changed())
                .await
                .map_err(always_lost("table"))?;
        }
    }

    /// Commits the groups whose fragments are unchanged. `None` if there is none, or after a conflict.
    async fn commit_unchanged(
        &self,
        rewritten: Rewritten,
        plan: &CompactionPlan,
        work: &WorkContext,
    ) -> Result<Option<(u64, CompactionMetrics)>> {
        let (mut dataset, _version) = self.copy_of_newest().await?;
        let Rewritten { groups, mut files } = rewritten;
        let (unchanged, late): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| is_unchanged(&dataset, group));
        let named = names_of(&dataset);
        let late: Vec<Fragment> = late
            .into_iter()
            .flat_map(|group| group.new_fragments)
            .filter(|one| !one.files.iter().any(|file| named.contains(&file.path)))
            .collect();
        // Version clean-up removes a file that remains.
        let _ = self.remove_files(&late).await;
        files.keep();
        if unchanged.is_empty() {
            return Ok(None);
        }
        let remap = Arc::new(DatasetIndexRemapperOptions::default());
        work.set_committing(true);
        let commit = commit_compaction(&mut dataset, unchanged, remap, plan.options());
        let committed = self.commit(Policy::Compaction, commit).await;
        work.set_committing(false);
        match committed.map_err(Error::from) {
            Err(error) if is_conflict(&error) => Ok(None),
            Err(error) => Err(error),
            Ok(metrics) => Ok(Some((self.committed(dataset), metrics))),
        }
    }
}

/// All groups were changed meanwhile.
fn changed() -> Error {
    Error::new(
        Code::ConcurrentModification,
        "other writers changed the rewritten fragments",
    )
}

/// Rewritten groups, and their files. Dropping this removes the files.
pub struct Rewritten {
    groups: Vec<RewriteResult>,
    files: UnnamedFiles,
}

impl Rewritten {
    pub fn none(source: &Dataset) -> Self {
        Self {
            groups: Vec::new(),
            files: UnnamedFiles::of(source),
        }
    }

    pub fn add(&mut self, mut group: RewriteResult) -> Result<()> {
        self.files.add(&group.new_fragments);
        shorten_versions(&mut group.new_fragments)?;
        self.groups.push(group);
        Ok(())
    }
}

async fn rewrite(
    source: &Arc<Dataset>,
    plan: &CompactionPlan,
    concurrency: Option<usize>,
    workers: Option<&RemoteWork>,
    work: &WorkContext,
) -> Result<Rewritten> {
    if let Some(remote) = workers {
        return rewrite_remotely(source, plan, concurrency, remote, work).await;
    }
    let total = plan.num_tasks() as u64;
    let concurrency = concurrency.unwrap_or(CONCURRENCY);
    let mut rewritten = Rewritten::none(source);
    let mut groups = futures::stream::iter(plan.compaction_tasks())
        .map(|task| async move { task.execute(source).await })
        .buffer_unordered(concurrency.clamp(1, MOST_CONCURRENCY));
    while let Some(group) = groups.try_next().await? {
        rewritten.add(group)?;
        work.report("compact", rewritten.groups.len() as u64, Some(total));
    }
    Ok(rewritten)
}

/// Whether the source fragments of a group have the same rows in a version.
fn is_unchanged(dataset: &Dataset, group: &RewriteResult) -> bool {
    let fragments = &dataset.manifest().fragments;
    let files = |fragment: &Fragment| -> Vec<String> {
        let files = fragment.files.iter();
        files.map(|file| file.path.clone()).collect()
    };
    group.original_fragments.iter().all(|read| {
        fragments
            .binary_search_by_key(&read.id, |own| own.id)
            .is_ok_and(|place| {
                let own = &fragments[place];
                own.deletion_file == read.deletion_file
                    && own.overlays == read.overlays
                    && files(own) == files(read)
            })
    })
}

/// The fragments with enough rows, few deleted ones, and few overlays.
async fn excluded(source: &Dataset, below: u64, options: &CompactionOptions) -> Result<Vec<u32>> {
    let mut excluded = Vec::new();
    for fragment in source.get_fragments() {
        let rows = live_rows(&fragment).await?;
        let metadata = fragment.metadata();
        let all = metadata.physical_rows.map_or(rows, |all| all as u64);
        let deleted = (all - rows) as f32 / all.max(1) as f32;
        let overlays = options.max_overlays_per_fragment;
        if rows >= below
            && deleted <= options.materialize_deletions_threshold
            && overlays.is_none_or(|most| metadata.overlays.len() <= most)
        {
            excluded.push(fragment.id() as u32);
        }
    }
    Ok(excluded)
}

/// Bytes of the files to rewrite, if they are known.
fn bytes(plan: &CompactionPlan) -> Option<u64> {
    bytes_of(plan.tasks.iter().flat_map(|task| &task.fragments))
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
