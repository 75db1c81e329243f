//! Builds an index in segments and commits it.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::CommitBuilder;
use lance::dataset::fragment::FileFragment;
use lance::dataset::transaction::{Operation, TransactionBuilder};
use lance::index::DatasetIndexExt;
use lance_table::format::IndexMetadata;
use tracing::{Instrument, info_span};
use uuid::Uuid;

use super::remote::{RemoteSegments, live_rows};
use super::segment::read_fields;
use super::staging::Staging;
use crate::commit::{Attempts, Policy, always_lost, is_conflict};
use crate::error::{Code, Error, Result};
use crate::index::{self, Assembly, Model, SegmentPlan, Spec};
use crate::jobs::remote::RemoteWork;
use crate::table::Table;
use crate::text;
use crate::work::WorkContext;

/// The most segments that are merged.
const MOST_MERGED: usize = 16;
/// The most segments that stay: a search visits each, and an index catch-up merges eight of them.
const MOST_KEPT: usize = 4;

/// Builds the index with workers; returns the number of their segments. `None`: the index has to be built in one process,
/// or it is too small for workers.
pub async fn in_segments(
    table: &Table,
    spec: &str,
    remote: &RemoteWork,
    work: &WorkContext,
) -> Result<Option<u64>> {
    if !matches!(table.earlier().await, Ok(None)) {
        // `create_index` finds out whether the index exists.
        return Ok(None);
    }
    let spec = Spec::decode(spec)?;
    let table = table.begun().await?;
    let newest = table.newest().await?;
    let target = index::prepare(&newest, &spec).await?;
    let Some(plan) = SegmentPlan::of(&newest, &spec, target).await? else {
        return Ok(None);
    };
    if !is_worth(&newest, &plan, remote).await? {
        return Ok(None);
    }
    index::check_rows(&newest, &spec, &plan.target).await?;
    let model = match &plan.vectors {
        Some(vectors) => {
            let bytes = index::training(&newest, &spec, &plan.target);
            let memory = table.memory_for_job(bytes, |stage| work.report(stage, 0, None));
            let _memory = memory.await;
            Some(index::train(&newest, &plan.target, vectors, work).await?)
        }
        None => None,
    };
    let definition = plan.definition(&newest).await?;
    let mut build = Build {
        table: &table,
        spec: &spec,
        fields: read_fields(&newest, definition.fields[0]),
        plan,
        definition,
        model,
        staging: Staging::new(newest.clone()),
    };
    build.run(newest, remote, work).await.map(Some)
}

/// Whether workers should build the index.
async fn is_worth(dataset: &Dataset, plan: &SegmentPlan, remote: &RemoteWork) -> Result<bool> {
    let Some(field) = dataset.schema().field(&plan.target.field) else {
        return Ok(false);
    };
    let fields = read_fields(dataset, field.id);
    let files = dataset.fragments().iter().flat_map(|one| &one.files);
    let bytes: u64 = files
        .filter(|file| file.fields.iter().any(|id| fields.contains(id)))
        .filter_map(|file| file.file_size_bytes.get())
        .map(u64::from)
        .sum();
    if dataset.fragments().len() < 2 || !remote.is_worth(bytes) {
        return Ok(false);
    }
    match &plan.vectors {
        Some(vectors) => Ok(!index::has_few_rows(dataset, vectors).await?),
        None => Ok(true),
    }
}

struct Build<'a> {
    table: &'a Table,
    spec: &'a Spec,
    plan: SegmentPlan,
    /// The entry of the index without rows.
    definition: IndexMetadata,
    model: Option<Model>,
    /// The fields whose values the index reads.
    fields: BTreeSet<i32>,
    staging: Staging,
}

