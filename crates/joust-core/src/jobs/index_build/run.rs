//! Builds an index in segments and commits it.

use std::collections::{BTreeSet, HashMap, HashSet};
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

use super::remote::{Group, RemoteSegments};
use super::segment::{State, read_fields};
use super::staging::{Staging, uuids};
use crate::commit::{Attempts, Policy, always_lost, is_conflict};
use crate::error::{Code, Error, Result};
use crate::index::{self, Assembly, Model, SegmentPlan, Spec};
use crate::jobs::remote::RemoteWork;
use crate::table::Table;
use crate::text;
use crate::work::WorkContext;

/// The most segments that are merged.
const MOST_MERGED: usize = 16;
/// The most segments that stay: a search visits each, and an index optimization merges eight of them.
const MOST_KEPT: usize = 4;
/// The largest model of an order. The server writes it as text for each new order.
const MOST_MODEL_BYTES: usize = 64 << 20;

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
    let mut attempts = Attempts::at(Policy::IndexSegments);
    loop {
        let Some(mut build) = Build::plan(&table, &spec, remote, work).await? else {
            return Ok(None);
        };
        if let Some(segments) = build.run(&mut attempts, remote, work).await? {
            return Ok(Some(segments));
        }
        lose(&mut attempts, "other writers replaced the indexed rows").await?;
    }
}

/// Begins the next attempt after other writers changed the table.
async fn lose(attempts: &mut Attempts, change: &str) -> Result<()> {
    let lost = Error::new(Code::ConcurrentModification, change);
    attempts.lost(lost).await.map_err(always_lost("table"))
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
    let Some(vectors) = &plan.vectors else {
        return Ok(true);
    };
    let rows = dataset.count_rows(None).await?;
    Ok(!index::has_few_rows(rows, vectors)
        && index::model_bytes(rows, &plan.target, vectors) <= MOST_MODEL_BYTES)
}

struct Build<'a> {
    table: &'a Table,
    spec: &'a Spec,
    plan: SegmentPlan,
    /// The entry of the index without rows.
    definition: IndexMetadata,
    model: Option<Model>,
    /// The version that was planned for: the model was trained with its rows.
    planned: Arc<Dataset>,
    /// The fields whose values the index reads.
    fields: BTreeSet<i32>,
    staging: Staging,
}

impl<'a> Build<'a> {
    /// Plans the segments, and trains their model. `None`: workers should not build the index.
    async fn plan(
        table: &'a Table,
        spec: &'a Spec,
        remote: &RemoteWork,
        work: &WorkContext,
    ) -> Result<Option<Self>> {
        let planned = table.newest().await?;
        let target = index::prepare(&planned, spec).await?;
        let Some(plan) = SegmentPlan::of(&planned, spec, target).await? else {
            return Ok(None);
        };
        if !is_worth(&planned, &plan, remote).await? {
            return Ok(None);
        }
        index::check_rows(&planned, spec, &plan.target).await?;
        let model = match &plan.vectors {
            Some(vectors) => {
                let bytes = index::training(&planned, spec, &plan.target);
                let memory = table.memory_for_job(bytes, |stage| work.report(stage, 0, None));
                let _memory = memory.await;
                Some(index::train(&planned, &plan.target, vectors, work).await?)
            }
            None => None,
        };
        let definition = plan.definition(&planned).await?;
        Ok(Some(Self {
            table,
            spec,
            fields: read_fields(&planned, definition.fields[0]),
            plan,
            definition,
            model,
            staging: Staging::new(table.clone(), planned.clone()),
            planned,
        }))
    }

