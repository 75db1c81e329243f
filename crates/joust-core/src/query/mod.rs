//! Queries: from the bytes of a request to the bytes of an answer.
//!
//! [`request`] decodes a body, [`vector`] finds what a vector is compared with, [`plan`] turns both
//! into a Lance scan, [`answer`] runs it and encodes what comes out.

mod answer;
mod columns;
mod depth;
mod explain;
mod plan;
mod request;
mod text;
mod vector;

use std::time::SystemTime;

use lance::Dataset;

pub use answer::Answer;
pub(crate) use columns::unknown as unknown_column;
pub(crate) use vector::{distance_type, element as vector_element, is_vector};

use crate::error::{Error, Result};
use crate::ipc::Format;
use crate::table::{ReadOptions, Table};
use request::Query;

/// What the server knows about a query besides its body.
#[derive(Debug, Clone)]
pub struct QueryOptions {
    /// The identifier in the request's path; a body that names another object is refused.
    pub id: Vec<String>,
    pub format: Format,
    /// Do not answer from anything learnt before this time.
    pub not_before: Option<SystemTime>,
}

impl Table {
    /// Runs a query. `body` is the JSON of the namespace interface or of the LanceDB SDKs; where
    /// they differ, the form of a value tells which it is.
    pub async fn query(&self, body: &[u8], options: QueryOptions) -> Result<Answer> {
        let query = Query::decode(body)?;
        let (scanner, version) = self.plan(&query, &options).await?;
        Answer::start(scanner, &query, version, options.format).await
    }

    async fn plan(
        &self,
        query: &Query,
        options: &QueryOptions,
    ) -> Result<(lance::dataset::scanner::Scanner, u64)> {
        query.check_addressed_to(&options.id)?;
        let dataset = self
            .dataset(ReadOptions {
                version: query.version,
                not_before: options.not_before,
            })
            .await?;
        let version = dataset.version_id();
        Ok((plan::scanner(dataset, query).await?, version))
    }
}

/// Checks that a predicate is SQL over the table's columns, so that what fails later is not its
/// fault.
pub(crate) fn check_predicate(dataset: &Dataset, predicate: &str) -> Result<()> {
    if predicate.trim().is_empty() {
        return Err(Error::invalid(
            "the predicate is empty; give a SQL condition, or `true` for all rows",
        ));
    }
    depth::check(predicate)?;
    let mut scanner = dataset.scan();
    let checked = scanner
        .filter(predicate)
        .and_then(|scanner| scanner.get_expr_filter().map(drop));
    checked.map_err(|error| {
        let error = Error::from(error).blame_input();
        Error::new(
            error.code(),
            format!("the predicate can't be used: {}", error.message()),
        )
    })
}