impl Build<'_> {
    async fn run(
        &mut self,
        mut newest: Arc<Dataset>,
        remote: &RemoteWork,
        work: &WorkContext,
    ) -> Result<u64> {
        let mut attempts = Attempts::at(Policy::IndexSegments);
        loop {
            self.build_missing(&newest, remote, work)
                .instrument(info_span!("build index segments"))
                .await?;
            newest = self.table.newest().await?;
            self.check_target(&newest).await?;
            let lost = match self.staging.retain_fitting(&newest, &self.fields).await? {
                true => match self.commit(&newest, work).await {
                    Ok(dataset) => {
                        self.table.committed(dataset);
                        return Ok(self.staging.finish().await);
                    }
                    Err(error) => error,
                },
                false => Error::new(
                    Code::ConcurrentModification,
                    "other writers changed the indexed rows",
                ),
            };
            attempts.lost(lost).await.map_err(always_lost("table"))?;
            newest = self.table.newest().await?;
            self.check_target(&newest).await?;
            self.staging.retain_fitting(&newest, &self.fields).await?;
        }
    }

    /// Builds segments of the fragments that have none.
    async fn build_missing(
        &mut self,
        newest: &Arc<Dataset>,
        remote: &RemoteWork,
        work: &WorkContext,
    ) -> Result<()> {
        let covered = self.staging.fragments();
        let mut missing = newest.get_fragments();
        missing.retain(|fragment| !covered.contains(&(fragment.id() as u64)));
        let most = match self.plan.assembly {
            Assembly::Merged => MOST_MERGED,
            Assembly::Kept => MOST_KEPT,
        };
        let most = most.saturating_sub(self.staging.segments.len()).max(1);
        let entries = text::all_entries(newest).await?;
        let named: HashSet<Uuid> = entries.iter().map(|entry| entry.uuid).collect();
        let round = RemoteSegments {
            dataset: newest.clone(),
            definition: &self.definition,
            arguments: &self.plan.arguments,
            model: self.model.as_ref(),
            fields: &self.fields,
            groups: groups(missing, most),
            named: named.into_iter().chain(self.staging.uuids()).collect(),
        };
        let mut built = Box::pin(round.build(remote, work)?);
        while let Some(segment) = built.try_next().await? {
            self.staging.segments.push(segment);
        }
        Ok(())
    }

    /// Fails if the ordered index is not possible any more.
    async fn check_target(&self, newest: &Dataset) -> Result<()> {
        let target = index::prepare(newest, self.spec).await?;
        let field = newest.schema().field(&target.field).map(|field| field.id);
        let is_same = field == self.definition.fields.first().copied()
            && target.data_type == self.plan.target.data_type;
        match is_same {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "the column `{}` was replaced while its index was built; create the index again",
                self.plan.target.column
            ))),
        }
    }

    async fn commit(&mut self, newest: &Arc<Dataset>, work: &WorkContext) -> Result<Dataset> {
        let segments = self.staging.segments.iter();
        let mut entries: Vec<_> = segments.map(|segment| segment.entry.clone()).collect();
        if self.plan.assembly == Assembly::Merged {
            let memory = self
                .table
                .memory_for_job(0, |stage| work.report(stage, 0, None));
            let _memory = memory.await;
            work.report("merge_segments", 0, None);
            let merged = newest
                .merge_existing_index_segments(entries)
                .instrument(info_span!("merge index segments"))
                .await?;
            // A single segment may stay.
            let is_new = !self.staging.uuids().any(|uuid| uuid == merged.uuid);
            self.staging.merged = is_new.then_some(merged.uuid);
            entries = vec![IndexMetadata {
                index_details: self.definition.index_details.clone(),
                ..merged
            }];
        }
        // From here on a version may name the segments, even if the outcome never arrives.
        self.staging.committing = true;
        work.set_committing(true);
        let commit = commit_entries(newest, &self.definition.name, entries);
        let committed = self.table.commit(Policy::IndexSegments, commit).await;
        if committed.as_ref().is_err_and(is_conflict) {
            work.set_committing(false);
            self.staging.remove_merged().await;
        }
        committed
    }
}

/// Commits the entries in place of those with that name.
async fn commit_entries(
    newest: &Arc<Dataset>,
    name: &str,
    new_indices: Vec<IndexMetadata>,
) -> Result<Dataset> {
    let mut removed_indices = text::all_entries(newest).await?;
    removed_indices.retain(|entry| entry.name == name);
    let operation = Operation::CreateIndex {
        new_indices,
        removed_indices,
    };
    let transaction = TransactionBuilder::new(newest.version_id(), operation).build();
    let committed = CommitBuilder::new(newest.clone())
        .with_skip_auto_cleanup(true)
        .execute(transaction)
        .await?;
    Ok(committed)
}

/// Neighbouring fragments, in at most so many groups of about the same number of rows.
fn groups(fragments: Vec<FileFragment>, most: usize) -> Vec<Vec<FileFragment>> {
    let total: u64 = fragments.iter().map(live_rows).sum();
    let least = total.div_ceil(most as u64);
    let mut groups: Vec<Vec<FileFragment>> = Vec::new();
    let mut rows = 0;
    for fragment in fragments {
        let own = live_rows(&fragment);
        match groups.last_mut() {
            Some(group) if rows < least => group.push(fragment),
            _ => {
                groups.push(vec![fragment]);
                rows = 0;
            }
        }
        rows += own;
    }
    groups
}
