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
    /// Removes the versions that others took the place of before `age` ago and that are older than version
    /// `below`, where that is given. The newest stays, and so do those that a tag or a branch holds; files
    /// that no version names are left for a week, because a writer may be about to commit them.
    pub async fn clean_up(&self, age: Duration, below: Option<u64>) -> Result<CleanedUp> {
        let before = TimeDelta::from_std(age)
            .ok()
            .and_then(|age| Utc::now().checked_sub_signed(age))
            .ok_or_else(|| Error::invalid("versions can't be kept for so long"))?;
        // Lance asks when a version was committed. One that was the newest for a year has not been old for
        // longer than its successor has been there.
        let current = self.newest_at(before.timestamp_millis()).await?;
        let policy = CleanupPolicy {
            before_timestamp: Some(before),
            before_version: Some(below.map_or(current, |below| below.min(current))),
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

    /// The version that was the newest at a time, ms since the epoch; 0 when there was none yet.
    async fn newest_at(&self, millis: i64) -> Result<u64> {
        let versions = self.list_versions().await?.into_iter();
        let then = versions.filter(|version| version.timestamp_millis <= millis);
        Ok(then.map(|version| version.version).max().unwrap_or(0))
    }
}
