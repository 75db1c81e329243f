//! A commit that waits until the disk has what it names.

use std::collections::BTreeSet;
use std::fs::File;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use lance_table::io::commit::{CommitError, CommitHandler, ManifestLocation};

use super::around::{Around, Commit};
use super::local::{LocalCommit, local};
use super::written;

/// Directories above a new table or branch that may be new with it: `tree/a/b` for a branch `a/b`.
const NEW_DIRECTORIES: usize = 8;

tokio::task_local! {
    static SETTLED: ();
}

/// Does work whose commits name no new files but those that were [settled](settle) before.
pub(super) fn settled<W: Future>(work: W) -> impl Future<Output = W::Output> {
    SETTLED.scope((), work)
}

/// Brings files of the table at `base`, as paths relative to it, to the disk.
pub(super) async fn settle(base: PathBuf, files: Vec<PathBuf>) -> Result<()> {
    sync_apart(base, files, false, new_to_disk).await
}

/// A commit on a local disk, after a sync of the files that the new version names.
#[derive(Debug)]
pub(super) struct SyncedCommit {
    inner: LocalCommit,
    /// Brings a file or a directory to the disk.
    sync: fn(&Path) -> Result<()>,
}

impl SyncedCommit {
    pub fn new() -> Self {
        Self {
            inner: LocalCommit::new(true),
            sync: to_disk,
        }
    }
}

#[async_trait]
impl Around for SyncedCommit {
    fn inner(&self) -> &dyn CommitHandler {
        &self.inner
    }

    async fn around(
        &self,
        commit: Commit<'_>,
    ) -> std::result::Result<ManifestLocation, CommitError> {
        if SETTLED.try_with(|()| ()).is_err() {
            let base = local(commit.base_path);
            let written = written::files(
                commit.manifest,
                commit.indices.as_deref(),
                commit.transaction.clone(),
            )?;
            // A copied table and a branch begin at the version that they were copied from.
            let is_new = !base.join("_versions").is_dir();
            sync_apart(base, written, is_new, self.sync)
                .await
                .map_err(|error| CommitError::OtherError(error.into()))?;
        }
        commit.by(self.inner()).await
    }
}

/// [`sync_all`] on a thread that may wait.
async fn sync_apart(
    base: PathBuf,
    written: Vec<PathBuf>,
    is_new: bool,
    sync: fn(&Path) -> Result<()>,
) -> Result<()> {
    tokio::task::spawn_blocking(move || sync_all(&base, &written, is_new, sync))
        .await
        .map_err(Error::other)
        .flatten()
}

/// Syncs files, all that directories among them hold, and the directories that lead to them.
fn sync_all(
    base: &Path,
    written: &[PathBuf],
    is_new: bool,
    sync: fn(&Path) -> Result<()>,
) -> Result<()> {
    let mut directories = BTreeSet::new();
    for relative in written {
        sync_tree(&base.join(relative), &mut directories, sync)?;
        directories.extend(
            relative
                .ancestors()
                .skip(1)
                .map(|ancestor| base.join(ancestor)),
        );
    }
    for directory in directories {
        sync(&directory)?;
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

fn sync_tree(
    path: &Path,
    directories: &mut BTreeSet<PathBuf>,
    sync: fn(&Path) -> Result<()>,
) -> Result<()> {
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
fn to_disk(path: &Path) -> Result<()> {
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
#[path = "commit_tests.rs"]
mod tests;
