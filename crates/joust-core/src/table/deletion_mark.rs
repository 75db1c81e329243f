//! Marks a branch on a local disk whose deletion has begun.
//!
//! A deletion removes the branch's reference first and its versions later. In between, the unchanged `_versions`
//! directory proves that an open version is the newest one, but the branch does not exist any more. So a deletion first
//! creates the mark in `_versions`. The new file changes the directory, which ends the proofs of all servers. As long
//! as the mark is there, each read of the branch reads the reference.

use std::fs::{self, OpenOptions, remove_file};
use std::io::Result;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lance::dataset::refs::branch_contents_path;

/// Name of the mark. Lance ignores names that are not of a manifest.
pub(super) const NAME: &str = "being_deleted";
/// A crash may leave the mark. An older one belongs to no deletion in progress: the removal of the versions begins right
/// after that of the reference.
const LONGEST: Duration = Duration::from_secs(60);

/// The mark of one branch, whether or not it is set.
#[derive(Clone)]
pub(super) struct DeletionMark {
    mark: PathBuf,
    reference: PathBuf,
}

impl DeletionMark {
    /// Of a branch of the table in a directory, with the `_versions` of the branch.
    pub fn of(table: &Path, branch: &str, versions: &Path) -> Self {
        let reference = branch_contents_path(&object_store::path::Path::default(), branch);
        Self {
            mark: versions.join(NAME),
            reference: table.join(reference.as_ref()),
        }
    }

    /// Whether the branch may be under deletion.
    pub fn is_set(&self) -> bool {
        let set = fs::metadata(&self.mark).and_then(|mark| mark.modified());
        // A time in the future is that of another host.
        set.is_ok_and(|set| !set.elapsed().is_ok_and(|age| age > LONGEST))
    }

    /// Whether the branch exists and is not under deletion.
    pub fn branch_stays(&self) -> bool {
        // In this order: the mark is removed after the reference.
        !self.is_set() && self.reference.exists()
    }

    /// Sets the mark. The mark of an earlier deletion is replaced, because its file would not change the directory.
    pub fn set(&self) -> Result<()> {
        let _ = remove_file(&self.mark);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).open(&self.mark)?;
        Ok(())
    }

    /// Takes the mark back if the branch still exists. Otherwise the mark stays for the readers.
    pub fn take_back(&self) {
        if self.reference.exists() {
            let _ = remove_file(&self.mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, create_dir_all, write};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn the_mark_of_a_crashed_deletion_expires_and_that_of_the_next_one_counts() {
        let place = tempfile::tempdir().unwrap();
        let versions = place.path().join("tree/x/_versions");
        let reference = place.path().join("_refs/branches/x.json");
        create_dir_all(&versions).unwrap();
        create_dir_all(reference.parent().unwrap()).unwrap();
        write(&reference, b"{}").unwrap();
        let mark = DeletionMark::of(place.path(), "x", &versions);
        assert!(mark.branch_stays());
        mark.set().unwrap();
        assert!(mark.is_set() && !mark.branch_stays());
        let file = File::options().write(true).open(versions.join(NAME));
        let long_ago = SystemTime::now() - 2 * LONGEST;
        file.unwrap().set_modified(long_ago).unwrap();
        assert!(mark.branch_stays());
        mark.set().unwrap();
        assert!(!mark.branch_stays());
        mark.take_back();
        assert!(mark.branch_stays());
        mark.set().unwrap();
        remove_file(&reference).unwrap();
        mark.take_back();
        assert!(mark.is_set(), "the branch does not exist any more");
    }
}
