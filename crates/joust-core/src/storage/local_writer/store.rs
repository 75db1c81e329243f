//! An object store for new local files.

use std::fmt::{Display, Formatter};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path as StorePath;
use object_store::{
    CopyOptions, Error, Extensions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore as Store, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use super::multipart::MultipartFile;
use crate::blocking_executor::step;
use crate::storage::Durability;
use crate::storage::atomic_create::create;

/// An object store for new local files whose names no reader knows until they are complete: the files have their
/// final names from the start. An incomplete file of a dead process is like an uncommitted one, and is cleaned up
/// with these.
#[derive(Debug)]
pub(crate) struct LocalWriterStore {
    files: LocalFileSystem,
    durability: Durability,
}

impl LocalWriterStore {
    pub fn new(durability: Durability) -> Self {
        let files = LocalFileSystem::new();
        Self { files, durability }
    }
}

impl Display for LocalWriterStore {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "LocalWriterStore({})", self.files)
    }
}

#[async_trait]
impl Store for LocalWriterStore {
    async fn put_opts(
        &self,
        location: &StorePath,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        // Readers may look for that name already.
        if !matches!(options.mode, PutMode::Overwrite) {
            return self.files.put_opts(location, payload, options).await;
        }
        let path = self.files.path_to_filesystem(location)?;
        let written = step(move || write(&path, &payload)).await;
        written.map_err(|error| failed(error, location))?;
        Ok(unnamed())
    }

    async fn put_multipart_opts(
        &self,
        location: &StorePath,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let path = self.files.path_to_filesystem(location)?;
        let synced = self.durability == Durability::Synced;
        let pieces = step(move || MultipartFile::begin(path, synced)).await;
        Ok(Box::new(pieces.map_err(|error| failed(error, location))?))
    }

    async fn get_opts(&self, location: &StorePath, options: GetOptions) -> Result<GetResult> {
        self.files.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &StorePath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.files.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<StorePath>>,
    ) -> BoxStream<'static, Result<StorePath>> {
        self.files.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&StorePath>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.files.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&StorePath>) -> Result<ListResult> {
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &StorePath,
        to: &StorePath,
        options: CopyOptions,
    ) -> Result<()> {
        self.files.copy_opts(from, to, options).await
    }
}

/// The e-tag of a file that no reader requests by its e-tag.
pub(crate) fn unnamed() -> PutResult {
    PutResult {
        e_tag: None,
        version: None,
        extensions: Extensions::default(),
    }
}

fn failed(error: io::Error, location: &StorePath) -> Error {
    match error.kind() {
        ErrorKind::AlreadyExists => Error::AlreadyExists {
            path: location.to_string(),
            source: Box::new(error),
        },
        _ => generic(error),
    }
}

pub(crate) fn generic(error: io::Error) -> Error {
    Error::Generic {
        store: "LocalWriterStore",
        source: Box::new(error),
    }
}

/// Creates a file. Removes it if it cannot be written completely.
fn write(path: &Path, payload: &PutPayload) -> io::Result<()> {
    fill(create(path, false)?, path, payload)
}

fn fill(mut file: File, path: &Path, payload: &PutPayload) -> io::Result<()> {
    let filled = payload.iter().try_for_each(|part| file.write_all(part));
    if filled.is_err() {
        let _ = std::fs::remove_file(path);
    }
    filled
}

#[cfg(test)]
#[cfg(unix)]
#[path = "store_tests.rs"]
mod tests;
