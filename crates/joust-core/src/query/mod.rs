//! Queries: from the bytes of a request to the bytes of an answer.
//!
//! [`request`] decodes a body, [`vector`] finds what a vector is compared with, [`plan`] turns both
//! into a Lance scan or a [`text_search`], [`answer`] runs it and encodes what comes out.

mod answer;
mod columns;
mod explain;
pub(crate) mod expression;
mod hybrid;
mod plan;
mod probes;
mod request;
mod sorting;
mod text;
mod text_search;
mod vector;
mod vectors;

use std::sync::Arc;
use std::time::SystemTime;

use lance::Dataset;

pub use answer::Answer;
pub(crate) use columns::{canonical as canonical_column, unknown as unknown_column};
pub(crate) use vector::{distance_type, element as vector_element, is_vector};

use crate::error::{Error, Result};
use crate::ipc::Format;
use crate::table::{ReadOptions, Table};
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
        let query = Query::decode(body)?;
        let (plan, dataset) = self.plan(&query, &options).await?;
        let version = dataset.version_id();
        let memory = self
            .memory_for_query(&dataset, query.order_by.is_some())
            .await?;
        match plan {
            Planned::Scan(scanner) => {
                let bytes = self.engine().memory().budget().sorting();
                let rows = sorting::run(*scanner, &query, &dataset, bytes).await?;
                Answer::start(rows, &query, version, options.format, memory)
            }
            Planned::Text(search) => {
                let rows = search.rows(self.handle().text()).await?;
                Answer::of_rows(rows, version, options.format, memory)
            }
        }
    }

    async fn plan(&self, query: &Query, options: &QueryOptions) -> Result<(Planned, Arc<Dataset>)> {
        query.check_addressed_to(&options.id)?;
        let table = match query.branch.as_deref() {
            Some(branch) => self.on_branch(Some(branch)),
            None => self.clone(),
        };
        let dataset = table
            .dataset(ReadOptions {
                version: query.version,
                not_before: options.not_before,
                min_version: options.min_version,
            })
            .await?;
        let source = plan::Source {
            dataset: dataset.clone(),
            read_ahead: self.engine().memory().budget().read_ahead(),
        };
        if let Some(text) = &query.text {
            let caches = self.handle().text();
            if let Some(search) = TextSearch::new(&source, query, text, caches).await? {
                return Ok((Planned::Text(Box::new(search)), dataset));
            }
        }
        let scanner = plan::scanner(&source, query).await?;
        Ok((Planned::Scan(Box::new(scanner)), dataset))
    }
}

/// Who answers.
enum Planned {
    Scan(Box<lance::dataset::scanner::Scanner>),
    Text(Box<TextSearch>),
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
