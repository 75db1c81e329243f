//! Fsync of large values (blobs) that versions of a table share.
//!
//! Lance writes each into a file in `_blobs` and never changes it afterwards. Only the rows of a version show
//! which of them are new, so a commit looks at all of them. Files that were synced before are recognized by
//! their inode and size. Other files may still be being written, under their final names.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{ErrorKind, Result};
use std::path::Path;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::fsync::SyncFn;

/// Their directory, relative to a table or a branch.
pub(crate) const BLOBS: &str = "_blobs";
/// Most files that are remembered, about 30 MB; a forgotten one is synced once more.
const MOST_KNOWN: usize = 500_000;

/// Device and inode.
type File = (u64, u64);

/// Distinguishes a file from a later one of the same inode, and from itself at a smaller size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Contents {
    created: SystemTime,
    bytes: u64,
}

/// Files that were synced.
pub(crate) struct Synced(Vec<(File, Contents)>);

/// Files that are known to be synced.
#[derive(Default)]
pub(crate) struct KnownBlobs(Mutex<BTreeMap<File, Contents>>);

impl KnownBlobs {
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Syncs the files of a directory that are not known. [Remember](Self::remember) them once their names are
    /// synced too.
    pub fn sync(&self, directory: &Path, sync: SyncFn) -> Result<Synced> {
        let mut synced = Vec::new();
        for entry in directory.read_dir()? {
            let entry = entry?;
            // Before the sync, so that a later write shows as a difference.
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

/// `None` without a creation time: the file is synced each time.
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
