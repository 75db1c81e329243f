//! Count rows.

use super::{ReadOptions, Table};
use crate::at_once::elsewhere;
use crate::error::{Error, Result};

impl Table {
    /// Live rows, or those for which a SQL predicate is true. Without a predicate the manifest knows.
    pub async fn count_rows(&self, predicate: Option<&str>, options: ReadOptions) -> Result<u64> {
        let dataset = self.dataset(options).await?;
        let Some(predicate) = predicate else {
            return Ok(dataset.count_rows(None).await? as u64);
        };
        elsewhere().await;
        let predicate = crate::query::predicate(&dataset, predicate)?;
        let count = dataset
            .count_rows(Some(predicate))
            .await
            .map_err(Error::of_input)?;
        Ok(count as u64)
    }
}
