//! Count rows.

use lance_table::format::Fragment;

use super::{ReadOptions, Table};
use crate::error::{Error, Result};

impl Table {
    /// Live rows of the newest version, when both are known without waiting for storage.
    pub fn count_at_hand(&self) -> Option<u64> {
        let current = self.handle().peek()?;
        let fragments = current.dataset.manifest().fragments.iter();
        let rows: Option<usize> = fragments.map(Fragment::num_rows).sum();
        rows.map(|rows| rows as u64)
    }

    /// Live rows, or those for which a SQL predicate is true. Without a predicate the manifest knows.
    pub async fn count_rows(&self, predicate: Option<&str>, options: ReadOptions) -> Result<u64> {
        self.while_there(self.counted(predicate, options)).await
    }

    async fn counted(&self, predicate: Option<&str>, options: ReadOptions) -> Result<u64> {
        let dataset = self.dataset(options).await?;
        let Some(predicate) = predicate else {
            return Ok(dataset.count_rows(None).await? as u64);
        };
        let predicate = crate::query::predicate(&dataset, predicate)?;
        let count = dataset
            .count_rows(Some(predicate))
            .await
            .map_err(Error::of_input)?;
        Ok(count as u64)
    }
}
