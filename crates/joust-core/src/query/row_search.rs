//! A search within a statement: the ids of its rows, and their distances and scores.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field};
use futures::StreamExt;
use futures::stream::BoxStream;
use lance::Dataset;
use lance_datafusion::exec::{LanceExecutionOptions, execute_plan};

use super::Planned;
use super::output::{DISTANCE, RELEVANCE, SCORE};
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
    planned: Planned,
}

impl RowSearch {
    /// `query` requests row ids and no columns. Reports its errors.
    pub async fn new(table: Table, dataset: Arc<Dataset>, query: Query) -> Result<Self> {
        check_vectors(&dataset, &query)?;
        let evaluation = query.evaluation(&dataset)?;
        let planned = table.plan(&dataset, &query, evaluation).await?;
        let search = Self {
            table,
            dataset,
            query: Arc::new(query),
            evaluation,
            planned,
        };
        if matches!(search.planned, Planned::Scan) {
            let source = search.table.scanned(&search.dataset, evaluation);
            search
                .table
                .plan_of_scan(source, search.query.clone())
                .await?;
        }
        Ok(search)
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
        let caches = self.table.caches()?;
        match &self.planned {
            Planned::Text(search) => return Ok(Box::pin(search.rows(caches)).await?.batches),
            Planned::Nearest(search) => {
                if let Some(rows) = search.rows(caches).await? {
                    return Ok(rows.batches);
                }
            }
            Planned::Reads(_) | Planned::Scan => {}
        }
        let source = self.table.scanned(&self.dataset, self.evaluation);
        let plan = self.table.plan_of_scan(source, self.query.clone()).await?;
        let rows = execute_plan(plan, LanceExecutionOptions::default());
        let rows = rows.map_err(Error::of_input)?;
        Ok(rows.map(|batch| batch.map_err(Error::of_input)).boxed())
    }

    /// Its plan, in the words of [`Table::explain_plan`].
    pub async fn explain(&self, verbose: bool) -> Result<String> {
        let (dataset, query) = (&self.dataset, &self.query);
        self.table
            .plan_text(&self.planned, dataset, query, self.evaluation, verbose)
            .await
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
