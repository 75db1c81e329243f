//! Object stores, local files, and what brings files to the disk.
//!
//! Lance writes local files and renames them into place, and leaves it to the operating system when they
//! reach the disk. [`Durability`] decides whether joust syncs them; [`fsync`] does it.

pub(crate) mod atomic_create;
mod durability;
mod file_identity;
pub(crate) mod fsync;
pub(crate) mod fsync_blobs;
mod local_stores;
mod local_writer;
pub mod root;
mod sessions;
mod temporary_files;
pub mod vended;
pub(crate) mod version_hint;

use std::collections::HashMap;
use std::path::PathBuf;

use object_store::path::Path;

pub use durability::Durability;
pub(crate) use durability::scheme;
pub(crate) use file_identity::FileIdentity;
pub(crate) use local_writer::LocalWriter;
pub(crate) use sessions::Sessions;
pub(crate) use temporary_files::remove_temporary_files;

/// Storage access configuration, passed on to the object store as it is.
pub type StorageOptions = HashMap<String, String>;

/// The local path of a path in Lance's store of local files.
pub(crate) fn path_on_disk(path: &Path) -> PathBuf {
    PathBuf::from(lance_io::local::to_local_path(path))
}
