//! When a write counts as done.
//!
//! Lance writes local files and renames them into place, and leaves it to the operating system when
//! they reach the disk: a power cut may take versions that were answered, or leave a manifest whose
//! data files are empty. Under [`Durability::Synced`] an answer means that the disk has everything,
//! in the one order that is safe: first the files that a version names, with their directories
//! ([`disk`]), then the manifest that names them ([`local`]). Object stores promise as much by
//! themselves.

mod around;
mod blobs;
mod commit;
mod disk;
mod files;
mod fitting;
mod hint;
mod identity;
mod life;
mod local;
mod marked;
mod new_file;
mod on_branch;
mod own_files;
mod to_the_end;
mod turns;
mod unsynced;
mod written;

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

use lance::session::Session;
use lance_io::object_store::ObjectStoreRegistry;
use lance_table::format::Manifest;
use lance_table::io::commit::{CommitHandler, ConditionalPutCommitHandler};
use lance_table::transaction::Transaction;
use object_store::path::Path;

use crate::error::Result;
use crate::one_thread::step;

use around::With;
pub(crate) use disk::Settling;
pub(crate) use fitting::{columns_changed, written_for};
pub(crate) use identity::Identity;
pub(crate) use life::{Branches, Reference};
pub(crate) use marked::{Mark, find, marked, versions_gone};
use on_branch::CommitOnBranch;
pub(crate) use on_branch::OnBranch;
pub(crate) use own_files::OwnFiles;
pub(crate) use to_the_end::{Ended, to_the_end};
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
        match self {
            Self::Synced => files::LocalStores::registry(files::synced),
            Self::Os => ObjectStoreRegistry::default(),
        }
    }

    /// The session to write the files of a new table at `location` in, where that is not the one to open it
    /// in: as [`OwnFiles`] are, and nothing is kept of what is seen.
    pub(crate) fn session_of_new(self, location: &str) -> Option<Arc<Session>> {
        (cfg!(unix) && scheme(location) == "file").then(|| own_files::session(self))
    }

    /// How versions of a table at `location`, or of a branch of it, are committed; `None` is Lance's own
    /// way.
    pub(crate) fn commit_handler(
        self,
        location: &str,
        branch: Option<Arc<OnBranch>>,
    ) -> Option<Arc<dyn CommitHandler>> {
        let inner: Arc<dyn CommitHandler> = match scheme(location).as_ref() {
            // Windows commits by rename and cannot sync directories: Lance's own way stands there.
            "file" if !cfg!(unix) => return None,
            "file" if self.syncs(location) => Arc::new(With(commit::SyncedCommit::new())),
            "file" => Arc::new(local::LocalCommit::new(None)),
            "s3" | "gs" | "az" | "abfss" | "memory" => Arc::new(ConditionalPutCommitHandler),
            _ => return None,
        };
        // Nobody waits for a turn in here, so who deletes the branch waits for no turn either.
        let living = match branch {
            Some(branch) => Arc::new(With(CommitOnBranch { branch, inner })),
            None => inner,
        };
        // Around it: the branch stays as long as the commit goes on. Inside of the marks: it has to know the
        // transaction as it is written.
        let lasting = Arc::new(With(to_the_end::LastingCommit(living)));
        let marked = Arc::new(With(marked::MarkedCommit(lasting)));
        let in_turn = Arc::new(With(turns::CommitInTurn(marked)));
        Some(Arc::new(With(fitting::FittingCommit(in_turn))))
    }

    /// Whether commits of a table at `location` wait until the disk has what they name.
    pub(crate) fn syncs(self, location: &str) -> bool {
        cfg!(unix) && self == Self::Synced && scheme(location) == "file"
    }

    /// Waits, where commits of that table do too, until the disk has the names of the versions of the table, or
    /// branch, at `base`.
    pub(crate) async fn has_versions(self, location: &str, base: &Path) -> Result<()> {
        if !self.syncs(location) {
            return Ok(());
        }
        let versions = local::local(base).join(disk::VERSIONS);
        let synced = step(move || disk::to_disk(&versions)).await;
        Ok(synced.map_err(lance::Error::from)?)
    }

    /// Waits, where commits of that table do too, until the disk has it that there is nothing at a path any
    /// more: what was told, or recorded, as gone would be back after a power cut.
    pub(crate) async fn removed(self, location: &str, path: &Path) -> Result<()> {
        if !self.syncs(location) {
            return Ok(());
        }
        let path = local::local(path);
        let synced = step(move || disk::sync_removal(&path, disk::to_disk)).await;
        Ok(synced.map_err(lance::Error::from)?)
    }
}

/// Begins to bring the files of new rows to the disk, which a commit would else do. `base`: where the table,
/// or its branch, has its files; `version`: what the rows were written for.
pub(crate) fn settle(base: &Path, rows: &Transaction, version: &Manifest) -> Settling {
    Settling::begin(local::local(base), written::appended(rows, version))
}

/// Commits rows all of whose files [settle](settle) where that is needed, once they have.
pub(crate) fn settled<W: Future>(
    settling: Vec<Settling>,
    commit: W,
) -> impl Future<Output = W::Output> {
    commit::settled(settling, commit)
}

/// In lower case: a URL's may be written in any.
fn scheme(location: &str) -> Cow<'_, str> {
    match location.split_once("://") {
        None => "file".into(),
        Some((scheme, _)) => scheme.to_ascii_lowercase().into(),
    }
}
