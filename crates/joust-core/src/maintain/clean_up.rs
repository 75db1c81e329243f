//! Clean-up: versions that nobody asks for any more, and the files that only they name.

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use lance::dataset::cleanup::CleanupPolicy;

use crate::error::{Error, Result};
use crate::table::{Table, Version};

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
    ///
    /// Who asks for one of the versions that go is told from then on that it is not there.
    pub async fn clean_up(&self, age: Duration, below: Option<u64>) -> Result<CleanedUp> {
        let before = TimeDelta::from_std(age)
            .ok()
            .and_then(|age| Utc::now().checked_sub_signed(age))
            .ok_or_else(|| Error::invalid("versions can't be kept for so long"))?;
        // Lance looks for tags and branches too, and would miss what is made after that.
        let removal = self.removal();
        let versions = self.list_versions().await?;
        // Lance asks when a version was committed. One that was the newest for a year has not been old for
        // longer than its successor has been there.
        let current = newest_at(&versions, before.timestamp_millis());
        let below = below.map_or(current, |below| below.min(current));
        let named = self.named_versions().await?;
        let versions = versions.iter().map(|version| version.version);
        let old = versions.filter(|version| *version < below && !named.contains(version));
        let policy = CleanupPolicy {
            before_timestamp: Some(before),
            before_version: Some(below),
            versions: Some(removal.doom(old)),
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

/// The version that was the newest at a time, ms since the epoch; 0 when there was none yet.
fn newest_at(versions: &[Version], millis: i64) -> u64 {
    let then = versions.iter();
    let then = then.filter(|version| version.timestamp_millis <= millis);
    then.map(|version| version.version).max().unwrap_or(0)
}

#[cfg(test)]
#[path = "clean_up_tests.rs"]
mod tests;
