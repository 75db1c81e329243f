//! Update rows by SQL expressions.

use std::sync::Arc;

use lance::dataset::UpdateBuilder;

use super::Table;
use crate::error::{Error, Result};
use crate::query::{expression, unknown_column};

/// What an update sets, and where.
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// Column and SQL expression over the row as it was.
    pub set: Vec<(String, String)>,
    /// SQL; all rows when absent.
    pub predicate: Option<String>,
}

/// A committed update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Updated {
    pub version: u64,
    pub num_updated_rows: u64,
}

impl Table {
    /// Sets columns of the rows for which the predicate is true, in one commit.
    pub async fn update(&self, update: Update) -> Result<Updated> {
        if update.set.is_empty() {
            return Err(Error::invalid(
                "`updates` is empty; give at least one [column, expression]",
            ));
        }
        let dataset = self.newest().await?;
        let before = dataset.version_id();
        let mut builder = UpdateBuilder::new(dataset.clone());
        if let Some(predicate) = &update.predicate {
            let predicate = crate::query::predicate(&dataset, predicate)?;
            builder = builder.update_where(&predicate).map_err(blame)?;
        }
        for (column, value) in &update.set {
            if dataset.schema().resolve_case_insensitive(column).is_none() {
                return Err(unknown_column(&dataset, column));
            }
            let value = expression::condition(value)?;
            builder = builder.set(column, &value).map_err(blame)?;
        }
        let updated = builder
            .build()
            .map_err(blame)?
            .execute()
            .await
            .map_err(blame)?;
        let dataset = Arc::unwrap_or_clone(updated.new_dataset);
        let version = dataset.version_id().max(before);
        self.handle.publish(dataset);
        Ok(Updated {
            version,
            num_updated_rows: updated.rows_updated,
        })
    }
}

fn blame(error: lance::Error) -> Error {
    Error::from(error).blame_input()
}
