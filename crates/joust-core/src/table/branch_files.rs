//! The files of a branch.
//!
//! A branch's directory may hold those of others: `team/work` is in `team`. And one that is being made may
//! be in none of the listings that were read so far. So of a branch only the directories that Lance keeps
//! for it are removed, whatever else is beside them.

use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use lance_io::local::to_local_path;
use lance_io::object_store::ObjectStore;
use object_store::path::Path;

use crate::commit::Reference;
use crate::error::Result;
use crate::storage::root::{BRANCH_DIRECTORIES, VERSIONS, remove_all};

/// What a branch of this name has of files.
pub(super) struct BranchFiles {
    store: Arc<ObjectStore>,
    /// The branch's directory.
    base: Path,
    /// How many directories its name stands for.
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

    /// Whether there are any.
    pub async fn exist(&self) -> Result<bool> {
        Ok(!self.directories().await?.is_empty())
    }

    /// Whether a version was written since so long ago, or is dated later than now.
    pub async fn have_version_since(&self, age: Duration) -> Result<bool> {
        let versions = self.base.clone().join(VERSIONS);
        let age = TimeDelta::from_std(age).unwrap_or(TimeDelta::MAX);
        Ok(
            match self.store.list_with_delimiter(Some(&versions)).await {
                Ok(found) => {
                    let mut objects = found.objects.iter();
                    objects.any(|object| Utc::now() - object.last_modified < age)
                }
                Err(error) if error.is_not_found() => false,
                Err(error) => return Err(error.into()),
            },
        )
    }

    /// Removes all of them, and nothing of other branches; not of one either to which another process gives
    /// the name meanwhile, which `reference` tells. Versions first: whoever makes a branch clears away the rest.
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

    /// The own directories that there are.
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

    /// On a local disk directories stay that nothing is in: the branch's, and those of its groups.
    fn remove_empty(&self) {
        if !self.store.has_direct_local_paths() {
            return;
        }
        let base = to_local_path(&self.base);
        let directories = std::path::Path::new(&base).ancestors().take(self.depth);
        for directory in directories {
            // One that holds anything does not go, and so do not those that it is in.
            if std::fs::remove_dir(directory).is_err() {
                return;
            }
        }
    }
}

/// Whether a branch's files would lie among those that another one has for itself: `a/data` in `a`.
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
