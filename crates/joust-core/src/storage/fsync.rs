//! Files that are brought to the disk, with the directories that lead to them.

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

/// Where manifests are, relative to a table or a branch.
pub(crate) const VERSIONS: &str = "_versions";
/// Directories above a new table or branch that may be new with it: `tree/a/b` for a branch `a/b`.
const NEW_DIRECTORIES: usize = 8;
/// Directories that are remembered at most; those that are forgotten are synced once more.
const MOST_NAMED: usize = 100_000;

/// What the disk has.
#[derive(Default)]
struct Known {
    /// Directories, with their names. No operation moves a directory of a table.
    directories: Mutex<BTreeSet<FileIdentity>>,
    blobs: KnownBlobs,
}

static KNOWN: Known = Known {
    directories: Mutex::new(BTreeSet::new()),
    blobs: KnownBlobs::new(),
};

/// Brings a file or a directory to the disk.
pub(crate) type SyncFn = fn(&Path) -> Result<()>;

/// Files on their way to the disk.
#[derive(Clone)]
pub(crate) struct PendingFsync(Shared<BoxFuture<'static, std::result::Result<(), Arc<Error>>>>);

impl PendingFsync {
    /// Begins at once. `files`: relative to `base`, as in [`sync_all`].
    pub(crate) fn begin(base: PathBuf, files: Vec<PathBuf>) -> Self {
        let settled = sync_apart(base, files, false, new_to_disk);
        Self(settled.map(|end| end.map_err(Arc::new)).boxed().shared())
    }

    /// Waits until the disk has them. What it did not take it is not asked to take again: a second time, a
    /// system may say that the disk has what it has lost.
    pub async fn end(&self) -> Result<()> {
        self.0.clone().await.map_err(|error| same(&error))
    }
}

/// The error as if it had come up here.
fn same(error: &Arc<Error>) -> Error {
    match error.raw_os_error() {
        Some(code) => Error::from_raw_os_error(code),
        None => Error::new(error.kind(), error.clone()),
    }
}

/// [`sync_all`] on a thread that may wait, which begins at once.
pub(crate) fn sync_apart(
    base: PathBuf,
    written: Vec<PathBuf>,
    is_new: bool,
    sync: SyncFn,
) -> impl Future<Output = Result<()>> + Send {
    let done = tokio::task::spawn_blocking(move || sync_all(&base, &written, is_new, sync, &KNOWN));
    done.map(|done| done.map_err(Error::other).flatten())
}

/// Syncs files, all that directories among them hold, and the directories that lead to them. Of shared large
/// values those are left out that the disk has.
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
        // Where a file system does not tell when a directory was made, its successor may look the same.
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
                // Not ours to read, so not made by us.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => break,
                result => result?,
            }
        }
    }
    Ok(())
}

/// Brings to the disk that there is nothing at a path any more: the directory that held it, or, where that
/// is gone too, the next above.
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

/// A file that is not there was not written: a version may name files of other places.
pub(crate) fn to_disk(path: &Path) -> Result<()> {
    match File::open(path).and_then(|file| file.sync_all()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// A file that was just written is there. Without a suffix it is the directory of its large values, which
/// few have.
fn new_to_disk(path: &Path) -> Result<()> {
    match path.extension() {
        Some(_) => File::open(path)?.sync_all(),
        None => to_disk(path),
    }
}

#[cfg(test)]
#[path = "fsync_tests.rs"]
mod tests;
