//! Delete rows by predicate.

use lance::Dataset;
use lance::dataset::DeleteBuilder;

use super::Table;
use super::write_admission::Begun;
use crate::commit::CommitOutcome;
use crate::error::{Error, Result};
use crate::schema::Evaluation;

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
        let restricted = self.rows().map(|rows| rows.and(Some(predicate)));
        let restricted = restricted.transpose()?;
        let (own, predicate) = (predicate, restricted.as_deref().unwrap_or(predicate));
        let condition = crate::schema::predicate::computed_expressions(predicate)?;
        let computed = |version: &Dataset| Evaluation::of_change(version, &condition, u64::MAX, 0);
        let change = match self.begin_change(0, computed).await? {
            Begun::Before(earlier) => return self.deleted_earlier(&earlier).await,
            Begun::Now(change) => change,
        };
        if let Some(rows) = self.rows() {
            rows.admit(&change.dataset, Some(own)).await?;
        }
        let predicate =
            crate::schema::predicate::checked_where_planned(&change.dataset, predicate).await?;
        let delete = DeleteBuilder::new(change.dataset.clone(), predicate).execute();
        let ended = self.change_rows(|| 0, delete).await;
        let deleted = match ended.map_err(Error::of_input)? {
            CommitOutcome::Reported(deleted) => deleted,
            CommitOutcome::Confirmed(version) => {
                let deleted = async {
                    let made = self.confirmed(version, 0).await?;
                    self.deleted_earlier(&made).await
                };
                return deleted.await.map_err(|error| self.after_commit(error));
            }
        };
        let result = Deleted {
            version: deleted.new_dataset.version_id(),
            num_deleted_rows: deleted.num_deleted_rows,
        };
        self.handle.advance(deleted.new_dataset.as_ref().clone());
        Ok(result)
    }
}
