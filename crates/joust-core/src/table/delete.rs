//! Delete rows by predicate.

use lance::dataset::DeleteBuilder;

use super::Table;
use crate::error::{Error, Result};

/// A committed delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deleted {
    pub version: u64,
    pub num_deleted_rows: u64,
}

impl Table {
    /// Deletes the rows for which a SQL predicate is true.
    pub async fn delete(&self, predicate: &str) -> Result<Deleted> {
        self.while_there(self.delete_rows(predicate)).await
    }

    async fn delete_rows(&self, predicate: &str) -> Result<Deleted> {
        let _turn = self.handle.changing.lock().await;
        if let Some(earlier) = self.earlier().await? {
            return self.deleted_earlier(&earlier).await;
        }
        let dataset = self.changeable().await?;
        let _memory = self.memory_for_change(&dataset).await?;
        let predicate = crate::query::predicate(&dataset, predicate)?;
        let delete = DeleteBuilder::new(dataset, predicate).execute();
        let deleted = self
            .as_attempt(|| 0, delete)
            .await
            .map_err(Error::of_input)?;
        let result = Deleted {
            version: deleted.new_dataset.version_id(),
            num_deleted_rows: deleted.num_deleted_rows,
        };
        self.handle.publish(deleted.new_dataset.as_ref().clone());
        Ok(result)
    }
}
