//! Fetches the returned columns of matching rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use super::output::{Output, Ranked};
use super::request::Query;
use crate::cache::RowCaches;
use crate::error::Result;
use crate::plan_format::{self, Measured, Step};

/// Rows that are fetched together.
const ROWS: usize = 1_024;

/// A stream of the returned rows.
pub struct Rows {
    pub schema: SchemaRef,
    pub batches: BoxStream<'static, Result<RecordBatch>>,
}

/// The requested range of matching rows, and their columns.
pub struct Wanted {
    pub output: Arc<Output>,
    pub offset: usize,
    pub limit: usize,
}

impl Wanted {
    pub fn new(output: Output, query: &Query) -> Self {
        Self {
            output: Arc::new(output),
            offset: usize::try_from(query.offset.unwrap_or(0)).unwrap_or(usize::MAX),
            limit: usize::try_from(query.k).unwrap_or(usize::MAX),
        }
    }

    /// All matching rows.
    pub fn all(output: Output) -> Self {
        Self {
            output: Arc::new(output),
            offset: 0,
            limit: usize::MAX,
        }
    }

    /// The steps of the plan above the search step.
    pub fn steps(&self, verbose: bool, found: Step, measured: Option<Measured>) -> Step {
        let found = match self.output.is_sorted() {
            true => Step::new(format!("SortExec: expr=[{}]", self.output.order())).reads([found]),
            false => found,
        };
        Step::new(self.output.describe(verbose))
            .measured(measured)
            .reads([plan_format::limit(self.offset, self.limit, found)])
    }

    /// The columns of the requested range of rows.
    pub async fn fetch(&self, found: Vec<Ranked>, rows: &Arc<RowCaches>) -> Result<Rows> {
        let output = self.output.clone();
        if output.is_sorted() {
            let sorted = output.sorted(&found, self.offset, self.limit, rows);
            return Ok(Rows::whole(sorted.await?));
        }
        let end = self.offset.saturating_add(self.limit).min(found.len());
        let start = self.offset.min(end);
        let first_end = end.min(start + ROWS);
        let first = output.rows(&found[start..first_end], rows).await?;
        if first_end == end {
            return Ok(Rows::whole(first));
        }
        let schema = first.schema();
        let first = stream::once(async { Ok(first) });
        let (rows, found) = (rows.clone(), Arc::new(found));
        let rest = stream::iter((first_end..end).step_by(ROWS)).then(move |start| {
            let (output, rows, found) = (output.clone(), rows.clone(), found.clone());
            async move {
                let part = &found[start..end.min(start + ROWS)];
                output.rows(part, &rows).await
            }
        });
        Ok(Rows {
            schema,
            batches: first.chain(rest).boxed(),
        })
    }
}

impl Rows {
    /// Reads all of them and returns their number.
    pub async fn count(mut self) -> Result<usize> {
        let mut count = 0;
        while let Some(batch) = self.batches.next().await {
            count += batch?.num_rows();
        }
        Ok(count)
    }

    fn whole(batch: RecordBatch) -> Self {
        Self {
            schema: batch.schema(),
            batches: stream::once(async { Ok(batch) }).boxed(),
        }
    }
}
