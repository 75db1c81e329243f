//! Reads columns of rows by row id, from the caches where possible.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use lance::Dataset;
use lance::dataset::{ProjectionRequest, TakeBuilder};
use lance_core::datatypes::Field;

use super::decoded_columns::Reading;
use super::row_caches::RowCaches;
use super::stored_rows::{self, WithJson};
use crate::error::{Code, Error, Result};
use crate::planning::planned;
use crate::version_key::VersionKey;

/// Reads columns of a version: names and SQL.
pub struct Reader {
    dataset: Arc<Dataset>,
    columns: Vec<(String, String)>,
}

impl Reader {
    pub fn new(dataset: Arc<Dataset>, columns: Vec<(String, String)>) -> Self {
        Self { dataset, columns }
    }

    /// The columns of some live rows, in the rows' order.
    pub async fn read(&self, rows: &[u64], caches: &RowCaches) -> Result<Vec<ArrayRef>> {
        if self.columns.is_empty() {
            return Ok(Vec::new());
        }
        let fields = self.columns.iter().map(|(_, sql)| self.column(sql));
        let fields: Option<Vec<&Field>> = fields.collect();
        let fields = fields.filter(|_| caches.is_on() && !rows.is_empty());
        let Some(fields) = fields else {
            return self.whole(rows.to_vec(), &self.columns).await;
        };
        let mut found = Vec::with_capacity(fields.len());
        let reading = Reading::Rows(rows.len());
        for field in fields {
            found.push(caches.decoded.column(&self.dataset, field, reading).await?);
        }
        let mut taken: Vec<Option<ArrayRef>> = vec![None; found.len()];
        if found.iter().any(Option::is_some) {
            let addresses = caches.addresses(&self.dataset).await?;
            if let Some(places) = addresses.places(rows) {
                for (taken, found) in taken.iter_mut().zip(&found) {
                    if let Some(column) = found {
                        *taken = column.take(&places)?;
                    }
                }
            }
        }
        self.complete(rows, taken, caches).await
    }

    /// Reads the columns that were not in memory.
    async fn complete(
        &self,
        rows: &[u64],
        taken: Vec<Option<ArrayRef>>,
        caches: &RowCaches,
    ) -> Result<Vec<ArrayRef>> {
        let missing = self.columns.iter().zip(&taken);
        let missing: Vec<(String, String)> = missing
            .filter(|(_, taken)| taken.is_none())
            .map(|(column, _)| column.clone())
            .collect();
        let mut read = match missing.is_empty() {
            true => Vec::new(),
            false => self.cached_rows(rows, &missing, caches).await?,
        }
        .into_iter();
        let columns = taken.into_iter().map(|taken| taken.or_else(|| read.next()));
        columns
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Error::new(Code::Internal, "a column that was read is missing"))
    }

    /// Reads columns through the row cache: only rows that are not cached are read.
    async fn cached_rows(
        &self,
        rows: &[u64],
        columns: &[(String, String)],
        caches: &RowCaches,
    ) -> Result<Vec<ArrayRef>> {
        let paths: Vec<&str> = columns.iter().map(|(_, sql)| sql.as_str()).collect();
        let cached = caches
            .row_cache(VersionKey::of(&self.dataset), paths.join(","))
            .await?;
        // Boxed, because a read from Lance is rare.
        let read = |rows| Box::pin(self.batch(rows, columns));
        Box::pin(cached.columns(rows, read)).await
    }

    async fn whole(&self, rows: Vec<u64>, columns: &[(String, String)]) -> Result<Vec<ArrayRef>> {
        Ok(Box::pin(self.batch(rows, columns))
            .await?
            .columns()
            .to_vec())
    }

    async fn batch(&self, rows: Vec<u64>, columns: &[(String, String)]) -> Result<RecordBatch> {
        let count = rows.len();
        let batch = match WithJson::of(&self.dataset, columns) {
            WithJson::Columns(fields) => stored_rows::take(&self.dataset, &rows, &fields).await?,
            WithJson::Checks(fields) => {
                stored_rows::take(&self.dataset, &rows, &fields).await?;
                self.taken(rows, columns).await?
            }
            WithJson::None => self.taken(rows, columns).await?,
        };
        if batch.num_rows() != count {
            return Err(Error::new(
                Code::Internal,
                "a row that was found is not in the table",
            ));
        }
        Ok(batch)
    }

    async fn taken(&self, rows: Vec<u64>, columns: &[(String, String)]) -> Result<RecordBatch> {
        let (dataset, projection) = (self.dataset.clone(), columns.to_vec());
        let take = || {
            TakeBuilder::try_new_from_ids(dataset, rows, ProjectionRequest::from_sql(projection))
        };
        let take = match columns.iter().all(|(_, sql)| self.column(sql).is_some()) {
            true => take().map_err(Error::of_input)?,
            false => planned(async move { take().map_err(Error::of_input) }).await?,
        };
        take.execute().await.map_err(Error::of_input)
    }

    /// A column of the table, as opposed to an expression.
    fn column(&self, sql: &str) -> Option<&Field> {
        self.dataset.schema().field(sql)
    }
}
