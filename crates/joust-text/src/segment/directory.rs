//! The files of a segment, read-only.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, WatchCallback, WatchHandle,
    WritePtr,
};

use crate::error::Result;

/// Files by name, in memory or mapped. tantivy's directories create lock files; these need none.
#[derive(Clone)]
pub struct Files(Arc<HashMap<PathBuf, OwnedBytes>>);

impl Files {
    pub fn new(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let files = files
            .into_iter()
            .map(|(name, bytes)| (PathBuf::from(name), OwnedBytes::new(bytes)));
        Self(Arc::new(files.collect()))
    }

    /// Maps the files of a directory.
    pub fn map(directory: &Path) -> Result<Self> {
        let mapped = MmapDirectory::open(directory).map_err(tantivy::TantivyError::from)?;
        let mut files = HashMap::new();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let name = PathBuf::from(entry.file_name());
            if !entry.file_type()?.is_file() || is_hidden(&name) {
                continue;
            }
            let slice = mapped
                .open_read(&name)
                .map_err(tantivy::TantivyError::from)?;
            files.insert(name, slice.read_bytes()?);
        }
        Ok(Self(Arc::new(files)))
    }

    pub(super) fn from_owned(files: HashMap<PathBuf, OwnedBytes>) -> Self {
        Self(Arc::new(files))
    }

    /// Names and contents.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0
            .iter()
            .filter_map(|(name, bytes)| Some((name.to_str()?, bytes.as_slice())))
    }

    /// Total size in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.values().map(|bytes| bytes.len() as u64).sum()
    }

    fn get(&self, path: &Path) -> Result<&OwnedBytes, OpenReadError> {
        self.0
            .get(path)
            .ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_path_buf()))
    }
}

/// Lock files and lists that only tantivy's writer needs.
pub(super) fn is_hidden(name: &Path) -> bool {
    name.to_str().is_none_or(|name| name.starts_with('.'))
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

fn read_only() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "a segment is never changed",
    )
}

impl Directory for Files {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(Arc::new(self.get(path)?.clone()))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError {
            io_error: Arc::new(read_only()),
            filepath: path.to_path_buf(),
        })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.0.contains_key(path))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(
            read_only(),
            path.to_path_buf(),
        ))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.get(path).map(|bytes| bytes.to_vec())
    }

    fn atomic_write(&self, _path: &Path, _data: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
