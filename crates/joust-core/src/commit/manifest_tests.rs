//! Commits on a local disk, and what other writers make of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};

use super::*;

fn ours() -> Arc<dyn CommitHandler> {
    Arc::new(LocalCommit::new(None))
}

fn others() -> Arc<dyn CommitHandler> {
    Arc::new(ConditionalPutCommitHandler)
}

fn one_row() -> Vec<RecordBatch> {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    vec![RecordBatch::try_from_iter([("n", numbers)]).unwrap()]
}

async fn create(base: &Path, commit_handler: Arc<dyn CommitHandler>) -> Dataset {
    let params = WriteParams {
        commit_handler: Some(commit_handler),
        ..WriteParams::default()
    };
    let uri = base.to_str().unwrap();
    let insert = InsertBuilder::new(uri).with_params(&params);
    insert.execute(one_row()).await.unwrap()
}

/// Appends a row to what may be an old version.
async fn append(to: &Dataset, commit_handler: Arc<dyn CommitHandler>) -> Dataset {
    let params = WriteParams {
        mode: WriteMode::Append,
        commit_handler: Some(commit_handler),
        ..WriteParams::default()
    };
    let insert = InsertBuilder::new(Arc::new(to.clone())).with_params(&params);
    insert.execute(one_row()).await.unwrap()
}

fn manifest(base: &Path, version: u64) -> PathBuf {
    base.join("_versions")
        .join(format!("{}.manifest", u64::MAX - version))
}

async fn newer(base: &Path, than: u64) -> Vec<u64> {
    let (store, path) = ObjectStore::from_uri(base.to_str().unwrap()).await.unwrap();
    let found = ours().list_manifest_locations_since(&path, &store, than);
    let found: Vec<_> = found.try_collect().await.unwrap();
    found.iter().map(|location| location.version).collect()
}

#[tokio::test]
async fn each_commit_leaves_a_hint_at_it_in_the_same_file() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("t.lance");
    let mut dataset = create(&base, ours()).await;
    let file = || {
        let path = base.join("_versions/latest_version_hint.json");
        std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap())
    };
    let first = file();
    for version in 1..12 {
        assert_eq!(dataset.version_id(), version);
        assert_eq!(version_hint::read(&base), Some(version));
        assert!(newer(&base, version).await.is_empty());
        dataset = append(&dataset, ours()).await;
    }
    assert_eq!(file(), first);
    assert_eq!(newer(&base, 9).await, [12, 11, 10]);
}

#[tokio::test]
async fn no_row_is_lost_between_joust_and_lance_commit_handlers() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("t.lance");
    let first = create(&base, ours()).await;
    // Each begins at the first version.
    for (count, handler) in [ours(), others(), others(), ours(), others()]
        .into_iter()
        .enumerate()
    {
        let after = append(&first, handler).await;
        assert_eq!(after.version_id(), count as u64 + 2);
        assert_eq!(after.count_rows(None).await.unwrap(), count + 2);
        assert_eq!(version_hint::read(&base), Some(after.version_id()));
    }
}

/// A version that a tag keeps may be followed by a gap, which is no sign that it is the newest.
#[tokio::test]
async fn versions_that_were_removed_do_not_hide_later_ones() {
    for handler in [ours(), others()] {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().join("t.lance");
        let first = create(&base, ours()).await;
        let mut newest = first.clone();
        for _ in 0..4 {
            newest = append(&newest, ours()).await;
        }
        for removed in 2..5 {
            std::fs::remove_file(manifest(&base, removed)).unwrap();
        }
        assert_eq!(newer(&base, 1).await, [5]);
        let after = append(&first, handler).await;
        assert_eq!(after.version_id(), 6);
        assert_eq!(after.count_rows(None).await.unwrap(), 6);
    }
}

#[tokio::test]
async fn a_missing_or_wrong_version_hint_does_not_hide_versions() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("t.lance");
    let first = create(&base, ours()).await;
    let second = append(&first, ours()).await;
    std::fs::write(
        base.join("_versions/latest_version_hint.json"),
        "{\"version\":1}",
    )
    .unwrap();
    assert_eq!(newer(&base, 1).await, [2]);
    assert!(newer(&base, 2).await.is_empty());
    std::fs::write(
        base.join("_versions/latest_version_hint.json"),
        "{\"version\":9}}",
    )
    .unwrap();
    assert_eq!(newer(&base, 1).await, [2]);
    std::fs::remove_file(base.join("_versions/latest_version_hint.json")).unwrap();
    assert_eq!(newer(&base, 1).await, [2]);
    assert_eq!(append(&first, ours()).await.version_id(), 3);
    assert_eq!(append(&second, ours()).await.version_id(), 4);
    assert_eq!(version_hint::read(&base), Some(4));
}
