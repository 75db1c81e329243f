//! Clean-up: versions that nobody asks for any more, and the files that only they name.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use lance::dataset::cleanup::CleanupPolicy;

use crate::error::{Error, Result};
use crate::table::{Removal, RemovalGuard, Table, Version};

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleanedUp {
    pub versions: u64,
    pub bytes: u64,
    /// Versions that are old enough and stay, because somebody reads them or makes something of them.
    pub in_use: u64,
}

/// A clean-up that knows what it would like to remove.
pub struct CleanUp {
    table: Table,
    removal: RemovalGuard,
    before: DateTime<Utc>,
    below: u64,
    versions: Vec<u64>,
}

/// Versions that another process removes, as far as nobody needs them here.
pub struct GivenUp {
    kept: Vec<u64>,
    _removal: RemovalGuard,
}

impl Table {
    /// Looks for the versions that others took the place of before `age` ago and that are older than version
    /// `below`, where that is given. The newest is none of them, and neither are those that a tag or a branch
    /// names.
    pub async fn plan_clean_up(&self, age: Duration, below: Option<u64>) -> Result<CleanUp> {
        let before = TimeDelta::from_std(age)
            .ok()
            .and_then(|age| Utc::now().checked_sub_signed(age))
            .ok_or_else(|| Error::invalid("versions can't be kept for so long"))?;
        let removal = self.begin_removal(Removal::Decided);
        let versions = self.list_versions().await?;
        // Lance asks when a version was committed. One that was the newest for a year has not been old for
        // longer than its successor has been there.
        let current = newest_at(&versions, before.timestamp_millis());
        let below = below.map_or(current, |below| below.min(current));
        let named = self.named_versions().await?;
        let versions = versions.iter().map(|version| version.version);
        let old = versions.filter(|version| *version < below && !named.contains(version));
        Ok(CleanUp {
            versions: old.collect(),
            table: self.clone(),
            removal,
            before,
            below,
        })
    }

    /// Removes what [`plan_clean_up`](Self::plan_clean_up) finds, where no other process is to be asked.
    pub async fn clean_up(&self, age: Duration, below: Option<u64>) -> Result<CleanedUp> {
        let clean_up = self.plan_clean_up(age, below).await?;
        clean_up.run(&HashSet::new()).await
    }

    /// Lets another process remove these versions, but for those that somebody needs here. Until the answer is
    /// dropped, who asks here for one of the others is told to come again (code 17).
    pub async fn give_up(&self, versions: &[u64]) -> GivenUp {
        let removal = self.begin_removal(Removal::Proposed);
        let free = match self.named_now().await {
            Ok(named) => {
                let free = versions.iter().filter(|version| !named.contains(version));
                removal.select_unread(free.copied())
            }
            // Whoever can not look needs all of them.
            Err(_) => HashSet::new(),
        };
        let kept = versions.iter().filter(|version| !free.contains(version));
        GivenUp {
            kept: kept.copied().collect(),
            _removal: removal,
        }
    }

    /// The versions that a tag or a branch names, and nothing open from earlier that would count as read: who
    /// looks for names opens the newest version.
    async fn named_now(&self) -> Result<HashSet<u64>> {
        self.tables().close_others(self.handle());
        self.named_versions().await
    }
}

impl GivenUp {
    /// Versions that have to stay.
    pub fn kept(&self) -> &[u64] {
        &self.kept
    }
}

impl CleanUp {
    /// Versions that are old enough.
    pub fn versions(&self) -> &[u64] {
        &self.versions
    }

    /// Removes these versions and the files that only they name, but for those that are `kept` because other
    /// processes need them, and for those that somebody needs here. Files that no version names are left for a
    /// week, because a writer may be about to commit them.
    ///
    /// Who asks for one of the versions that go is told from then on that it is not there.
    pub async fn run(self, kept: &HashSet<u64>) -> Result<CleanedUp> {
        // Again: others may have named some until they gave them up. Lance looks too, and would miss what is
        // made after that.
        let named = self.table.named_now().await?;
        let old = self.versions.iter().copied();
        let old = old.filter(|version| !named.contains(version));
        let unread = old.clone().filter(|version| !kept.contains(version));
        let selected = self.removal.select_unread(unread);
        let in_use = old.count() - selected.len();
        let policy = CleanupPolicy {
            before_timestamp: Some(self.before),
            before_version: Some(self.below),
            versions: Some(selected),
            delete_unverified: false,
            error_if_tagged_old_versions: false,
            ..CleanupPolicy::default()
        };
        let dataset = self.table.newest().await?;
        // Others spare what was agreed on only as long as they take this server for alive.
        let removal = async { Ok(dataset.cleanup_with_policy(policy).await?) };
        let removed = self.table.tables().lease().during(removal).await?;
        Ok(CleanedUp {
            versions: removed.old_versions,
            bytes: removed.bytes_removed,
            in_use: in_use as u64,
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
