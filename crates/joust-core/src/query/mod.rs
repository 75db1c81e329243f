//! Queries: from the bytes of a request to the bytes of a result.
//!
//! [`request`] decodes a body, [`vector`] resolves the vector column, and [`plan`] turns both into a Lance scan, a
//! [`text_search`], a search for the [`nearest`] rows or [`reads`] of rows in memory. [`answer`] runs it and encodes
//! its result.

mod answer;
mod changes;
mod columns;
mod explain;
mod fetch;
mod hybrid;
mod nearest;
mod output;
mod plan;
mod probes;
mod reads;
mod request;
mod sorting;
mod text;
mod text_search;
mod vector;
mod vector_search;
mod vectors;

use std::sync::Arc;
use std::time::SystemTime;

use datafusion::physical_plan::ExecutionPlan;
use lance::Dataset;

pub use answer::Answer;
pub(crate) use answer::FIRST_PART;
pub use changes::ChangeOptions;
pub(crate) use request::{Identity, decode};

use crate::error::{Error, Result};
use crate::ipc::Format;
use crate::memory::Reservation;
use crate::planning::planned;
use crate::schema::Evaluation;
use crate::table::{ReadOptions, Table};
use crate::vector::stale_rows;
use nearest::NearestRows;
use reads::Reads;
use request::Query;
use text_search::TextSearch;

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
}

/// Whether a body is a valid query, independent of the table.
pub fn check(body: &[u8]) -> Result<()> {
    Query::decode(body).map(drop)
}

impl Table {
    /// Runs a query. `body` is the JSON of the namespace interface or of the LanceDB SDKs; where they differ, the form
    /// of a value identifies the interface.
    pub async fn query(&self, body: &[u8], options: QueryOptions) -> Result<Answer> {
        let mut deadline = self.tables().query_deadline();
        let mut answer = deadline.spend(self.answer(body, options)).await?;
        answer.set_deadline(deadline);
        Ok(answer)
    }

    async fn answer(&self, body: &[u8], options: QueryOptions) -> Result<Answer> {
        let query = Arc::new(Query::decode(body)?);
        let dataset = self.queried(&query, &options).await?;
        let evaluation = query.evaluation(&dataset)?;
        let memory = self
            .memory_for_query(&dataset, query.order_by.is_some(), evaluation)
            .await?;
        let caches = self.caches()?;
        match self.plan(&dataset, &query, evaluation).await? {
            Planned::Text(search) => {
                let rows = Box::pin(search.rows(caches)).await?;
                return Answer::of_rows(rows, dataset, options.format, memory);
            }
            Planned::Nearest(search) => {
                if let Some(rows) = search.rows(caches).await? {
                    return Answer::of_rows(rows, dataset, options.format, memory);
                }
            }
            Planned::Reads(reads) => {
                let rows = reads.rows(caches).await?;
                return Answer::of_rows(rows, dataset, options.format, memory);
            }
            Planned::Scan => {}
        }
        let source = self.scanned(&dataset, evaluation);
        Box::pin(self.scan(source, query, options.format, memory)).await
    }

    /// Runs a Lance scan. The future is large: callers box it.
    async fn scan(
        &self,
        source: plan::Source,
        query: Arc<Query>,
        format: Format,
        memory: Reservation,
    ) -> Result<Answer> {
        let dataset = source.dataset.clone();
        let bytes = self.tables().memory().budget().sorting();
        let sorted = {
            let query = query.clone();
            planned(async move {
                let scanner = plan::scanner(&source, &query).await?;
                sorting::plan(scanner, &query, &source, bytes).await
            })
        };
        let rows = sorted.await?.start()?;
        Answer::start(rows, &query, dataset, format, memory)
    }

    /// Lance's plan of a query.
    async fn plan_of_scan(
        &self,
        source: plan::Source,
        query: Arc<Query>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        planned(async move {
            let scanner = plan::scanner(&source, &query).await?;
            let plan = stale_rows::plan(&scanner, &source.dataset).await;
            plan.map_err(Error::of_input)
        })
        .await
    }

    fn scanned(&self, dataset: &Arc<Dataset>, evaluation: Option<Evaluation>) -> plan::Source {
        plan::Source {
            dataset: dataset.clone(),
            read_ahead: self.tables().memory().budget().read_ahead(),
            rows_at_once: evaluation.map(|evaluation| evaluation.rows),
        }
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
        query: &Query,
        evaluation: Option<Evaluation>,
    ) -> Result<Planned> {
        let caches = self.caches()?;
        if let Some(text) = &query.text {
            let source = self.scanned(dataset, evaluation);
            let search = Box::pin(TextSearch::new(&source, query, text, caches));
            if let Some(search) = search.await? {
                return Ok(Planned::Text(Box::new(search)));
            }
        }
        if let Some(search) = NearestRows::new(dataset, query, caches).await? {
            return Ok(Planned::Nearest(Box::new(search)));
        }
        if let Some(reads) = Reads::new(dataset, query, caches).await? {
            return Ok(Planned::Reads(Box::new(reads)));
        }
        Ok(Planned::Scan)
    }
}

/// The strategy of a query.
enum Planned {
    /// Lance.
    Scan,
    Text(Box<TextSearch>),
    /// Vectors and rows in memory; or Lance, if they are not in memory.
    Nearest(Box<NearestRows>),
    /// Rows in memory that match a filter.
    Reads(Box<Reads>),
}
