//! SQL statements over several tables.

use std::sync::Arc;

use super::Engine;
use crate::Result;
use crate::query::Answer;
use crate::sql::{self, Information, Listed, Listing, Opener, Output, Resources};
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
    },
    /// `information_schema.NAME`, in lower case.
    Information(String),
}

impl Engine {
    /// Runs a statement. `body` is the JSON `{query, parameters, limit}`; `sources` resolve the names of
    /// [`sql::tables`], in that order; `listing` is the content of `information_schema`.
    pub async fn sql(
        &self,
        body: &[u8],
        sources: Vec<SqlSource>,
        listing: Listing,
        output: Output,
    ) -> Result<Answer> {
        let listing = Arc::new(listing);
        let sources = sources
            .into_iter()
            .map(|source| self.sql_source(source, &listing))
            .collect::<Result<_>>()?;
        let resources = Resources {
            memory: self.memory().clone(),
            deadline: self.tables.query_deadline(),
            disk: self.tables.view_disk(),
        };
        sql::run(body, sources, output, resources).await
    }

    fn sql_source(&self, source: SqlSource, listing: &Arc<Listing>) -> Result<sql::Source> {
        Ok(match source {
            SqlSource::Table {
                location,
                storage_options,
                branch,
                options,
            } => sql::Source::Table {
                table: self
                    .tables
                    .branch(&location, storage_options, branch.as_deref()),
                options,
            },
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
