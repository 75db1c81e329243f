//! Clean-up concurrent with requests for old versions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use async_trait::async_trait;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use lance::dataset::builder::DatasetBuilder;
use lance_core::utils::testing::{ProxyObjectStore, ProxyObjectStorePolicy};
use lance_io::object_store::{ObjectStore, ObjectStoreParams, WrappingObjectStore};
use lance_table::format::{IndexMetadata, Manifest, Transaction};
use lance_table::io::commit::{
    CommitError, CommitHandler, ManifestLocation, ManifestNamingScheme, ManifestWriter,
};
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::*;
use crate::error::Code;
use crate::ipc::{UploadReader, sent};
use crate::table::{CloneSource, ReadOptions};
use crate::{Engine, EngineOptions};

/// A table of three versions, each with three more rows than the previous one, and its directory. Its newest version
/// has the tag `newest`.
async fn table() -> (Table, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    table.create(three(), false).await.unwrap();
    table.append(three()).await.unwrap();
    table.append(three()).await.unwrap();
    table.create_tag("newest", 3).await.unwrap();
    (table, directory)
}

fn three() -> UploadReader {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    sent(Engine::new(EngineOptions::default()).memory(), &batch)
}

/// Pauses a clean-up after it reads tags and branches, and before it reads any version.
#[derive(Debug)]
struct Waiting {
    commits: Arc<dyn CommitHandler>,
    waits: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

#[async_trait]
impl CommitHandler for Waiting {
    fn list_manifest_locations<'a>(
        &self,
        base_path: &Path,
        object_store: &'a ObjectStore,
        sorted_descending: bool,
    ) -> BoxStream<'a, lance::Result<ManifestLocation>> {
        let commits = &self.commits;
        let listed = commits.list_manifest_locations(base_path, object_store, sorted_descending);
        let (waits, go) = (self.waits.clone(), self.go.clone());
        let listed = stream::once(async move {
            waits.add_permits(1);
            let _ = go.acquire().await;
            listed
        });
        listed.flatten().boxed()
    }

    async fn commit(
        &self,
        manifest: &mut Manifest,
        indices: Option<Vec<IndexMetadata>>,
        base_path: &Path,
        object_store: &ObjectStore,
        manifest_writer: ManifestWriter,
        naming_scheme: ManifestNamingScheme,
        transaction: Option<Transaction>,
    ) -> Result<ManifestLocation, CommitError> {
        let commits = &self.commits;
        commits
            .commit(
                manifest,
                indices,
                base_path,
                object_store,
                manifest_writer,
                naming_scheme,
                transaction,
            )
            .await
    }
}

/// A clean-up of all old versions that is paused at that point.
struct CleaningUp {
    job: JoinHandle<Result<CleanedUp>>,
    go: Arc<Semaphore>,
}

