//! Tags: names for versions.
//!
//! Lance stores a tag in a small file and changes it in several steps. Concurrent changes may come in between: moving a
//! tag would restore a tag that was deleted meanwhile. Here a change of a table's tags or branches takes the table's
//! lock of them (the catalog has one for all servers), and reads and writes the file in one store operation each. Tools
//! that write tags without joust take no lock. On a local disk a concurrent change of theirs and one of joust may
//! overwrite one another; a store with conditional writes detects their change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use chrono::Utc;
use futures::stream::{self, StreamExt, TryStreamExt};
use lance::Dataset;
use lance::dataset::refs::{TagContents, base_tags_path, tag_path};
use lance_io::object_store::ObjectStore;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode, PutPayload, UpdateVersion};

use super::references::listed;
use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};
use crate::names::{
    CLONE_TAG_PREFIX, Reference, check_reference, is_clone_tag, is_reference, short,
};

/// Retries of a change after concurrent changes.
const ATTEMPTS: usize = 20;
/// Tags that a listing reads concurrently.
const READ_AT_ONCE: usize = 10;

/// A named pointer to a version.
#[derive(Debug, Clone)]
pub struct Tag {
    pub name: String,
    pub version: u64,
    /// Absent for the main branch.
    pub branch: Option<String>,
    /// Bytes.
    pub manifest_size: u64,
    pub created_at_millis: Option<i64>,
    pub updated_at_millis: Option<i64>,
    pub metadata: HashMap<String, String>,
}

impl Table {
    /// All tags of the table, of any branch, in the order of their names. Each tag is read once; the list is not a
    /// snapshot of one moment.
    pub async fn list_tags(&self) -> Result<Vec<Tag>> {
        let (store, table) = self.tag_store(self.newest().await?.as_ref()).await?;
        let files = listed(|| store.read_dir(base_tags_path(&table))).await?;
        let named = files.into_iter().filter_map(|file| {
            let name = file.strip_suffix(".json")?.to_string();
            Some((TagFile::of(store.clone(), &table, &name), name))
        });
        let found = stream::iter(named.collect::<Vec<_>>()).map(read_as);
        let found = found.buffer_unordered(READ_AT_ONCE);
        // A tag that another request deletes meanwhile is omitted.
        let mut tags: Vec<Tag> = found
            .try_filter_map(|found| async { Ok(found) })
            .try_collect()
            .await?;
        tags.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(tags)
    }

    /// One tag. Code 8 if it does not exist.
    pub async fn tag(&self, name: &str) -> Result<Tag> {
        check(name)?;
        let dataset = self.newest().await?;
        match self.tag_file(&dataset, name).await?.read().await? {
            Some((contents, _)) => Ok(tag(name, contents)),
            None => Err(unknown(name)),
        }
    }

    /// Creates a tag for a version of this branch.
    pub async fn create_tag(&self, name: &str, version: u64) -> Result<()> {
        check_reference(Reference::Tag, name)?;
        check_own(name)?;
        self.add_tag(name, version).await
    }

    /// As [`create_tag`](Self::create_tag), with a name that was checked.
    pub(super) async fn add_tag(&self, name: &str, version: u64) -> Result<()> {
        let _lock = self.handle.branches().changing.lock().await;
        let (_, _pin) = self.pin(ReadOptions::at(version)).await?;
        let dataset = self.newest().await?;
        let tags = dataset.tags();
        let created = tags.create(name, (self.handle.branch(), Some(version)));
        let created = created.await;
        if let Err(gone) = self.still_there(version).await {
            if created.is_ok() {
                let _ = tags.delete(name).await;
            }
            return Err(gone);
        }
        created.map_err(|error| explain(name, error))
    }

