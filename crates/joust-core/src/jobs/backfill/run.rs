//! A whole backfill: stages every fragment and commits all together; retries after conflicts with other writers.

use std::collections::HashSet;
use std::sync::Arc;

use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::CommitBuilder;
use lance::dataset::fragment::FileFragment;
use lance::dataset::transaction::{Operation, TransactionBuilder};
use tracing::{Instrument, info_span};

use super::binding::{Binding, Computation, check_computed, find};
use super::calls::{Calls, batches};
use super::changed::{Before, Since};
use super::evaluate::Tally;
use super::stage::{Basis, Staging};
use super::{Backfill, Backfilled, PlannedBackfill};
use crate::commit::{Attempts, Policy, always_lost, is_conflict};
use crate::error::{Code, Result};
use crate::jobs::checkpoint::{Checkpoint, INTERVAL};
use crate::query::check_each;
use crate::table::{ReadOptions, Table};
use crate::work::WorkContext;

impl Table {
    /// Validates a backfill without computing anything: the column, its declaration, the condition and the version. A
    /// column that a function computes is valid here, whether or not this engine runs functions.
    pub async fn plan_backfill(&self, backfill: &Backfill) -> Result<PlannedBackfill> {
        let newest = self.newest().await?;
        let field = find(&newest, &backfill.column)?;
        check_computed(field)?;
        batches(backfill)?;
        if let Some(condition) = &backfill.predicate {
            crate::schema::predicate::checked_where_planned(&newest, condition).await?;
        }
        self.source(backfill, &newest).await?;
        match Binding::planned(&newest, backfill).await {
            Ok(_) => {}
            Err(error) if error.code() == Code::Unsupported => {}
            Err(error) => return Err(error),
        }
        Ok(PlannedBackfill {
            column: field.name.clone(),
        })
    }

    /// Computes the values of a column and commits them as one version. If the value of a row cannot be computed, it
    /// becomes null and the result lists the row. Dropping the future leaves the table unchanged.
    pub async fn backfill(&self, backfill: &Backfill, work: &WorkContext) -> Result<Backfilled> {
        let table = self.begun().await?;
        let mut newest = table.newest().await?;
        let source = self.source(backfill, &newest).await?;
        let mut binding = Arc::new(Binding::planned(&newest, backfill).await?);
        let mut planned_for = newest.clone();
        let mut calls = self.calls(&binding, backfill).await?;
        let checkpoint = match (&backfill.job, &calls) {
            (Some(job), Some(_)) => Some(Checkpoint::of(self, job).await?),
            _ => None,
        };
        let mut staging = Staging::new(&newest, &binding, checkpoint).await;
        let mut attempts = Attempts::at(Policy::Rewrite);
        let mut memory = None;
        loop {
            // While no version follows, the newest one stays the same dataset. Another table at the same location may have
            // the same version number.
            if !Arc::ptr_eq(&newest, &planned_for) {
                let now = Binding::planned(&newest, backfill).await?;
                if !now.is_same(&binding) {
                    staging.retain(|_, _| false);
                    calls = self.calls(&now, backfill).await?;
                }
                binding = Arc::new(now);
                planned_for = newest.clone();
            }
            let is_remote = matches!(calls, Some(Calls::Remote { .. }));
            // Workers use none of the memory of this process.
            if memory.is_none() && !is_remote {
                let reserved = self.memory_for_job(0, |stage| work.report(stage, 0, None));
                memory = Some(reserved.await);
                newest = table.newest().await?;
                continue;
            }
            let before = match backfill.changed_since {
                Some(since) => Before::of(self, since, &binding).await?,
                None => None,
            };
            let changed_since = match &before {
                Some(before) if before.had_same_inputs() => {
                    changed_rows(&newest, backfill, &binding).await
                }
                _ => None,
            };
            let wanted = Wanted {
                newest: &newest,
                source: source.as_deref(),
                before: before.as_ref(),
                changed_since,
                binding: &binding,
                calls: calls.as_ref(),
                backfill,
            };
            stage_all(&mut staging, &wanted, work)
                .instrument(info_span!("compute columns"))
                .await?;
            if !staging.check().await? {
                continue;
            }
            staging.begin_commit().await?;
            work.set_committing(true);
            let commit = commit_staged(&newest, &staging);
            match self.commit(Policy::Rewrite, commit).await {
                Ok(committed) => {
                    staging.forget().await;
                    return Ok(self.finished(&wanted, committed, staging));
                }
                Err(error) => {
                    if is_conflict(&error) {
                        staging.committing = false;
                        work.set_committing(false);
                    }
                    attempts.lost(error).await.map_err(always_lost("table"))?;
                }
            }
            newest = table.newest().await?;
        }
    }

    /// The version to read from, if it is not the newest.
    async fn source(&self, backfill: &Backfill, newest: &Dataset) -> Result<Option<Arc<Dataset>>> {
        let Some(version) = backfill.read_version else {
            return Ok(None);
        };
        let options = ReadOptions {
            version: Some(version),
            ..ReadOptions::default()
        };
        let source = self.dataset(options).await?;
        Ok(Some(source).filter(|source| source.version_id() != newest.version_id()))
    }

