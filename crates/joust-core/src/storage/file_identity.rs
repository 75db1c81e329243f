//! The identity of a directory.

use std::fs::Metadata;
use std::time::SystemTime;

/// Distinguishes a directory from any other, also from a later one of the same name or inode, as far as the file
/// system reports when a directory was created.
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

    /// No later directory has the same identity. If false, a recreated directory may have the same inode.
    pub fn is_unique(&self) -> bool {
        cfg!(unix) && self.made.is_some()
    }
}