    /// Moves a tag to another version of this branch.
    pub async fn update_tag(&self, name: &str, version: u64) -> Result<()> {
        check(name)?;
        check_own(name)?;
        let _lock = self.handle.branches().changing.lock().await;
        let file = self.tag_file(self.newest().await?.as_ref(), name).await?;
        if file.read().await?.is_none() {
            return Err(unknown(name));
        }
        let (dataset, _pin) = self.pin(ReadOptions::at(version)).await?;
        let manifest = dataset.manifest_location();
        let manifest_size = match manifest.size {
            Some(size) => size,
            None => file.store.size(&manifest.path).await?,
        };
        for _ in 0..ATTEMPTS {
            let Some((before, revision)) = file.read().await? else {
                return Err(unknown(name));
            };
            let after = TagContents {
                branch: self.handle.branch().map(str::to_string),
                version,
                manifest_size: manifest_size as usize,
                updated_at: Some(Utc::now()),
                ..before.clone()
            };
            if !file.replace(&after, revision).await? {
                continue;
            }
            if let Err(gone) = self.still_there(version).await {
                if let Some((_, revision)) = file.read().await? {
                    file.replace(&before, revision).await?;
                }
                return Err(gone);
            }
            return Ok(());
        }
        Err(Error::new(
            Code::ConcurrentModification,
            format!("other writers keep changing the tag `{name}`: try again"),
        ))
    }

    /// Removes a tag; its version stays. Code 8 if the tag does not exist. The caller must not remove the tag of a clone
    /// that exists.
    pub async fn delete_tag(&self, name: &str) -> Result<()> {
        check(name)?;
        let _lock = self.handle.branches().changing.lock().await;
        let file = self.tag_file(self.newest().await?.as_ref(), name).await?;
        if !file.remove().await? {
            return Err(unknown(name));
        }
        self.removed(&file.path).await
    }

    async fn tag_file(&self, dataset: &Dataset, name: &str) -> Result<TagFile> {
        let (store, table) = self.tag_store(dataset).await?;
        Ok(TagFile::of(store, &table, name))
    }

    /// The store with which a version was opened, and the table's path in it.
    async fn tag_store(&self, dataset: &Dataset) -> Result<(Arc<ObjectStore>, Path)> {
        let (_, table) = self.handle.store().await?;
        Ok((dataset.object_store(None).await?, table))
    }

    /// Fails if the version of a new tag was removed meanwhile; tools that do not know joust's pins may do that.
    pub(super) async fn still_there(&self, version: u64) -> Result<()> {
        let options = ReadOptions {
            not_before: Some(SystemTime::now()),
            ..ReadOptions::at(version)
        };
        match self.dataset(options).await {
            Err(error) if error.code() == Code::TableVersionNotFound => Err(error),
            // A failed check does not invalidate the tag.
            _ => Ok(()),
        }
    }
}

async fn read_as((file, name): (TagFile, String)) -> Result<Option<Tag>> {
    let found = file.read().await?;
    Ok(found.map(|(contents, _)| tag(&name, contents)))
}

/// The file of a tag. Each step is one store operation, so that a reader sees the tag before or after a change and
/// never in between.
struct TagFile {
    store: Arc<ObjectStore>,
    path: Path,
}

impl TagFile {
    fn of(store: Arc<ObjectStore>, table: &Path, name: &str) -> Self {
        Self {
            path: tag_path(table, name),
            store,
        }
    }

    /// The tag, and the state of its file; `None` if there is none.
    async fn read(&self) -> Result<Option<(TagContents, UpdateVersion)>> {
        let found = match self.store.inner.get(&self.path).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let revision = UpdateVersion {
            e_tag: found.meta.e_tag.clone(),
            version: found.meta.version.clone(),
        };
        let contents = serde_json::from_slice(&found.bytes().await?)
            .map_err(|error| Error::internal("the tag's file can't be read", error))?;
        Ok(Some((contents, revision)))
    }

