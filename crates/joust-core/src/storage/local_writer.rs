//! Local files that joust writes in place of Lance.
//!
//! Lance creates a local file in five steps (directory, temporary file, contents, end, name) and changes threads
//! in each. Where all cores are busy, these changes are most of the time of a small commit: a short file, which
//! is in memory anyway, is [one step](store) here. Lance alternates between encoding and writing a long file,
//! and leaves its fsync to the end: here the parts of a [multipart] file are written while the next ones are
//! encoded, and the fsync of each part starts at once.

mod multipart;
mod store;

use std::sync::{Arc, LazyLock};

use lance::Dataset;
use lance::session::Session;
use lance_io::object_store::{DEFAULT_LOCAL_IO_PARALLELISM, ObjectStore};
use url::Url;

use super::Durability;
use super::local_stores::LocalStores;
use store::LocalWriterStore;

/// Lance's scheme for local files that are written like objects: collected in memory, then put.
const AS_OBJECTS: &str = "file-object-store:///";
/// The prefix of local files in Lance's caches.
const LOCAL: &str = "file";

static WITH_FSYNC: LazyLock<Option<Arc<ObjectStore>>> = LazyLock::new(|| store(Durability::Synced));
static WITHOUT_FSYNC: LazyLock<Option<Arc<ObjectStore>>> = LazyLock::new(|| store(Durability::Os));

fn store(durability: Durability) -> Option<Arc<ObjectStore>> {
    let location = Url::parse(AS_OBJECTS).ok()?;
    let files = Arc::new(LocalWriterStore::new(durability));
    // Parts of one size, so that their memory is known beforehand.
    let (of_one_size, parallel) = (true, DEFAULT_LOCAL_IO_PARALLELISM);
    let mut store = ObjectStore::new(
        files,
        location,
        None,
        None,
        of_one_size,
        false,
        parallel,
        0,
        None,
    );
    // So that readers of the same files find what a commit has cached.
    store.store_prefix = LOCAL.into();
    Some(Arc::new(store))
}

fn store_of(durability: Durability) -> Option<&'static Arc<ObjectStore>> {
    match durability {
        Durability::Synced => WITH_FSYNC.as_ref(),
        Durability::Os => WITHOUT_FSYNC.as_ref(),
    }
}

/// A version of a table whose new local files are written here. Short files are not synced.
pub(crate) struct LocalWriter {
    pub version: Arc<Dataset>,
    /// The original store, where it was replaced.
    own: Option<Arc<ObjectStore>>,
}

impl LocalWriter {
    pub async fn of(version: Arc<Dataset>, durability: Durability) -> lance::Result<Self> {
        let own = version.object_store(None).await?;
        let is_plain = cfg!(unix) && own.has_direct_local_paths() && own.store_prefix == LOCAL;
        // A dataset with a replaced store loses the stores of its other base paths, which would be opened again.
        let is_one_place = version.manifest().base_paths.is_empty();
        Ok(match store_of(durability) {
            Some(store) if is_plain && is_one_place => Self {
                version: Arc::new(version.with_object_store(store.clone(), None)),
                own: Some(own),
            },
            _ => Self { version, own: None },
        })
    }

    /// The committed dataset with its original store.
    pub fn committed(self, dataset: Dataset) -> Dataset {
        match self.own {
            Some(own) => dataset.with_object_store(own, None),
            None => dataset,
        }
    }
}

/// A session without caches that writes the local files of a new table here.
pub(crate) fn session(durability: Durability) -> Arc<Session> {
    static SESSION_WITH_FSYNC: LazyLock<Arc<Session>> =
        LazyLock::new(|| in_session(|lances| instead_of(lances, Durability::Synced)));
    static SESSION_WITHOUT_FSYNC: LazyLock<Arc<Session>> =
        LazyLock::new(|| in_session(|lances| instead_of(lances, Durability::Os)));
    match durability {
        Durability::Synced => SESSION_WITH_FSYNC.clone(),
        Durability::Os => SESSION_WITHOUT_FSYNC.clone(),
    }
}

fn instead_of(lances: ObjectStore, durability: Durability) -> ObjectStore {
    store_of(durability).map_or(lances, |store| store.as_ref().clone())
}

fn in_session(change: fn(ObjectStore) -> ObjectStore) -> Arc<Session> {
    Arc::new(Session::new(0, 0, Arc::new(LocalStores::registry(change))))
}

#[cfg(test)]
#[cfg(unix)]
#[path = "local_writer_tests.rs"]
mod tests;
