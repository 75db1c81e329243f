//! What tells a directory from any other.

use std::fs::Metadata;
use std::time::SystemTime;

/// Tells a directory from any other, also from a later one of the same name or inode: as finely as the file
/// system tells time, where it tells when a directory was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    made: Option<SystemTime>,
}

impl FileIdentity {
    #[cfg(unix)]
    pub fn of(directory: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            device: directory.dev(),
            inode: directory.ino(),
            made: directory.created().ok(),
        }
    }

    #[cfg(not(unix))]
    pub fn of(directory: &Metadata) -> Self {
        Self {
            device: 0,
            inode: 0,
            made: directory.created().ok(),
        }
    }

    /// No later directory has the same. Otherwise one that was made anew may have the inode of the one before.
    pub fn is_unique(&self) -> bool {
        cfg!(unix) && self.made.is_some()
    }
}
