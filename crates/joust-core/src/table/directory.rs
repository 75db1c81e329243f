//! Detects changes of the `_versions` directory of a local table with `stat`.
//!
//! The modification time of the directory moves whenever a manifest appears, so an unchanged time proves that there is no
//! newer version. But file systems have coarse timestamps: a second manifest within the same tick does not change the
//! time. A time that was recent at the check therefore proves nothing, and joust looks for the manifest of the next
//! version by name instead. On a branch this includes that the branch still exists.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use lance::Dataset;

use super::deletion_mark::DeletionMark;
use crate::storage::FileIdentity;
use crate::storage::root::local_path;

/// Longer than a tick of any supported file system.
const TICK: Duration = Duration::from_millis(50);

/// The state of the directory at a check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    changed: SystemTime,
    /// Distinguishes a directory from another one of the same name.
    identity: FileIdentity,
    /// The change was older than a tick at the check: any later change is visible.
    settled: bool,
}

impl Seen {
    /// The same state, but without proof about earlier changes.
    pub fn unsettled(self) -> Self {
        Self {
            settled: false,
            ..self
        }
    }

    /// Whether the directory was replaced between two checks: it belongs to another table.
    pub fn is_other_directory(before: Option<Self>, now: Option<Self>) -> bool {
        matches!((before, now), (Some(before), Some(now)) if before.identity != now.identity)
    }
}

pub struct VersionsDirectory {
    path: PathBuf,
    /// `None` for the main branch.
    deletion: Option<DeletionMark>,
}

impl VersionsDirectory {
    /// The directory of a table's branch; `None` on a remote store.
    pub fn of(location: &str, branch: Option<&str>) -> Option<Self> {
        let table = local_path(location)?;
        let base = match branch {
            Some(branch) => table.join("tree").join(branch),
            None => table.to_path_buf(),
        };
        let path = base.join("_versions");
        let deletion = branch.map(|branch| DeletionMark::of(table, branch, &path));
        Some(Self { path, deletion })
    }

    /// The mark of the branch's deletion; `None` for the main branch.
    pub(super) fn deletion(&self) -> Option<&DeletionMark> {
        self.deletion.as_ref()
    }

    /// Whether a state of the directory proves nothing, because the branch may be under deletion. To be called between
    /// [`look`](Self::look) and the read of the reference.
    pub fn is_being_deleted(&self) -> bool {
        self.deletion().is_some_and(DeletionMark::is_set)
    }

    pub fn look(&self) -> Option<Seen> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        let changed = metadata.modified().ok()?;
        let settled = SystemTime::now()
            .duration_since(changed)
            .is_ok_and(|age| age > TICK);
        Some(Seen {
            changed,
            identity: FileIdentity::of(&metadata),
            settled,
        })
    }

    /// Proves that `dataset` is still the newest version, given the last state of its directory; returns the state that
    /// proves it. `None`: there may be a newer one.
    pub fn confirm(&self, dataset: &Dataset, last: Option<Seen>) -> Option<Seen> {
        let (now, last) = (self.look()?, last?);
        if (last.changed, last.identity) != (now.changed, now.identity) {
            return None;
        }
        if last.settled {
            return Some(last);
        }
        let version = dataset.version_id();
        let newest = self.holds(dataset, version) && !self.holds(dataset, version + 1);
        let stays = || self.deletion().is_none_or(DeletionMark::branch_stays);
        (newest && stays()).then_some(now)
    }

    fn holds(&self, dataset: &Dataset, version: u64) -> bool {
        let scheme = dataset.manifest_location().naming_scheme;
        let path = scheme.manifest_path(&object_store::path::Path::default(), version);
        path.filename()
            .is_some_and(|name| self.path.join(name).exists())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{create_dir, remove_dir};

    use super::*;

    /// Creates a directory, and then another one of the same name, with the same inode if the file system reuses the
    /// number.
    #[test]
    fn a_directory_that_was_made_anew_is_another_one() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("_versions");
        let directory = VersionsDirectory {
            path: path.clone(),
            deletion: None,
        };
        create_dir(&path).unwrap();
        let before = directory.look();
        for _ in 0..50 {
            remove_dir(&path).unwrap();
            std::thread::sleep(Duration::from_millis(5));
            create_dir(&path).unwrap();
            assert!(Seen::is_other_directory(before, directory.look()));
        }
        assert!(!Seen::is_other_directory(before, before));
    }
}
