//! Clean-up: versions that nobody asks for any more, and the files that only they name.

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use lance::dataset::cleanup::CleanupPolicy;

use crate::error::{Error, Result};
use crate::table::Table;

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleanedUp {
    pub versions: u64,
    pub bytes: u64,
}

impl Table {
    /// Removes the versions that were committed before `age` ago and are older than version `below`,
    /// where that is given. The newest stays, and so do those that a tag or a branch holds; files
    /// that no version names are left for a week, because a writer may be about to commit them.
    pub async fn clean_up(&self, age: Duration, below: Option<u64>) -> Result<CleanedUp> {
        let before = TimeDelta::from_std(age)
            .ok()
            .and_then(|age| Utc::now().checked_sub_signed(age))
            .ok_or_else(|| Error::invalid("versions can't be kept for so long"))?;
        let policy = CleanupPolicy {
            before_timestamp: Some(before),
            before_version: below,
            delete_unverified: false,
            error_if_tagged_old_versions: false,
            ..CleanupPolicy::default()
        };
        let dataset = self.newest().await?;
        let removed = dataset.cleanup_with_policy(policy).await?;
        Ok(CleanedUp {
            versions: removed.old_versions,
            bytes: removed.bytes_removed,
        })
    }
}