    /// Writes the tag in place of what was read. Returns `false` if it has been changed or removed since, if the store
    /// can detect that. Local disks and some stores cannot: there only the lock excludes other changes.
    async fn replace(&self, contents: &TagContents, read: UpdateVersion) -> Result<bool> {
        let bytes = serde_json::to_vec_pretty(contents)
            .map_err(|error| Error::internal("the tag can't be written", error))?;
        let put = |mode: PutMode| {
            let payload = PutPayload::from(bytes.clone());
            self.store.inner.put_opts(&self.path, payload, mode.into())
        };
        let put = match self.store.is_local() {
            true => put(PutMode::Overwrite).await,
            false => match put(PutMode::Update(read)).await {
                Err(object_store::Error::NotImplemented { .. }) => put(PutMode::Overwrite).await,
                put => put,
            },
        };
        match put {
            Ok(_) => Ok(true),
            Err(
                object_store::Error::Precondition { .. } | object_store::Error::NotFound { .. },
            ) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// False: the tag did not exist.
    async fn remove(&self) -> Result<bool> {
        // Object stores do not report whether the deleted object existed.
        if !self.store.exists(&self.path).await? {
            return Ok(false);
        }
        match self.store.inner.delete(&self.path).await {
            Ok(()) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn tag(name: &str, contents: TagContents) -> Tag {
    Tag {
        name: name.to_string(),
        version: contents.version,
        branch: contents.branch,
        manifest_size: contents.manifest_size as u64,
        created_at_millis: contents.created_at.map(|time| time.timestamp_millis()),
        updated_at_millis: contents.updated_at.map(|time| time.timestamp_millis()),
        metadata: contents.metadata,
    }
}

/// Rejects an invalid tag name.
fn check(name: &str) -> Result<()> {
    if is_reference(Reference::Tag, name) {
        Ok(())
    } else {
        Err(unknown(name))
    }
}

/// Rejects the name of a tag that keeps the files of a clone.
fn check_own(name: &str) -> Result<()> {
    match is_clone_tag(name) {
        false => Ok(()),
        true => Err(Error::invalid(format!(
            "tags that start with `{CLONE_TAG_PREFIX}` keep the files that clones read; choose another name"
        ))),
    }
}

fn unknown(name: &str) -> Error {
    Error::new(
        Code::TableTagNotFound,
        format!("there is no tag `{}`", short(name)),
    )
}

fn explain(name: &str, error: lance::Error) -> Error {
    match &error {
        lance::Error::RefNotFound { .. } => unknown(name),
        lance::Error::RefConflict { .. } => Error::new(
            Code::TableTagAlreadyExists,
            format!("there is a tag `{name}` already; update it or choose another name"),
        ),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(version: u64) -> TagContents {
        TagContents {
            branch: None,
            version,
            created_at: None,
            updated_at: None,
            manifest_size: 1,
            metadata: HashMap::new(),
        }
    }

    async fn write(file: &TagFile, version: u64) {
        let bytes = serde_json::to_vec(&contents(version)).unwrap();
        file.store.put(&file.path, &bytes).await.unwrap();
    }

    async fn version(file: &TagFile) -> Option<u64> {
        let found = file.read().await.unwrap();
        found.map(|(contents, _)| contents.version)
    }

    /// Like a tool that takes no lock.
    #[tokio::test]
    async fn a_store_with_conditional_writes_shows_that_a_tag_was_changed_meanwhile() {
        let store = Arc::new(ObjectStore::memory());
        let file = TagFile::of(store, &Path::from("t.lance"), "a");
        assert_eq!(version(&file).await, None);
        write(&file, 1).await;
        let (_, read) = file.read().await.unwrap().unwrap();
        write(&file, 2).await;
        assert!(!file.replace(&contents(3), read).await.unwrap());
        assert_eq!(version(&file).await, Some(2));
        let (_, read) = file.read().await.unwrap().unwrap();
        assert!(file.remove().await.unwrap());
        assert!(!file.replace(&contents(3), read).await.unwrap());
        assert_eq!(version(&file).await, None);
        assert!(!file.remove().await.unwrap());
    }

    #[tokio::test]
    async fn on_a_local_disk_a_tag_is_replaced_in_one_step() {
        let place = tempfile::tempdir().unwrap();
        let table = Path::from_filesystem_path(place.path()).unwrap();
        let file = TagFile::of(Arc::new(ObjectStore::local()), &table, "a");
        write(&file, 1).await;
        let (_, read) = file.read().await.unwrap().unwrap();
        assert!(file.replace(&contents(2), read).await.unwrap());
        assert_eq!(version(&file).await, Some(2));
        assert!(file.remove().await.unwrap());
        assert_eq!(version(&file).await, None);
    }
}