    /// Returns the number of segments. `None`: the table has none of the planned rows any more.
    async fn run(
        &mut self,
        attempts: &mut Attempts,
        remote: &RemoteWork,
        work: &WorkContext,
    ) -> Result<Option<u64>> {
        let mut newest = self.planned.clone();
        loop {
            self.build_missing(&newest, remote, work)
                .instrument(info_span!("build index segments"))
                .await?;
            newest = self.table.newest().await?;
            self.check_target(&newest).await?;
            let do_fit = self.staging.retain_fitting(&newest, &self.fields).await?;
            if self.is_replaced(&newest) {
                return Ok(None);
            }
            if do_fit {
                match self.commit(&newest, work).await {
                    Ok(dataset) => {
                        self.table.committed(dataset);
                        return Ok(Some(self.staging.finish().await));
                    }
                    Err(error) => attempts.lost(error).await.map_err(always_lost("table"))?,
                }
            } else {
                lose(attempts, "other writers changed the indexed rows").await?;
            }
            newest = self.table.newest().await?;
            self.check_target(&newest).await?;
            self.staging.retain_fitting(&newest, &self.fields).await?;
            if self.is_replaced(&newest) {
                return Ok(None);
            }
        }
    }

    /// Whether a version has none of the planned fragments, as after an overwrite. Then the model is one of other rows,
    /// and there may be no rows at all.
    fn is_replaced(&self, newest: &Dataset) -> bool {
        let before = self.planned.fragments().iter();
        let before: HashMap<u64, State<'_>> = before
            .map(|one| (one.id, State::of(one, &self.fields)))
            .collect();
        let mut after = newest.fragments().iter();
        !after.any(|one| before.get(&one.id) == Some(&State::of(one, &self.fields)))
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
        let named = uuids(newest).await?;
        let round = RemoteSegments {
            dataset: newest.clone(),
            definition: &self.definition,
            arguments: &self.plan.arguments,
            model: self.model.as_ref(),
            fields: &self.fields,
            groups: groups(missing, most).await?,
            named: named.into_iter().chain(self.staging.uuids()).collect(),
        };
        let mut built = Box::pin(round.build(remote, work).await?);
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
            false => Err(self.replaced()),
        }
    }

    fn has_column(&self, dataset: &Dataset) -> bool {
        let field = self.definition.fields.first();
        field.is_some_and(|id| dataset.schema().field_by_id(*id).is_some())
    }

    fn replaced(&self) -> Error {
        Error::invalid(format!(
            "the column `{}` was replaced while its index was built; create the index again",
            self.plan.target.column
        ))
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
        let ordered: HashSet<Uuid> = entries.iter().map(|entry| entry.uuid).collect();
        let table = self.table;
        let commit = async {
            // Under the commit lock, columns change no more. The merge may have taken long.
            let now = table.newest().await?;
            self.check_target(&now).await?;
            // From here on a version may name the segments, even if the outcome never arrives.
            self.staging.committing = true;
            work.set_committing(true);
            commit_entries(newest, &self.definition.name, entries).await
        };
        let committed = table.commit(Policy::IndexSegments, commit).await;
        if committed.as_ref().is_err_and(is_conflict) {
            work.set_committing(false);
            self.staging.remove_merged().await;
        }
        let dataset = committed?;
        // Lance commits beside a change of columns by another server.
        let has_column = self.has_column(&dataset);
        if !has_column || !uuids(&dataset).await?.is_superset(&ordered) {
            table.committed(dataset);
            self.staging.committing = false;
            return Err(self.replaced());
        }
        Ok(dataset)
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
async fn groups(fragments: Vec<FileFragment>, most: usize) -> Result<Vec<Group>> {
    let mut counted = Vec::with_capacity(fragments.len());
    for fragment in fragments {
        // Reads a file if the manifest does not have the number.
        let rows = fragment.count_rows(None).await? as u64;
        counted.push((fragment, rows));
    }
    let total: u64 = counted.iter().map(|(_, rows)| rows).sum();
    let least = total.div_ceil(most as u64);
    let mut groups: Vec<Group> = Vec::new();
    for (fragment, rows) in counted {
        match groups.last_mut() {
            Some(group) if group.rows < least => {
                group.fragments.push(fragment);
                group.rows += rows;
            }
            _ => groups.push(Group {
                fragments: vec![fragment],
                rows,
            }),
        }
    }
    Ok(groups)
}
