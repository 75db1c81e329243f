//! Refresh a view: compute the rows that changed, or all, and commit them.
//!
//! 1. [Plan](super::planned_query) the query over the sources. Its [shape](super::shape) says whether rows can
//!    be computed by themselves.
//! 2. Find the [scope](super::scope): the rows of the source that differ from the version of the last refresh.
//! 3. Run the query over these rows, over their groups or over all, and [write](super::write) the result.
//! 4. [Commit](super::commit) it, with the versions of the sources in the view's [`State`].

use parking_lot::Mutex;
use tracing::{Instrument, info_span};

use super::commit::Computed;
use super::compute::{Inputs, Outcome};
use super::state::State;
use super::{Refresh, RefreshMode, Refreshed, ViewDefinition};
use crate::error::Result;
use crate::sql::session;
use crate::table::Table;
use crate::work::WorkContext;

/// Default and largest number of partitions of a query that run concurrently. With one partition there is no merge of
/// sorted partitions, which cannot spill.
const CONCURRENCY: usize = 1;
const MOST_CONCURRENCY: usize = 32;

impl Table {
    /// Brings a view up to date. Dropping the future leaves the view unchanged, unless the commit is running.
    pub async fn refresh_view(&self, refresh: &Refresh, work: &WorkContext) -> Result<Refreshed> {
        let table = self.begun().await?;
        let view = table.newest().await?;
        let definition = ViewDefinition::of(&view)?;
        let mut sources = Vec::with_capacity(refresh.sources.len());
        for source in &refresh.sources {
            sources.push((source.name.clone(), source.open(self.tables()).await?));
        }
        let concurrency = refresh.concurrency.unwrap_or(CONCURRENCY);
        let memory = self
            .memory_for_job(0, |stage| work.report(stage, 0, None))
            .await;
        let context = session::new(
            concurrency.clamp(1, MOST_CONCURRENCY),
            (memory.bytes() / 2).min(session::MEMORY),
            self.tables().view_disk(),
        )?;
        let state = State::of(&view);
        let inputs = Inputs {
            table: self,
            view: &view,
            state: state.as_ref(),
            context,
            sql: &definition.sql,
            function: definition.function.as_ref(),
            sources: &sources,
            refresh,
            memory: Mutex::new(Some(memory)),
        };
        let compute = inputs.compute(work).instrument(info_span!("compute view"));
        let computed = match definition.function {
            None => self.tables().view_deadline().spend(compute).await?,
            // Each call of the function has a deadline.
            Some(_) => compute.await?,
        };
        let sources: Vec<_> = sources.iter().map(|(_, dataset)| dataset.clone()).collect();
        let function = definition.function.map(|one| (one.name, one.version));
        let source_versions = sources.iter().map(|source| source.version_id()).collect();
        let mut computed = match computed {
            Outcome::Computed(computed) => *computed,
            Outcome::UpToDate(failures) => {
                return Ok(Refreshed {
                    version: view.version_id(),
                    mode: RefreshMode::Incremental,
                    rows_written: 0,
                    rows_removed: 0,
                    source_versions,
                    failures: failures.rows,
                    failed_fragments: failures.fragments,
                    function,
                });
            }
        };
        if let Some(checkpoint) = &computed.checkpoint {
            checkpoint.begin_commit().await?;
        }
        computed.written.keep();
        work.set_committing(true);
        let committed = table
            .commit_refresh(&Computed {
                written: &computed.written,
                replaced: &computed.replaced,
                // The checkpoint of a full refresh belongs to a state, too.
                depends_on_state: computed.full_because.is_none() || function.is_some(),
                // A view with a limit lacks rows: only a full refresh adds them.
                has_source_ids: function.is_some() && refresh.output_limit.is_none(),
                sources: &sources,
                before: state.as_ref(),
            })
            .await?;
        if let Some(checkpoint) = computed.checkpoint {
            checkpoint.remove().await;
        }
        Ok(Refreshed {
            version: committed.version,
            mode: match computed.full_because {
                Some(reason) => RefreshMode::Full(reason),
                None => RefreshMode::Incremental,
            },
            rows_written: computed.written.rows,
            rows_removed: committed.rows_removed,
            source_versions,
            failures: computed.failures.rows,
            failed_fragments: computed.failures.fragments,
            function,
        })
    }
}
