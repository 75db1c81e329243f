//! When a write counts as done.
//!
//! A power cut may take versions that were answered, or leave a manifest whose data files are empty. Under
//! [`Durability::Synced`] an answer means that the disk has everything, in the one order that is safe: first
//! the files that a version names, with their directories, then the manifest that names them
//! ([`crate::commit`]). Object stores give this guarantee themselves.

use std::borrow::Cow;
use std::sync::Arc;

use lance::session::Session;
use lance_io::object_store::ObjectStoreRegistry;
use object_store::path::Path;

use super::{fsync, local_stores, local_writer, path_on_disk};
use crate::blocking_executor::step;
use crate::error::Result;

/// What an answered write means on a local disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// It survives a power cut.
    #[default]
    Synced,
    /// It survives the end of the process. The operating system writes it out later.
    Os,
}

impl Durability {
    /// The stores that tables are opened with.
    pub(crate) fn stores(self) -> ObjectStoreRegistry {
        match self {
            Self::Synced => local_stores::LocalStores::registry(local_stores::synced),
            Self::Os => ObjectStoreRegistry::default(),
        }
    }

    /// The session for writing the files of a new table at `location`, where that differs from the session that
    /// opens it: the files are written by [`LocalWriter`](super::LocalWriter), and the session caches nothing.
    pub(crate) fn session_of_new(self, location: &str) -> Option<Arc<Session>> {
        (cfg!(unix) && scheme(location) == "file").then(|| local_writer::session(self))
    }

    /// Whether commits of a table at `location` sync the files that they name.
    pub(crate) fn syncs(self, location: &str) -> bool {
        cfg!(unix) && self == Self::Synced && scheme(location) == "file"
    }

    /// Where commits of the table are synced: syncs the names of the versions of the table, or branch, at
    /// `base`.
    pub(crate) async fn has_versions(self, location: &str, base: &Path) -> Result<()> {
        if !self.syncs(location) {
            return Ok(());
        }
        let versions = path_on_disk(base).join(fsync::VERSIONS);
        let synced = step(move || fsync::to_disk(&versions)).await;
        Ok(synced.map_err(lance::Error::from)?)
    }

    /// Where commits of the table are synced: syncs the removal of the file at `path`. Without it a power cut
    /// could bring back what joust has reported or recorded as removed.
    pub(crate) async fn removed(self, location: &str, path: &Path) -> Result<()> {
        if !self.syncs(location) {
            return Ok(());
        }
        let path = path_on_disk(path);
        let synced = step(move || fsync::sync_removal(&path, fsync::to_disk)).await;
        Ok(synced.map_err(lance::Error::from)?)
    }
}

/// The scheme of a location, in lower case: a URL's may be written in any.
pub(crate) fn scheme(location: &str) -> Cow<'_, str> {
    match location.split_once("://") {
        None => "file".into(),
        Some((scheme, _)) => scheme.to_ascii_lowercase().into(),
    }
}
