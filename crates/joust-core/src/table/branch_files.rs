//! The files of a branch.
//!
//! The directory of a branch may contain other branches: `team/work` is in `team`. A new branch may be missing from
//! earlier listings. So joust removes only the directories that Lance uses for the branch, whatever else is beside
//! them.

use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use lance_io::local::to_local_path;
use lance_io::object_store::ObjectStore;
use object_store::path::Path;

use super::deletion_mark;
use crate::commit::Reference;
use crate::error::Result;
use crate::storage::root::{BRANCH_DIRECTORIES, VERSIONS, remove_all};

/// The files of a branch of this name.
pub(super) struct BranchFiles {
    store: Arc<ObjectStore>,
    /// The branch's directory.
    base: Path,
    /// The number of directories of its name.
    depth: usize,
}

impl BranchFiles {
    /// Of a branch of the table at a path of a store.
    pub fn of(store: Arc<ObjectStore>, table: &Path, branch: &str) -> Self {
        let parts = || branch.split('/');
        Self {
            base: parts().fold(table.clone().join("tree"), Path::join),
            depth: parts().count(),
            store,
        }
    }

    /// Whether there are any files.
    pub async fn exist(&self) -> Result<bool> {
        Ok(!self.directories().await?.is_empty())
    }

    /// Whether a version was written within this age, or has a date in the future.
    pub async fn have_version_since(&self, age: Duration) -> Result<bool> {
        let versions = self.base.clone().join(VERSIONS);
        let age = TimeDelta::from_std(age).unwrap_or(TimeDelta::MAX);
        Ok(
            match self.store.list_with_delimiter(Some(&versions)).await {
                Ok(found) => {
                    let mut objects = found.objects.iter();
                    objects.any(|object| {
                        Utc::now() - object.last_modified < age
                            && object.location.filename() != Some(deletion_mark::NAME)
                    })
                }
                Err(error) if error.is_not_found() => false,
                Err(error) => return Err(error.into()),
            },
        )
    }

    /// Removes all of them, and no files of other branches. Stops if another process creates a branch of this name,
    /// which `reference` shows. Removes versions first: the creation of a branch removes the rest.
    pub async fn remove(&self, reference: &Reference) -> Result<()> {
        let mut directories = self.directories().await?;
        directories.sort_by_key(|directory| directory.filename() != Some(VERSIONS));
        for directory in directories {
            if reference.read().await?.is_some() {
                return Ok(());
            }
            remove_all(&self.store, &directory).await?;
        }
        self.remove_empty();
        Ok(())
    }

    /// The existing directories of the branch.
    async fn directories(&self) -> Result<Vec<Path>> {
        let found = match self.store.list_with_delimiter(Some(&self.base)).await {
            Ok(found) => found.common_prefixes,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let is_own = |path: &Path| {
            path.filename()
                .is_some_and(|name| BRANCH_DIRECTORIES.contains(&name))
        };
        Ok(found.into_iter().filter(is_own).collect())
    }

    /// Removes empty directories, which remain on a local disk: of the branch, and of its groups.
    fn remove_empty(&self) {
        if !self.store.has_direct_local_paths() {
            return;
        }
        let base = to_local_path(&self.base);
        let directories = std::path::Path::new(&base).ancestors().take(self.depth);
        for directory in directories {
            // A directory that is not empty stays, and so do its parents.
            if std::fs::remove_dir(directory).is_err() {
                return;
            }
        }
    }
}

/// Whether the files of a branch would be in a directory that belongs to another branch: `a/data` in `a`.
pub(super) fn lies_among(inner: &str, outer: &str) -> bool {
    let rest = inner
        .strip_prefix(outer)
        .and_then(|rest| rest.strip_prefix('/'));
    let first = rest.and_then(|rest| rest.split('/').next());
    first.is_some_and(|first| BRANCH_DIRECTORIES.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_may_be_in_anothers_directory_but_not_among_its_files() {
        assert!(lies_among("a/data", "a"));
        assert!(lies_among("a/b/_versions/c", "a/b"));
        for inner in ["a", "a/b", "a/b/data", "a/database", "ab/data", "data"] {
            assert!(!lies_among(inner, "a"), "{inner}");
        }
    }
}
