//! Clean-up: versions that nobody asks for any more, and the files that only they name.

use std::time::Duration;

use chrono::TimeDelta;

use crate::error::{Error, Result};
use crate::table::Table;

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleanedUp {
    pub versions: u64,
    pub bytes: u64,
}

impl Table {
    /// Removes the versions that were committed before `age` ago. The newest stays, and so do those
    /// that a tag or a branch holds; files that no version names are left for a week, because a
    /// writer may be about to commit them.
    pub async fn clean_up(&self, age: Duration) -> Result<CleanedUp> {
        let age = TimeDelta::from_std(age)
            .map_err(|_| Error::invalid("versions can't be kept for so long"))?;
        let dataset = self.newest().await?;
        let removed = dataset
            .cleanup_old_versions(age, Some(false), Some(false))
            .await?;
        Ok(CleanedUp {
            versions: removed.old_versions,
            bytes: removed.bytes_removed,
        })
    }
}
