//! Fsync of files, and of the directories that lead to them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;

use super::file_identity::FileIdentity;
use super::fsync_blobs::{BLOBS, KnownBlobs};

/// The directory of manifests, relative to a table or a branch.
pub(crate) const VERSIONS: &str = "_versions";
/// Parent directories that may be created with a new table or branch: `tree/a/b` for a branch `a/b`.
const NEW_DIRECTORIES: usize = 8;
/// Most directories that are remembered; a forgotten one is synced once more.
const MOST_NAMED: usize = 100_000;

/// What was synced already.
#[derive(Default)]
struct Known {
    /// Directories whose names are synced. No operation moves a directory of a table.
    directories: Mutex<BTreeSet<FileIdentity>>,
    blobs: KnownBlobs,
}

static KNOWN: Known = Known {
    directories: Mutex::new(BTreeSet::new()),
    blobs: KnownBlobs::new(),
};

/// Syncs a file or a directory.
pub(crate) type SyncFn = fn(&Path) -> Result<()>;

/// An fsync of files that has started.
#[derive(Clone)]
pub(crate) struct PendingFsync(Shared<BoxFuture<'static, std::result::Result<(), Arc<Error>>>>);

impl PendingFsync {
    /// Starts at once. `files`: relative to `base`, as in [`sync_all`].
    pub(crate) fn begin(base: PathBuf, files: Vec<PathBuf>) -> Self {
        let settled = sync_apart(base, files, false, new_to_disk);
        Self(settled.map(|end| end.map_err(Arc::new)).boxed().shared())
    }

    /// Waits until the files are synced. A failed fsync is not repeated: the second call may succeed although the
    /// data is lost.
    pub async fn end(&self) -> Result<()> {
        self.0.clone().await.map_err(|error| same(&error))
    }
}

/// A copy of the error.
fn same(error: &Arc<Error>) -> Error {
    match error.raw_os_error() {
        Some(code) => Error::from_raw_os_error(code),
        None => Error::new(error.kind(), error.clone()),
    }
}

/// [`sync_all`] on a blocking thread. Starts at once.
pub(crate) fn sync_apart(
    base: PathBuf,
    written: Vec<PathBuf>,
    is_new: bool,
    sync: SyncFn,
) -> impl Future<Output = Result<()>> + Send {
    let done = tokio::task::spawn_blocking(move || sync_all(&base, &written, is_new, sync, &KNOWN));
    done.map(|done| done.map_err(Error::other).flatten())
}

/// Syncs files, the contents of directories among them, and the directories that lead to them. Shared large
/// values that were synced before are left out.
fn sync_all(
    base: &Path,
    written: &[PathBuf],
    is_new: bool,
    sync: SyncFn,
    known: &Known,
) -> Result<()> {
    let mut directories = BTreeSet::new();
    let mut above = BTreeSet::from([PathBuf::from(VERSIONS)]);
    let mut blobs = None;
    for relative in written {
        let path = base.join(relative);
        if relative.as_os_str() == BLOBS && path.is_dir() {
            blobs = Some(known.blobs.sync(&path, sync)?);
            directories.insert(path);
        } else {
            sync_tree(&path, &mut directories, sync)?;
        }
        directories.extend(base.join(relative).parent().map(Path::to_path_buf));
        above.extend(relative.ancestors().skip(1).map(Path::to_path_buf));
    }
    let mut named = Vec::new();
    for directory in above.iter().map(|relative| base.join(relative)) {
        let (Some(holder), Ok(metadata)) = (directory.parent(), directory.metadata()) else {
            continue;
        };
        // Without a creation time, a later directory may look the same.
        let identity = Some(FileIdentity::of(&metadata)).filter(FileIdentity::is_unique);
        if directory != base && !identity.is_some_and(|own| known.directories.lock().contains(&own))
        {
            directories.insert(holder.to_path_buf());
            named.extend(identity);
        }
    }
    for directory in directories {
        sync(&directory)?;
    }
    remember(&known.directories, named);
    if let Some(blobs) = blobs {
        known.blobs.remember(blobs);
    }
    if is_new {
        sync(base)?;
        for above in base.ancestors().skip(1).take(NEW_DIRECTORIES) {
            match sync(above) {
                // The process may not read it, so the process did not create it.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => break,
                result => result?,
            }
        }
    }
    Ok(())
}

/// Syncs the removal of a path: syncs its directory or, where that is removed too, the nearest one above.
pub(crate) fn sync_removal(path: &Path, sync: SyncFn) -> Result<()> {
    match path.ancestors().skip(1).find(|above| above.is_dir()) {
        Some(holder) => sync(holder),
        None => Ok(()),
    }
}

fn remember(known: &Mutex<BTreeSet<FileIdentity>>, named: Vec<FileIdentity>) {
    if named.is_empty() {
        return;
    }
    let mut known = known.lock();
    if known.len() >= MOST_NAMED {
        known.clear();
    }
    known.extend(named);
}

fn sync_tree(path: &Path, directories: &mut BTreeSet<PathBuf>, sync: SyncFn) -> Result<()> {
    if !path.is_dir() {
        return sync(path);
    }
    directories.insert(path.to_path_buf());
    for entry in path.read_dir()? {
        sync_tree(&entry?.path(), directories, sync)?;
    }
    Ok(())
}

/// A missing file is no error: a version may name files of other places.
pub(crate) fn to_disk(path: &Path) -> Result<()> {
    match File::open(path).and_then(|file| file.sync_all()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// A file that was just written must exist. A path without a suffix is the directory of its large values, which
/// most files do not have.
fn new_to_disk(path: &Path) -> Result<()> {
    match path.extension() {
        Some(_) => File::open(path)?.sync_all(),
        None => to_disk(path),
    }
}

#[cfg(test)]
#[path = "fsync_tests.rs"]
mod tests;
