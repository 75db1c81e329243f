//! A search within a statement: the ids of its rows, and their distances and scores.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field};
use futures::stream::BoxStream;
use lance::Dataset;

use super::output::{DISTANCE, RELEVANCE, SCORE};
use super::plan::Plan;
use super::request::Query;
use super::vector;
use super::vectors::Vectors;
use crate::error::{Error, Result};
use crate::schema::Evaluation;
use crate::table::Table;

/// A search of a version whose strategy is chosen. It can run several times.
pub(crate) struct RowSearch {
    table: Table,
    dataset: Arc<Dataset>,
    query: Arc<Query>,
    evaluation: Option<Evaluation>,
    plan: Plan,
}

impl RowSearch {
    /// `query` requests row ids and no columns. Reports its errors.
    pub async fn new(table: Table, dataset: Arc<Dataset>, query: Query) -> Result<Self> {
        check_vectors(&dataset, &query)?;
        let evaluation = query.evaluation(&dataset)?;
        let query = Arc::new(query);
        let plan = table.plan(&dataset, query.clone(), evaluation).await?;
        plan.check().await?;
        Ok(Self {
            table,
            dataset,
            query,
            evaluation,
            plan,
        })
    }

    /// The columns that a query returns beside those of the table.
    pub fn results(query: &Query) -> Vec<Arc<Field>> {
        let names: &[&str] = match (&query.vector, &query.text) {
            (Vectors::None, _) => &[SCORE],
            (_, None) => &[DISTANCE],
            (_, Some(_)) => &[DISTANCE, SCORE, RELEVANCE],
        };
        let fields = names.iter();
        fields
            .map(|name| Arc::new(Field::new(*name, DataType::Float32, true)))
            .collect()
    }

    /// Whether a column is one of [`results`](Self::results).
    pub fn is_result(&self) -> impl Fn(&str) -> bool {
        let results = Self::results(&self.query);
        move |name| results.iter().any(|result| result.name() == name)
    }

    /// Bytes that it may hold. Code 13 if the expressions of its filter can need too much.
    pub fn bytes(&self) -> Result<usize> {
        self.table
            .bytes_for_query(&self.dataset, false, self.evaluation)
    }

    /// Runs it: batches of `_rowid` and the results, the best first.
    pub async fn rows(&self) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        self.plan.rows(self.table.caches()?).await
    }

    /// Its plan, in the words of [`Table::explain_plan`]; it shows the location of the table.
    pub async fn explain(&self, verbose: bool) -> Result<String> {
        self.plan.explain(verbose, self.table.caches()?).await
    }
}

/// Rejects several query vectors, unless the column has several vectors in a row.
fn check_vectors(dataset: &Dataset, query: &Query) -> Result<()> {
    if !matches!(query.vector, Vectors::Many(_)) {
        return Ok(());
    }
    let Some(dimension) = vector::dimension(&query.vector)? else {
        return Ok(());
    };
    match vector::column(dataset, query.vector_column.as_deref(), dimension)?.holds_several {
        true => Ok(()),
        false => Err(Error::invalid(
            "it takes one vector; send a query with several vectors to POST /v1/table/{id}/query",
        )),
    }
}