impl CleaningUp {
    async fn of(table: &Table) -> Self {
        let (waits, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let waiting = Waiting {
            commits: table.handle().commit_handler().unwrap(),
            waits: waits.clone(),
            go: go.clone(),
        };
        let opened = DatasetBuilder::from_uri(table.handle().location());
        let opened = opened.with_commit_handler(Arc::new(waiting));
        table.handle().close();
        table.handle().advance(opened.load().await.unwrap());
        let table = table.clone();
        let job = tokio::spawn(async move { table.clean_up(Duration::ZERO, None).await });
        waits.acquire().await.unwrap().forget();
        Self { job, go }
    }

    /// Resumes; returns the number of removed versions.
    async fn end(self) -> u64 {
        self.go.close();
        self.job.await.unwrap().unwrap().versions
    }
}

fn code<T: std::fmt::Debug>(outcome: Result<T>) -> Code {
    outcome.unwrap_err().code()
}

async fn rows(table: &Table, options: ReadOptions) -> u64 {
    table.count_rows(Some("n >= 0"), options).await.unwrap()
}

/// Cleans up until only `in_use` versions are in use, and returns how many versions it removed: a task of Lance may keep
/// the dataset of a finished query a little longer.
async fn clean_up_until(table: &Table, in_use: u64) -> u64 {
    let cleaned = async {
        let mut versions = 0;
        loop {
            let cleaned = table.clean_up(Duration::ZERO, None).await.unwrap();
            versions += cleaned.versions;
            assert!(cleaned.in_use >= in_use);
            if cleaned.in_use == in_use {
                return versions;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, cleaned).await.unwrap()
}

async fn copy(table: &Table, state: CloneSource) -> Result<u64> {
    let location = format!("{}-copy", table.handle().location());
    let copy = table.tables().table(&location, Default::default());
    copy.clone_from(table, state).await
}

type Ask = for<'a> fn(&'a Table) -> BoxFuture<'a, Result<()>>;

#[tokio::test]
async fn a_version_that_is_being_removed_is_reported_as_not_found() {
    let asks: [Ask; 6] = [
        |table| Box::pin(async move { table.count_rows(None, ReadOptions::at(1)).await.map(drop) }),
        |table| Box::pin(table.create_tag("old", 1)),
        |table| Box::pin(table.update_tag("newest", 1)),
        |table| Box::pin(table.create_branch("dev", Some(1))),
        |table| Box::pin(async move { table.restore(1).await.map(drop) }),
        |table| {
            let state = CloneSource {
                version: Some(1),
                tag: None,
            };
            Box::pin(async move { copy(table, state).await.map(drop) })
        },
    ];
    for ask in asks {
        let (table, _directory) = table().await;
        let clean_up = CleaningUp::of(&table).await;
        let refused = ask(&table).await;
        assert_eq!(clean_up.end().await, 2);
        assert_eq!(code(refused), Code::TableVersionNotFound);
        let tags = table.list_tags().await.unwrap();
        let tags: Vec<_> = tags.iter().map(|tag| (&*tag.name, tag.version)).collect();
        assert_eq!(tags, [("newest", 3)]);
        assert!(table.list_branches().await.unwrap().is_empty());
        assert_eq!(rows(&table, ReadOptions::default()).await, 9);
        assert_eq!(code(ask(&table).await), Code::TableVersionNotFound);
    }
}

#[tokio::test]
async fn versions_that_stay_are_usable_during_a_clean_up() {
    let (table, _directory) = table().await;
    table.create_tag("kept", 1).await.unwrap();
    let clean_up = CleaningUp::of(&table).await;
    table.create_tag("also", 1).await.unwrap();
    table.create_tag("last", 3).await.unwrap();
    table.create_branch("dev", Some(1)).await.unwrap();
    // Another reference keeps it.
    table.delete_tag("kept").await.unwrap();
    let of_tag = CloneSource {
        version: None,
        tag: Some("also".into()),
    };
    copy(&table, of_tag).await.unwrap();
    assert_eq!(table.restore(1).await.unwrap(), 4);
    assert_eq!(clean_up.end().await, 1);
    assert_eq!(rows(&table, ReadOptions::at(1)).await, 3);
    assert_eq!(rows(&table, ReadOptions::at(3)).await, 9);
    assert_eq!(rows(&table, ReadOptions::at(4)).await, 3);
    let dev = table.on_branch(Some("dev"));
    assert_eq!(rows(&dev, ReadOptions::default()).await, 3);
}

#[tokio::test]
async fn a_pinned_version_is_not_cleaned_up() {
    let (table, _directory) = table().await;
    let (_, pin) = table.pin(ReadOptions::at(1)).await.unwrap();
    assert_eq!(clean_up_until(&table, 1).await, 1);
    let refused = table.delete_versions(&[(1, Some(3))]).await.unwrap_err();
    assert_eq!(refused.code(), Code::ConcurrentModification);
    assert_eq!(
        refused.message(),
        "version 1 is just being restored, copied or given a tag or branch; try again"
    );
    assert_eq!(rows(&table, ReadOptions::at(1)).await, 3);
    drop(pin);
    assert_eq!(clean_up_until(&table, 0).await, 1);
}

#[tokio::test]
async fn a_version_that_is_read_is_not_removed() {
    let (table, _directory) = table().await;
    table.delete_tag("newest").await.unwrap();
    let read = table.dataset(ReadOptions::at(2)).await.unwrap();
    table.create(three(), true).await.unwrap();
    // A writer to the second version must read the later commits.
    assert_eq!(clean_up_until(&table, 2).await, 1);
    assert_eq!(read.count_rows(Some("n >= 0".into())).await.unwrap(), 6);
    drop(read);
    let newest = table.dataset(ReadOptions::default()).await.unwrap();
    table.append(three()).await.unwrap();
    assert_eq!(clean_up_until(&table, 1).await, 2);
    assert_eq!(newest.count_rows(Some("n >= 0".into())).await.unwrap(), 3);
    drop(newest);
    assert_eq!(clean_up_until(&table, 0).await, 1);
    assert_eq!(rows(&table, ReadOptions::default()).await, 6);
}

#[tokio::test]
async fn an_idle_open_table_does_not_protect_versions() {
    let (table, _directory) = table().await;
    table.delete_tag("newest").await.unwrap();
    let options = [("other".to_string(), "option".to_string())];
    let location = table.handle().location();
    let beside = table.tables().table(location, options.into());
    assert_eq!(rows(&beside, ReadOptions::default()).await, 9);
    table.append(three()).await.unwrap();
    assert_eq!(clean_up_until(&table, 0).await, 3);
    assert_eq!(rows(&beside, ReadOptions::default()).await, 12);
}

/// The versions that this process allows another one to remove.
#[tokio::test]
async fn another_process_cannot_remove_versions_that_this_one_uses() {
    let (table, _directory) = table().await;
    let read = table.dataset(ReadOptions::at(2)).await.unwrap();
    let permit = table.permit_removal(&[1, 2]).await;
    assert_eq!(permit.in_use(), [2]);
    // It may stay if other processes use it.
    assert_eq!(
        code(table.create_tag("older", 1).await),
        Code::ServiceUnavailable
    );
    table.create_tag("old", 2).await.unwrap();
    drop((read, permit));
    table.create_tag("older", 1).await.unwrap();

    // Created before the other process was asked, and after this one read the tags.
    let other = Engine::new(EngineOptions::default());
    let other = other.table(table.handle().location(), Default::default());
    table.delete_tag("older").await.unwrap();
    table.delete_tag("old").await.unwrap();
    let clean_up = other.plan_clean_up(Duration::ZERO, None).await.unwrap();
    assert_eq!(clean_up.versions(), [1, 2]);
    table.create_tag("older", 1).await.unwrap();
    let permit = table.permit_removal(clean_up.versions()).await;
    assert_eq!(permit.in_use(), [1]);
    let in_use = permit.in_use().iter().copied().collect();
    let cleaned = clean_up.run(&in_use).await.unwrap();
    assert_eq!((cleaned.versions, cleaned.in_use), (1, 0));
    assert_eq!(rows(&table, ReadOptions::at(1)).await, 3);
    drop(permit);

    let nothing = table.tables().table("/nowhere/t.lance", Default::default());
    assert_eq!(nothing.permit_removal(&[1]).await.in_use(), [1]);
}

#[tokio::test]
async fn the_version_that_a_branch_began_at_stays() {
    let (table, _directory) = table().await;
    table.create_branch("dev", Some(2)).await.unwrap();
    let clean_up = table.clean_up(Duration::ZERO, None).await.unwrap();
    assert_eq!(clean_up.versions, 1);
    assert_eq!(rows(&table, ReadOptions::at(2)).await, 6);
}

#[tokio::test]
async fn a_stopped_clean_up_releases_its_versions() {
    let (table, _directory) = table().await;
    let clean_up = CleaningUp::of(&table).await;
    assert!(table.create_tag("old", 1).await.is_err());
    clean_up.job.abort();
    assert!(clean_up.job.await.unwrap_err().is_cancelled());
    table.create_tag("old", 1).await.unwrap();
}

/// Another server's clean-up, just before a tag file is written.
#[derive(Debug)]
struct Removed(PathBuf);

impl WrappingObjectStore for Removed {
    fn wrap(
        &self,
        _: &str,
        original: Arc<dyn object_store::ObjectStore>,
    ) -> Arc<dyn object_store::ObjectStore> {
        let version = self.0.clone();
        let mut policy = ProxyObjectStorePolicy::new();
        let remove = move |method: &str, path: &Path| {
            if method.starts_with("put") && path.as_ref().contains("_refs/tags") {
                let _ = std::fs::remove_file(&version);
            }
            Ok::<_, lance_core::Error>(())
        };
        policy.set_before_policy("remove", Arc::new(remove));
        Arc::new(ProxyObjectStore::new(
            original,
            Arc::new(Mutex::new(policy)),
        ))
    }

    fn wrap_paginated(
        &self,
        _: &str,
        _: Arc<dyn PaginatedListStore>,
    ) -> Option<Arc<dyn PaginatedListStore>> {
        None
    }
}

#[tokio::test]
async fn a_tag_whose_version_another_server_removes_is_not_there() {
    let asks: [Ask; 2] = [
        |table| Box::pin(table.create_tag("old", 1)),
        |table| Box::pin(table.update_tag("newest", 1)),
    ];
    for ask in asks {
        let (table, directory) = table().await;
        let version = format!("t.lance/_versions/{}.manifest", u64::MAX - 1);
        let version = directory.path().join(version);
        assert!(version.exists());
        // With a plain path, files are written without the object store.
        let place = format!("file-object-store://{}", table.handle().location());
        let opened = DatasetBuilder::from_uri(place);
        let opened = opened.with_store_params(ObjectStoreParams {
            object_store_wrapper: Some(Arc::new(Removed(version.clone()))),
            ..ObjectStoreParams::default()
        });
        table.handle().close();
        table.handle().advance(opened.load().await.unwrap());
        assert_eq!(code(ask(&table).await), Code::TableVersionNotFound);
        assert!(!version.exists());
        let tags = table.list_tags().await.unwrap();
        let tags: Vec<_> = tags.iter().map(|tag| (&*tag.name, tag.version)).collect();
        assert_eq!(tags, [("newest", 3)]);
    }
}
