//! When a write counts as done.
//!
//! Lance writes local files and renames them into place, and leaves it to the operating system when
//! they reach the disk: a power cut may take versions that were answered, or leave a manifest whose
//! data files are empty. Under [`Durability::Synced`] an answer means that the disk has everything,
//! in the one order that is safe: first the files that a version names, with their directories
//! ([`commit`]), then the manifest that names them ([`files`]). Object stores promise as much by
//! themselves.

mod around;
mod commit;
mod files;
mod hint;
mod local;
mod marked;
mod turns;
mod written;

use std::sync::Arc;

use lance_io::object_store::ObjectStoreRegistry;
use lance_table::io::commit::{CommitHandler, ConditionalPutCommitHandler};

use around::With;
pub(crate) use marked::{Found, Mark, find, marked, versions_gone};
pub(crate) use turns::Turns;

/// What an answered write means on a local disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// It survives a power cut.
    #[default]
    Synced,
    /// It survives the end of the process; the operating system writes it out in its own time.
    Os,
}

impl Durability {
    /// The stores that tables are opened with.
    pub(crate) fn stores(self) -> ObjectStoreRegistry {
        let stores = ObjectStoreRegistry::default();
        if self == Self::Synced {
            stores.insert("file", Arc::new(files::SyncedFiles::default()));
        }
        stores
    }

    /// How versions of a table at `location` are committed; `None` is Lance's own way.
    pub(crate) fn commit_handler(self, location: &str) -> Option<Arc<dyn CommitHandler>> {
        let scheme = location
            .split_once("://")
            .map_or("file", |(scheme, _)| scheme);
        let inner: Arc<dyn CommitHandler> = match (scheme, self) {
            // Windows commits by rename and cannot sync directories: Lance's own way stands there.
            ("file", _) if !cfg!(unix) => return None,
            ("file", Self::Synced) => Arc::new(With(commit::SyncedCommit::new())),
            ("file", Self::Os) => Arc::new(local::LocalCommit),
            ("s3" | "gs" | "az" | "abfss" | "memory", _) => Arc::new(ConditionalPutCommitHandler),
            _ => return None,
        };
        let marked = Arc::new(With(marked::MarkedCommit(inner)));
        Some(Arc::new(With(turns::CommitInTurn(marked))))
    }
}
