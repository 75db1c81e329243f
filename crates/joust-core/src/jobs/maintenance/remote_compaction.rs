//! Groups of fragments that workers outside of this process rewrite.
//!
//! A worker says which files it wrote for a group. Everything else of the rewrite follows from the group and the files:
//! joust computes the row ids, the versions of rows and the addresses itself.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;

use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::fragment::FileFragment;
use lance::dataset::optimize::{
    CompactionMetrics, CompactionOptions, CompactionPlan, RewriteResult,
};
use lance::dataset::rowids::inline_row_lineage_max_bytes;
use lance::index::DatasetIndexExt;
use lance_table::format::Fragment;
use lance_table::system_index::is_system_index;
use serde::{Deserialize, Serialize};

use super::compact::Rewritten;
use super::row_lineage::{RowLineage, is_inline, live_addresses};
use crate::error::{Error, Result};
use crate::jobs::remote::{
    CheckParts, Order, Part, RemoteWork, Task, WorkerFiles, details, key_of, refused,
};
use crate::work::WorkContext;

/// The members of an order of this kind.
#[derive(Serialize)]
struct OrderDetails<'a> {
    options: &'a CompactionOptions,
}

/// The members of a task: its units are live rows.
#[derive(Serialize)]
struct TaskDetails {
    /// Their ids, in their order.
    fragments: Vec<u64>,
}

/// The group of a task, as a worker hands it over.
#[derive(Deserialize)]
struct WrittenGroup {
    /// Names of the files in the data directory of the table, or of the branch. Each is a new fragment.
    files: Vec<String>,
}

/// Whether workers can rewrite the groups of a plan. They cannot hand over the values of blobs, which are in files of
/// their own, and the manifest must have the numbers and the ids of the rows, before and after the rewrite.
pub fn can_rewrite(source: &Dataset, plan: &CompactionPlan) -> bool {
    let has_blobs = source
        .schema()
        .fields_pre_order()
        .any(|field| field.is_blob() || field.is_blob_v2());
    let has_ids = source.manifest().uses_stable_row_ids();
    let mut fragments = plan.tasks.iter().flat_map(|task| &task.fragments);
    let spills = has_ids && !matches!(inline_row_lineage_max_bytes(source), Ok(None));
    !has_blobs
        && !spills
        && fragments.all(|one| one.num_rows().is_some() && (!has_ids || is_inline(one)))
}

/// Leaves the groups of a plan to workers.
pub async fn rewrite_remotely(
    source: &Arc<Dataset>,
    plan: &CompactionPlan,
    concurrency: Option<usize>,
    remote: &RemoteWork,
    work: &WorkContext,
) -> Result<Rewritten> {
    let options = CompactionOptions {
        // Depends on the memory of this process.
        io_buffer_size: None,
        ..plan.options().clone()
    };
    let columns: Vec<_> = source
        .schema()
        .fields_pre_order()
        .map(|field| (field.id, field.parent_id, &field.name, &field.logical_type))
        .collect();
    let mut tasks = Vec::with_capacity(plan.num_tasks());
    let mut groups = HashMap::with_capacity(plan.num_tasks());
    for group in &plan.tasks {
        let task = task(&group.fragments, &columns, &options)?;
        groups.insert(task.key.clone(), group.fragments.clone());
        tasks.push(task);
    }
    let order = Order {
        kind: "compaction",
        location: source.uri().to_string(),
        version: plan.read_version(),
        concurrency,
        tasks,
        details: details(&OrderDetails { options: &options })?,
        stage: "compact",
        function: None,
    };
    let checks = GroupChecks {
        files: WorkerFiles::of(source.clone(), remote.began()),
        source: source.clone(),
        needs_addresses: needs_addresses(source, plan).await?,
        groups,
    };
    let mut rewritten = Rewritten::none(source);
    let mut received = std::pin::pin!(remote.receive(order, checks, work));
    while let Some(group) = received.try_next().await? {
        rewritten.add(group)?;
    }
    Ok(rewritten)
}

/// `columns`: a column that was dropped and added again without values changes no fragment.
fn task(fragments: &[Fragment], columns: &impl Debug, options: &CompactionOptions) -> Result<Task> {
    let state = serde_json::to_string(&(fragments, options))
        .map_err(|error| Error::internal("a group could not be written", error))?;
    let rows = fragments.iter().filter_map(Fragment::num_rows);
    Ok(Task {
        key: key_of(&(state, format!("{columns:?}"))),
        units: rows.sum::<usize>() as u64,
        details: details(&TaskDetails {
            fragments: fragments.iter().map(|fragment| fragment.id).collect(),
        })?,
    })
}

/// Whether the commit remaps indexes, as lance decides it for its own rewrites.
async fn needs_addresses(source: &Dataset, plan: &CompactionPlan) -> Result<bool> {
    if source.manifest().uses_stable_row_ids() {
        return Ok(plan.options().has_eager_remappable_index.unwrap_or(true));
    }
    let indexes = source.load_indices().await?;
    Ok(indexes.iter().any(|index| !is_system_index(index)))
}

/// Checks the groups of workers.
struct GroupChecks {
    files: WorkerFiles,
    source: Arc<Dataset>,
    needs_addresses: bool,
    /// The fragments of each task, by its key.
    groups: HashMap<String, Vec<Fragment>>,
}

impl CheckParts for GroupChecks {
    type Output = RewriteResult;

    async fn check(&mut self, task: &Task, part: &Part) -> Result<RewriteResult> {
        let WrittenGroup { files } = part.read()?;
        let original_fragments = self.groups[&task.key].clone();
        let mut new_fragments = Vec::with_capacity(files.len());
        let mut names = HashSet::with_capacity(files.len());
        for file in &files {
            if !names.insert(file) {
                return Err(refused(file, "is there twice"));
            }
            new_fragments.push(self.files.fragment(file).await?);
        }
        let rows = new_fragments.iter().filter_map(Fragment::num_rows);
        let (rows, expected) = (rows.sum::<usize>() as u64, task.units);
        if rows != expected {
            return Err(Error::invalid(format!(
                "the files of a worker have {rows} rows, and the fragments in their place have {expected}"
            )));
        }
        let originals = original_fragments
            .iter()
            .map(|one| FileFragment::new(self.source.clone(), one.clone()))
            .collect::<Vec<_>>();
        if self.source.manifest().uses_stable_row_ids() {
            let lineage = RowLineage::of(&originals).await?;
            lineage.place(&mut new_fragments)?;
        }
        let row_addrs = match self.needs_addresses {
            true => Some(live_addresses(&originals).await?),
            false => None,
        };
        for file in &files {
            self.files.take(file);
        }
        Ok(RewriteResult {
            metrics: metrics(&original_fragments, &new_fragments),
            new_fragments,
            read_version: self.source.version_id(),
            original_fragments,
            row_addrs,
        })
    }
}

fn metrics(removed: &[Fragment], added: &[Fragment]) -> CompactionMetrics {
    let files = |fragments: &[Fragment]| {
        let fragments = fragments.iter();
        fragments
            .map(|one| one.files.len() + usize::from(one.deletion_file.is_some()))
            .sum()
    };
    CompactionMetrics {
        fragments_removed: removed.len(),
        fragments_added: added.len(),
        files_removed: files(removed),
        files_added: files(added),
    }
}
