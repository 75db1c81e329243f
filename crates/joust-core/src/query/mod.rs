//! Queries: from the bytes of a request to the bytes of an answer.
//!
//! [`request`] decodes a body, [`vector`] finds what a vector is compared with, [`plan`] turns both
//! into a Lance scan, a [`text_search`], a search for the [`nearest`] rows or [`reads`] of rows in memory;
//! [`answer`] runs it and encodes what comes out.

mod answer;
mod columns;
mod explain;
mod found;
mod hybrid;
mod nearest;
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

use std::future::Future;
use std::sync::Arc;
use std::time::SystemTime;

use datafusion::physical_plan::ExecutionPlan;
use lance::Dataset;

pub(crate) use crate::schema::expression;
pub use answer::Answer;
pub(crate) use answer::FIRST_PART;
pub(crate) use columns::{canonical as canonical_column, unknown as unknown_column};
pub(crate) use request::{Identity, decode};
pub(crate) use vector::{distance_type, element as vector_element, is_vector};

use crate::error::{Error, Result};
use crate::ipc::Format;
use crate::memory::Reservation;
use crate::nearest::gone;
use crate::planning::planned;
use crate::rows::tests;
use crate::schema::Evaluation;
use crate::table::{ReadOptions, Table};
use expression::Expression;
use nearest::NearestRows;
use reads::Reads;
use request::Query;
use text_search::TextSearch;

/// What the server knows about a query besides its body.
#[derive(Debug, Clone)]
pub struct QueryOptions {
    /// The identifier in the request's path; a body that names another object is refused.
    pub id: Vec<String>,
    pub format: Format,
    /// Do not answer from anything learnt before this time.
    pub not_before: Option<SystemTime>,
    /// Do not answer from an older version than this, if there is one as new.
    pub min_version: Option<u64>,
}

/// Whether a body can be read as a query; what the table has to do with it is left open.
pub fn check(body: &[u8]) -> Result<()> {
    Query::decode(body).map(drop)
}

impl Table {
    /// Runs a query. `body` is the JSON of the namespace interface or of the LanceDB SDKs; where
    /// they differ, the form of a value tells which it is.
    pub async fn query(&self, body: &[u8], options: QueryOptions) -> Result<Answer> {
        let mut deadline = self.engine().query_deadline();
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
        let caches = self.handle().caches();
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

    /// Lance's answer. What it takes is large: callers box it.
    async fn scan(
        &self,
        source: plan::Source,
        query: Arc<Query>,
        format: Format,
        memory: Reservation,
    ) -> Result<Answer> {
        let dataset = source.dataset.clone();
        let bytes = self.engine().memory().budget().sorting();
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
            let plan = gone::plan(&scanner, &source.dataset).await;
            plan.map_err(Error::of_input)
        })
        .await
    }

    fn scanned(&self, dataset: &Arc<Dataset>, evaluation: Option<Evaluation>) -> plan::Source {
        plan::Source {
            dataset: dataset.clone(),
            read_ahead: self.engine().memory().budget().read_ahead(),
            rows_at_once: evaluation.map(|evaluation| evaluation.rows),
        }
    }

    /// The version that a query asks.
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
        let caches = self.handle().caches();
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

/// Who answers.
enum Planned {
    /// Lance.
    Scan,
    Text(Box<TextSearch>),
    /// Vectors and rows in memory; or Lance, when they turn out not to be there.
    Nearest(Box<NearestRows>),
    /// Rows in memory that satisfy a filter.
    Reads(Box<Reads>),
}

/// The expression of a condition, unless it is one of plain comparisons, which make nothing but booleans.
pub(crate) fn computed_condition(sql: &str) -> Result<Vec<Expression>> {
    match sql.trim().is_empty() || tests(sql).is_some() {
        true => Ok(Vec::new()),
        false => Ok(vec![Expression::new(sql)?]),
    }
}

/// Bytes of a condition that may be planned where it is asked.
const SHORT: usize = 4 << 10;

/// Runs work that plans a condition. A short one of plain comparisons is planned at once: a change of threads
/// would take longer. All others go to a planning thread.
pub(crate) async fn planned_condition<T: Send + 'static>(
    sql: &str,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    match sql.len() <= SHORT && tests(sql).is_some() {
        true => work.await,
        false => planned(work).await,
    }
}

/// As [`predicate`], on a planning thread where it may take long.
pub(crate) async fn planned_predicate(dataset: &Arc<Dataset>, sql: &str) -> Result<String> {
    let (dataset, own) = (dataset.clone(), sql.to_string());
    planned_condition(sql, async move { predicate(&dataset, &own) }).await
}

/// A predicate as Lance may have it, once it has proven to be SQL over the table's columns: what
/// fails later is not its fault.
pub(crate) fn predicate(dataset: &Dataset, sql: &str) -> Result<String> {
    if sql.trim().is_empty() {
        return Err(Error::invalid(
            "the predicate is empty; give a SQL condition, or `true` for all rows",
        ));
    }
    let condition = expression::whole(sql)?;
    let mut scanner = dataset.scan();
    let checked = scanner
        .filter(&condition)
        .and_then(|scanner| scanner.get_expr_filter().map(drop));
    match checked {
        Ok(()) => Ok(condition),
        Err(error) => Err(Error::of_input(error)),
    }
}
