//! Large values that versions of a table share, which the disk has to have before a version names them.
//!
//! Lance writes each into a file of its own in `_blobs` and never changes it afterwards. Which of them are new
//! to a version only its rows tell, so a commit looks at all of them. Those that were synced before are known
//! again: they have the same inode and have not grown. Others may still be written, under their names.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{ErrorKind, Result};
use std::path::Path;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::fsync::SyncFn;

/// Where they are, relative to a table or a branch.
pub(crate) const BLOBS: &str = "_blobs";
/// Files that are remembered at most, some 30 MB; those that are forgotten are synced once more.
const MOST_KNOWN: usize = 500_000;

/// Device and inode.
type File = (u64, u64);

/// What tells a file from a later one of the same inode, and from itself when less was written of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Contents {
    created: SystemTime,
    bytes: u64,
}

/// Files that a sync has brought to the disk.
pub(crate) struct Synced(Vec<(File, Contents)>);

/// Files that the disk has.
#[derive(Default)]
pub(crate) struct KnownBlobs(Mutex<BTreeMap<File, Contents>>);

impl KnownBlobs {
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Syncs the files of a directory that are not known. They are to be [remembered](Self::remember) once the
    /// disk has their names too.
    pub fn sync(&self, directory: &Path, sync: SyncFn) -> Result<Synced> {
        let mut synced = Vec::new();
        for entry in directory.read_dir()? {
            let entry = entry?;
            // Before the sync: what is written after it shows.
            let metadata = match entry.metadata() {
                // A clean-up has removed it.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            let found = contents(&metadata);
            if found.is_some_and(|(file, contents)| self.0.lock().get(&file) == Some(&contents)) {
                continue;
            }
            match sync(&entry.path()) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                done => done?,
            }
            synced.extend(found);
        }
        Ok(Synced(synced))
    }

    pub fn remember(&self, Synced(synced): Synced) {
        let mut known = self.0.lock();
        if known.len() + synced.len() > MOST_KNOWN {
            known.clear();
        }
        known.extend(synced);
    }
}

/// `None` where a file system does not tell when a file was made: it is synced each time.
#[cfg(unix)]
fn contents(metadata: &Metadata) -> Option<(File, Contents)> {
    use std::os::unix::fs::MetadataExt;
    let contents = Contents {
        created: metadata.created().ok()?,
        bytes: metadata.len(),
    };
    Some(((metadata.dev(), metadata.ino()), contents))
}

#[cfg(not(unix))]
fn contents(_: &Metadata) -> Option<(File, Contents)> {
    None
}
