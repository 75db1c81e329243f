//! SQL statements over several tables.

use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use crate::Result;
use crate::query::Answer;
use crate::schema::RowFilter;
use crate::sql::{
    self, Column, Description, Information, Listed, Listing, Opener, Output, Resources, Rows,
};
use crate::storage::StorageOptions;
use crate::table::ReadOptions;

/// The resolution of a name in a statement.
pub enum SqlSource {
    Table {
        location: String,
        storage_options: StorageOptions,
        /// The main branch when absent.
        branch: Option<String>,
        options: ReadOptions,
        /// SQL: the caller may use the rows for which one of them is true. Absent: all rows.
        rows: Option<Vec<String>>,
    },
    /// `information_schema.NAME`, in lower case.
    Information(String),
}

impl Engine {
    /// Runs a query. `body` is the JSON `{query, parameters, limit}`; `sources` resolve the tables of
    /// [`sql::read_statement`], in that order; `listing` is the content of `information_schema`; `timeout` is the time
    /// that the request has left.
    pub async fn sql(
        &self,
        body: &[u8],
        sources: Vec<SqlSource>,
        listing: Listing,
        output: Output,
        timeout: Option<Duration>,
    ) -> Result<Answer> {
        let sources = self.sql_sources(sources, listing)?;
        sql::run(body, sources, output, self.sql_resources(timeout)).await
    }

    /// As [`sql`](Self::sql), without an encoding.
    pub async fn sql_rows(
        &self,
        body: &[u8],
        sources: Vec<SqlSource>,
        listing: Listing,
        timeout: Option<Duration>,
    ) -> Result<Rows> {
        let sources = self.sql_sources(sources, listing)?;
        sql::rows(body, sources, self.sql_resources(timeout)).await
    }

    /// Plans a query and does not run it.
    pub async fn describe_sql(
        &self,
        body: &[u8],
        sources: Vec<SqlSource>,
        listing: Listing,
        timeout: Option<Duration>,
    ) -> Result<Description> {
        let sources = self.sql_sources(sources, listing)?;
        sql::describe(body, sources, self.sql_resources(timeout)).await
    }

    /// The types of the parameters of a statement that changes rows; nothing runs. `table`: the table that it changes.
    pub async fn describe_sql_change(
        &self,
        body: &[u8],
        sources: Vec<SqlSource>,
        listing: Listing,
        (location, storage_options): (String, StorageOptions),
        options: ReadOptions,
    ) -> Result<Description> {
        let sources = self.sql_sources(sources, listing)?;
        let table = self.tables.branch(&location, storage_options, None);
        let resources = self.sql_resources(None);
        sql::describe_change(body, sources, (table, options), resources).await
    }

    /// The rows that a statement writes, as an Arrow stream for the operation that writes them. `table`: the table that
    /// it changes, if there is one; `timeout` is the time that the request has left.
    pub async fn sql_written_rows(
        &self,
        body: &[u8],
        sources: Vec<SqlSource>,
        listing: Listing,
        table: Option<(String, StorageOptions)>,
        options: ReadOptions,
        timeout: Option<Duration>,
    ) -> Result<Answer> {
        let sources = self.sql_sources(sources, listing)?;
        let table = table.map(|(location, storage_options)| {
            (
                self.tables.branch(&location, storage_options, None),
                options,
            )
        });
        sql::written_rows(body, sources, table, self.sql_resources(timeout)).await
    }

    /// The result of a statement that the server ran.
    pub async fn sql_result(&self, columns: Vec<Column>, output: Output) -> Result<Answer> {
        sql::result(columns, output, self.memory()).await
    }

    /// As [`sql_result`](Self::sql_result), without an encoding.
    pub async fn sql_result_rows(&self, columns: Vec<Column>) -> Result<Rows> {
        sql::result_rows(columns, self.memory()).await
    }

    fn sql_resources(&self, timeout: Option<Duration>) -> Resources {
        Resources {
            memory: self.memory().clone(),
            deadline: self.tables.query_deadline(timeout),
            disk: self.tables.view_disk(),
        }
    }

    fn sql_sources(&self, sources: Vec<SqlSource>, listing: Listing) -> Result<Vec<sql::Source>> {
        let listing = Arc::new(listing);
        sources
            .into_iter()
            .map(|source| self.sql_source(source, &listing))
            .collect()
    }

    fn sql_source(&self, source: SqlSource, listing: &Arc<Listing>) -> Result<sql::Source> {
        Ok(match source {
            SqlSource::Table {
                location,
                storage_options,
                branch,
                options,
                rows,
            } => {
                let table = self
                    .tables
                    .branch(&location, storage_options, branch.as_deref());
                let table = match rows {
                    Some(conditions) => table.with_rows(RowFilter::any(&conditions)?),
                    None => table,
                };
                sql::Source::Table { table, options }
            }
            SqlSource::Information(name) => {
                let tables = self.tables.clone();
                let open: Opener = Arc::new(move |listed: &Listed| {
                    tables.table(&listed.location, listed.storage_options.clone())
                });
                sql::Source::Information(Information::new(&name, listing.clone(), open)?)
            }
        })
    }
}
