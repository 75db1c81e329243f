//! Queries: from the bytes of a request to the bytes of a result.
//!
//! 1. [`request`] decodes a body.
//! 2. [`plan`] chooses the strategy: a [`text_search`], a search for the [`nearest`] rows, [`reads`] of rows in memory,
//!    or a Lance [`scan`].
//! 3. The plan executes, or [`explain`] prints it.
//! 4. [`output`] assembles the columns of the rows, and [`answer`] encodes them.

mod answer;
mod changes;
mod columns;
mod explain;
mod fetch;
mod hybrid;
mod nearest;
mod offset;
mod output;
mod plan;
mod probes;
mod reads;
mod request;
mod row_changes;
mod row_search;
mod scan;
mod sorting;
mod text;
mod text_search;
mod vector;
mod vector_search;
mod vectors;
mod visible_changes;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lance::Dataset;
use tracing::field::Empty;
use tracing::{Instrument, info_span};

pub use answer::Answer;
pub(crate) use answer::FIRST_PART;
pub use changes::ChangeOptions;
pub(crate) use request::{Identity, Query, decode};
pub(crate) use row_changes::{
    ChangedRows, Record, changed_fragments, check_each, deleted_rows, former_fragments, numbers,
    record_of,
};
pub(crate) use row_search::RowSearch;

use crate::error::Result;
use crate::ipc::Format;
use crate::memory::Reservation;
use crate::schema::Evaluation;
use crate::table::{ReadOptions, Table};
use plan::Plan;
use scan::{Scan, Source};

/// The parameters of a query besides its body.
#[derive(Debug, Clone)]
pub struct QueryOptions {
    /// The identifier in the request's path; a body that names another object is rejected.
    pub id: Vec<String>,
    pub format: Format,
    /// Only use a state that was checked after this time.
    pub not_before: Option<SystemTime>,
    /// Do not answer from an older version, if this one exists.
    pub min_version: Option<u64>,
    /// Time that the request has left; no limit of its own when absent.
    pub timeout: Option<Duration>,
}

/// Whether a body is a valid query, independent of the table.
pub fn check(body: &[u8]) -> Result<()> {
    Query::decode(body).map(drop)
}

impl Table {
    /// Runs a query. `body` is the JSON of the namespace interface or of the LanceDB SDKs; where they differ, the form
    /// of a value identifies the interface.
    pub async fn query(&self, body: &[u8], options: QueryOptions) -> Result<Answer> {
        let mut deadline = self.tables().query_deadline(options.timeout);
        let mut answer = deadline.spend(self.answer(body, options)).await?;
        answer.set_deadline(deadline);
        Ok(answer)
    }

    async fn answer(&self, body: &[u8], options: QueryOptions) -> Result<Answer> {
        let (plan, memory) = self.planned(Query::decode(body)?, &options).await?;
        plan.execute(self.caches()?, options.format, memory)
            .instrument(info_span!("execute query"))
            .await
    }

    /// Opens the version, reserves the memory of the query, and plans it.
    async fn planned(&self, query: Query, options: &QueryOptions) -> Result<(Plan, Reservation)> {
        let (dataset, query) = self.opened(query, options).await?;
        let evaluation = query.evaluation(&dataset)?;
        let memory = self
            .memory_for_query(&dataset, query.order_by.is_some(), evaluation)
            .await?;
        let plan = self.plan(&dataset, query, evaluation);
        let plan = plan
            .instrument(info_span!("plan query", strategy = Empty))
            .await?;
        Ok((plan, memory))
    }

    /// The version to read, and the query restricted to the rows that the caller may use.
    async fn opened(
        &self,
        mut query: Query,
        options: &QueryOptions,
    ) -> Result<(Arc<Dataset>, Arc<Query>)> {
        let version = self.queried(&query, options);
        let dataset = version.instrument(info_span!("open version")).await?;
        if let Some(rows) = self.rows() {
            rows.admit(&dataset, query.condition()).await?;
            query.restrict(rows)?;
        }
        Ok((dataset, Arc::new(query)))
    }

    /// The version to read.
    async fn queried(&self, query: &Query, options: &QueryOptions) -> Result<Arc<Dataset>> {
        query.check_addressed_to(&options.id)?;
        let table = match query.branch.as_deref() {
            Some(branch) => self.on_branch(Some(branch)),
            None => self.clone(),
        };
        table
            .dataset(ReadOptions {
                version: query.version,
                not_before: options.not_before,
                min_version: options.min_version,
            })
            .await
    }

    async fn plan(
        &self,
        dataset: &Arc<Dataset>,
        query: Arc<Query>,
        evaluation: Option<Evaluation>,
    ) -> Result<Plan> {
        let budget = self.tables().memory().budget();
        let source = Source {
            dataset: dataset.clone(),
            read_ahead: budget.read_ahead(),
            rows_at_once: evaluation.map(|evaluation| evaluation.rows),
        };
        let scan = Scan {
            source,
            query,
            sort_bytes: budget.sorting(),
        };
        let plan = Plan::choose(scan, self.caches()?).await?;
        tracing::Span::current().record("strategy", plan.name());
        Ok(plan)
    }
}
