//! Short local files, each written in one step.
//!
//! Lance makes a local file in five steps, its directory, a temporary file, what is in it, the end of that
//! and the name, and waits for another thread in each. Where all cores are busy, that wait is most of what a
//! small commit takes. What is short and in memory anyway is one step here.

use std::fmt::{Display, Formatter};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use lance::Dataset;
use lance_io::object_store::{DEFAULT_LOCAL_IO_PARALLELISM, ObjectStore};
use object_store::local::LocalFileSystem;
use object_store::path::Path as StorePath;
use object_store::{
    CopyOptions, Error, Extensions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore as Store, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use url::Url;

use super::new_file::create;
use crate::one_thread::step;

/// Lance's scheme for local files that are written as objects are: gathered in memory, then put.
const AS_OBJECTS: &str = "file-object-store:///";
/// What Lance's caches know local files by.
const LOCAL: &str = "file";

static STORE: LazyLock<Option<Arc<ObjectStore>>> = LazyLock::new(|| {
    let location = Url::parse(AS_OBJECTS).ok()?;
    let files = Arc::new(InOneStep(LocalFileSystem::new()));
    let parallel = DEFAULT_LOCAL_IO_PARALLELISM;
    let mut store = ObjectStore::new(files, location, None, None, false, false, parallel, 0, None);
    // What a commit leaves in the caches is found by readers of the same files.
    store.store_prefix = LOCAL.into();
    Some(Arc::new(store))
});

/// A version of a table for writes of [few](Self::MAX_ROWS) rows: on a local disk each of their files is
/// written in one step, and not synced.
pub(crate) struct ShortFiles {
    pub version: Arc<Dataset>,
    /// The store it came with, where that was another one.
    own: Option<Arc<ObjectStore>>,
}

impl ShortFiles {
    /// Bytes of rows up to which their file is short. One of 5 MB Lance gives away in parts, which lie in
    /// memory, and leave a file that no listing shows when the process dies.
    pub const MAX_ROWS: usize = 2 << 20;

    pub async fn of(version: Arc<Dataset>) -> lance::Result<Self> {
        let own = version.object_store(None).await?;
        let is_plain = cfg!(unix) && own.has_direct_local_paths() && own.store_prefix == LOCAL;
        // A view with another store forgets the stores of other places, which would be opened anew.
        let is_one_place = version.manifest().base_paths.is_empty();
        Ok(match STORE.as_ref() {
            Some(store) if is_plain && is_one_place => Self {
                version: Arc::new(version.with_object_store(store.clone(), None)),
                own: Some(own),
            },
            _ => Self { version, own: None },
        })
    }

    /// What was committed to it, as others see it.
    pub fn committed(self, dataset: Dataset) -> Dataset {
        match self.own {
            Some(own) => dataset.with_object_store(own, None),
            None => dataset,
        }
    }
}

/// A local file system for new files whose names nobody knows until they are complete: they have them from
/// the start. What a dead process left unfinished looks like what it left uncommitted, and goes with that.
#[derive(Debug)]
struct InOneStep(LocalFileSystem);

impl Display for InOneStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "InOneStep({})", self.0)
    }
}

#[async_trait]
impl Store for InOneStep {
    async fn put_opts(
        &self,
        location: &StorePath,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        // Somebody may look for that name already.
        if !matches!(options.mode, PutMode::Overwrite) {
            return self.0.put_opts(location, payload, options).await;
        }
        let path = self.0.path_to_filesystem(location)?;
        match step(move || write(&path, &payload)).await {
            Ok(()) => Ok(PutResult {
                e_tag: None,
                version: None,
                extensions: Extensions::default(),
            }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Error::AlreadyExists {
                path: location.to_string(),
                source: Box::new(error),
            }),
            Err(error) => Err(Error::Generic {
                store: "InOneStep",
                source: Box::new(error),
            }),
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &StorePath,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &StorePath, options: GetOptions) -> Result<GetResult> {
        self.0.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &StorePath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<StorePath>>,
    ) -> BoxStream<'static, Result<StorePath>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&StorePath>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&StorePath>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &StorePath,
        to: &StorePath,
        options: CopyOptions,
    ) -> Result<()> {
        self.0.copy_opts(from, to, options).await
    }
}

/// Makes a new file. What can't be written to its end is not there.
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
#[path = "short_files_tests.rs"]
mod tests;