    fn finished(
        &self,
        wanted: &Wanted<'_>,
        committed: Option<Dataset>,
        mut staging: Staging,
    ) -> Backfilled {
        let newest: &Dataset = wanted.newest;
        let mut tally = Tally::default();
        let ids: Vec<u64> = staging.files.keys().copied().collect();
        for staged in staging.files.values() {
            tally.add(staged.tally.clone());
        }
        let failed = staging.files.iter();
        let failed_fragments = failed
            .filter(|(_, staged)| staged.tally.failed > 0)
            .map(|(id, staged)| (*id, staged.tally.failed))
            .collect();
        let after = committed.as_ref().unwrap_or(newest);
        let remaining = after
            .get_fragments()
            .iter()
            .filter(|fragment| !ids.contains(&(fragment.id() as u64)))
            .filter(|fragment| !wanted.has_values(fragment))
            .map(live_rows)
            .sum();
        // The commit omits files that do not change any value.
        staging.retain(|_, staged| is_touched(&staged.tally));
        Backfilled {
            rows_assigned: tally.assigned,
            rows_failed: tally.failed,
            rows_remaining: remaining,
            source_version: wanted.source.unwrap_or(newest).version_id(),
            published_version: committed.map(|dataset| self.committed(dataset)),
            failed_fragments,
            function: match &wanted.binding.computation {
                Computation::Sql { .. } => None,
                Computation::Function(one) => Some((one.name.clone(), one.version.clone())),
            },
            failures: tally.failures,
        }
    }
}

/// The task of one round of a backfill.
pub(super) struct Wanted<'a> {
    pub newest: &'a Arc<Dataset>,
    /// A version to read from, if it is not the newest.
    pub source: Option<&'a Dataset>,
    /// The earlier backfill, if only changed fragments are computed.
    pub before: Option<&'a Before>,
    /// Only rows that have changed since are computed.
    pub changed_since: Option<Since>,
    pub binding: &'a Arc<Binding>,
    pub calls: Option<&'a Calls>,
    pub backfill: &'a Backfill,
}

impl Wanted<'_> {
    /// The fragments to fill. Of an older version, those that are unchanged since.
    fn fragments(&self) -> Vec<FileFragment> {
        let ids = self.binding.input_ids();
        let most = self.backfill.max_fragments.unwrap_or(usize::MAX);
        let fragments = self.newest.get_fragments().into_iter().take(most);
        fragments
            .filter(|fragment| {
                self.source.is_none_or(|source| {
                    let old = source.get_fragment(fragment.id());
                    old.is_some_and(|old| {
                        Basis::of(old.metadata(), &ids) == Basis::of(fragment.metadata(), &ids)
                    })
                })
            })
            .filter(|fragment| !self.has_values(fragment))
            .collect()
    }

    /// Whether a fragment has the values of the earlier backfill.
    fn has_values(&self, fragment: &FileFragment) -> bool {
        self.before
            .is_some_and(|before| before.has(fragment.metadata()))
    }
}

/// The backfill since which a row must have changed to be computed again by a function. A compaction makes new fragments
/// of unchanged rows, and a function may take long. `None`: all rows of a changed fragment are computed, since there were
/// changes that the rows do not record, or since SQL is faster than that check.
async fn changed_rows(
    newest: &Arc<Dataset>,
    backfill: &Backfill,
    binding: &Binding,
) -> Option<Since> {
    let since = backfill.changed_since?;
    let has_lineage = newest.manifest().uses_stable_row_ids();
    if !has_lineage || matches!(binding.computation, Computation::Sql { .. }) {
        return None;
    }
    // The earlier backfill itself is the published version.
    let versions = (since.computed + 1..=newest.version_id()).filter(|one| *one != since.published);
    check_each(newest, versions).await.ok()?;
    Some(since)
}

/// Stages the remaining fragments, and drops staged ones that other writers changed meanwhile.
async fn stage_all(staging: &mut Staging, wanted: &Wanted<'_>, work: &WorkContext) -> Result<()> {
    let fragments = wanted.fragments();
    let ids = wanted.binding.inputs.field_ids();
    let mut unchanged = HashSet::new();
    for fragment in &fragments {
        let id = fragment.id() as u64;
        if let Some(staged) = staging.files.get(&id)
            && staged.basis == Basis::of(fragment.metadata(), &ids)
            && staged.has_deletions_of(wanted.newest, fragment).await
        {
            unchanged.insert(id);
        }
    }
    staging.retain(|id, _| unchanged.contains(&id));
    let missing: Vec<FileFragment> = fragments
        .into_iter()
        .filter(|fragment| !staging.files.contains_key(&(fragment.id() as u64)))
        .collect();
    let mut staged = wanted.compute(missing, work)?;
    loop {
        // The checkpoint has a fragment soon, although the next one may take hours.
        let next = match staging.is_saved() {
            true => staged.try_next().await?,
            false => match tokio::time::timeout(INTERVAL, staged.try_next()).await {
                Ok(next) => next?,
                Err(_) => {
                    staging.save(wanted.binding).await;
                    continue;
                }
            },
        };
        let Some(staged) = next else { break };
        staging.add(staged, wanted.binding).await;
    }
    Ok(())
}

/// Commits the staged files; `None` if they change nothing.
async fn commit_staged(newest: &Arc<Dataset>, staging: &Staging) -> Result<Option<Dataset>> {
    let replacements: Vec<_> = staging
        .files
        .values()
        .filter(|staged| is_touched(&staged.tally))
        .map(|staged| staged.group.clone())
        .collect();
    if replacements.is_empty() {
        return Ok(None);
    }
    let operation = Operation::DataReplacement { replacements };
    let transaction = TransactionBuilder::new(newest.version_id(), operation).build();
    let committed = CommitBuilder::new(newest.clone())
        .with_skip_auto_cleanup(true)
        .execute(transaction)
        .await?;
    Ok(Some(committed))
}

fn is_touched(tally: &Tally) -> bool {
    tally.changed > 0
}

fn live_rows(fragment: &FileFragment) -> u64 {
    fragment.fast_logical_rows().unwrap_or(0) as u64
}
