//! Local files that are written here and not by Lance.
//!
//! Lance makes a local file in five steps, its directory, a temporary file, what is in it, the end of that
//! and the name, and waits for another thread in each. Where all cores are busy, that wait is most of what a
//! small commit takes: what is short and in memory anyway is [one step](store) here. A long file Lance
//! writes in turn with its encoding, and leaves all of it to the sync at its end: here its [multipart] are written
//! while the next ones are made, and the disk begins with each at once.

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

/// Lance's scheme for local files that are written as objects are: gathered in memory, then put.
const AS_OBJECTS: &str = "file-object-store:///";
/// What Lance's caches know local files by.
const LOCAL: &str = "file";

static SYNCED: LazyLock<Option<Arc<ObjectStore>>> = LazyLock::new(|| store(Durability::Synced));
static UNSYNCED: LazyLock<Option<Arc<ObjectStore>>> = LazyLock::new(|| store(Durability::Os));

fn store(durability: Durability) -> Option<Arc<ObjectStore>> {
    let location = Url::parse(AS_OBJECTS).ok()?;
    let files = Arc::new(LocalWriterStore::new(durability));
    // MultipartFile of one size: the memory for them is known before.
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
    // What a commit leaves in the caches is found by readers of the same files.
    store.store_prefix = LOCAL.into();
    Some(Arc::new(store))
}

fn store_of(durability: Durability) -> Option<&'static Arc<ObjectStore>> {
    match durability {
        Durability::Synced => SYNCED.as_ref(),
        Durability::Os => UNSYNCED.as_ref(),
    }
}

/// A version of a table whose new files, where they are local, are written here; the short ones are not synced.
pub(crate) struct LocalWriter {
    pub version: Arc<Dataset>,
    /// The store it came with, where that was another one.
    own: Option<Arc<ObjectStore>>,
}

impl LocalWriter {
    pub async fn of(version: Arc<Dataset>, durability: Durability) -> lance::Result<Self> {
        let own = version.object_store(None).await?;
        let is_plain = cfg!(unix) && own.has_direct_local_paths() && own.store_prefix == LOCAL;
        // A view with another store forgets the stores of other places, which would be opened anew.
        let is_one_place = version.manifest().base_paths.is_empty();
        Ok(match store_of(durability) {
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

/// A session, with caches that keep nothing, in which the local files of a table that is not there yet are
/// written here.
pub(crate) fn session(durability: Durability) -> Arc<Session> {
    static FOR_SYNCED: LazyLock<Arc<Session>> =
        LazyLock::new(|| in_session(|lances| instead_of(lances, Durability::Synced)));
    static FOR_UNSYNCED: LazyLock<Arc<Session>> =
        LazyLock::new(|| in_session(|lances| instead_of(lances, Durability::Os)));
    match durability {
        Durability::Synced => FOR_SYNCED.clone(),
        Durability::Os => FOR_UNSYNCED.clone(),
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
