//! Version clean-up: removes old versions that are not in use, and the files that only they reference.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use lance::dataset::cleanup::CleanupPolicy;
use tracing::{Instrument, info_span};

use super::leftovers::remove_leftovers;
use crate::error::{Error, Result};
use crate::table::{Removal, RemovalGuard, Table, Version};

/// The removed versions and files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleanedUp {
    pub versions: u64,
    pub bytes: u64,
    /// Versions that are old enough and stay, because a read, write, tag, branch, clone or restore uses them.
    pub in_use: u64,
}

/// A planned clean-up with its candidates.
pub struct CleanUp {
    table: Table,
    removal: RemovalGuard,
    before: DateTime<Utc>,
    below: u64,
    versions: Vec<u64>,
}

/// The versions that this process allows another one to remove.
pub struct RemovalPermit {
    in_use: Vec<u64>,
    _removal: RemovalGuard,
}

impl Table {
    /// Selects versions that were replaced longer than `age` ago and that are older than version `below`, if set. The
    /// newest version is never selected, and neither are those that a tag or a branch references.
    pub async fn plan_clean_up(&self, age: Duration, below: Option<u64>) -> Result<CleanUp> {
        let before = TimeDelta::from_std(age)
            .ok()
            .and_then(|age| Utc::now().checked_sub_signed(age))
            .ok_or_else(|| {
                Error::invalid("the retention time of versions is too long: use a shorter one")
            })?;
        let removal = self.begin_removal(Removal::Decided);
        let versions = self.list_versions().await?;
        // Lance uses the commit time of a version. But a version is old only since its successor exists.
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

    /// Removes the versions that [`plan_clean_up`](Self::plan_clean_up) selects, if no other process must be asked.
    pub async fn clean_up(&self, age: Duration, below: Option<u64>) -> Result<CleanedUp> {
        let clean_up = self.plan_clean_up(age, below).await?;
        clean_up.run(&HashSet::new()).await
    }

    /// Allows another process to remove these versions, except those in use here. Until the result is dropped, requests
    /// for one of the others fail here with code 17 (retry).
    pub async fn permit_removal(&self, versions: &[u64]) -> RemovalPermit {
        let removal = self.begin_removal(Removal::Proposed);
        let free = match self.named_now().await {
            Ok(named) => {
                let free = versions.iter().filter(|version| !named.contains(version));
                removal.select_unread(free.copied())
            }
            // If the check fails, all of them count as in use.
            Err(_) => HashSet::new(),
        };
        let in_use = versions.iter().filter(|version| !free.contains(version));
        RemovalPermit {
            in_use: in_use.copied().collect(),
            _removal: removal,
        }
    }

    /// The versions that a tag or a branch references. The lookup opens the newest version; this closes earlier
    /// datasets, which would count as in use.
    async fn named_now(&self) -> Result<HashSet<u64>> {
        self.tables().close_others(self.handle());
        self.named_versions().await
    }
}

impl RemovalPermit {
    /// Versions that must stay.
    pub fn in_use(&self) -> &[u64] {
        &self.in_use
    }
}

impl CleanUp {
    /// Versions that are old enough.
    pub fn versions(&self) -> &[u64] {
        &self.versions
    }

    /// Removes these versions and the files that only they reference. Keeps the versions in `in_use`, which other
    /// processes use, and those in use here. Keeps unreferenced files for a week, because a writer may still commit
    /// them.
    ///
    /// From now on a request for a removed version fails as for a missing one.
    pub async fn run(self, in_use: &HashSet<u64>) -> Result<CleanedUp> {
        // Read again, because other processes may have created references before they agreed. Lance reads references,
        // too, but would miss later ones.
        let named = self.table.named_now().await?;
        let old = self.versions.iter().copied();
        let old = old.filter(|version| !named.contains(version));
        let unread = old.clone().filter(|version| !in_use.contains(version));
        let selected = self.removal.select_unread(unread);
        let spared = old.count() - selected.len();
        let policy = CleanupPolicy {
            before_timestamp: Some(self.before),
            before_version: Some(self.below),
            versions: Some(selected),
            delete_unverified: false,
            error_if_tagged_old_versions: false,
            ..CleanupPolicy::default()
        };
        let dataset = self.table.newest().await?;
        // Other processes respect the agreement only as long as they consider this server alive.
        let removal = async { Ok(dataset.cleanup_with_policy(policy).await?) };
        let removed = self.table.tables().lease().during(removal);
        let removed = removed.instrument(info_span!("remove versions")).await?;
        if let Err(error) = remove_leftovers(&self.table).await {
            tracing::warn!(%error, "files of ended processes stay until the next version clean-up");
        }
        Ok(CleanedUp {
            versions: removed.old_versions,
            bytes: removed.bytes_removed,
            in_use: spared as u64,
        })
    }
}

/// The version that was the newest at a time, ms since the epoch; 0 if there was none yet.
fn newest_at(versions: &[Version], millis: i64) -> u64 {
    let then = versions.iter();
    let then = then.filter(|version| version.timestamp_millis <= millis);
    then.map(|version| version.version).max().unwrap_or(0)
}

#[cfg(test)]
#[path = "clean_up_tests.rs"]
mod tests;
