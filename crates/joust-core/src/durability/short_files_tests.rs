use std::os::unix::fs::PermissionsExt;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lance::dataset::{CommitBuilder, InsertBuilder, WriteMode, WriteParams};
use lance::index::DatasetIndexExt;
use lance_index::IndexType;
use lance_index::scalar::ScalarIndexParams;
use object_store::ObjectStoreExt;

use super::*;

fn row() -> Vec<RecordBatch> {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    vec![RecordBatch::try_from_iter([("n", numbers)]).unwrap()]
}

fn names(directory: &Path) -> Vec<String> {
    let entries = directory.read_dir().unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[tokio::test]
async fn rows_are_committed_as_if_lance_had_written_the_files() {
    let place = tempfile::tempdir().unwrap();
    let uri = place.path().to_str().unwrap();
    let create = InsertBuilder::new(uri);
    let mut dataset = create.execute(row()).await.unwrap();
    let scalar = ScalarIndexParams::default();
    dataset
        .create_index(&["n"], IndexType::BTree, None, &scalar, true)
        .await
        .unwrap();
    let before = dataset.load_indices().await.unwrap();
    let short = ShortFiles::of(Arc::new(dataset)).await.unwrap();
    let append = WriteParams {
        mode: WriteMode::Append,
        ..WriteParams::default()
    };
    let staged = InsertBuilder::new(short.version.clone())
        .with_params(&append)
        .execute_uncommitted(row())
        .await
        .unwrap();
    let commit = CommitBuilder::new(short.version.clone()).execute(staged);
    let committed = commit.await.unwrap();
    let store = committed.object_store(None).await.unwrap();
    assert!(!store.has_direct_local_paths());

    let committed = short.committed(committed);
    let store = committed.object_store(None).await.unwrap();
    assert!(store.has_direct_local_paths());
    let after = committed.load_indices().await.unwrap();
    assert_eq!(after.len(), 1);
    assert_eq!(after[0].uuid, before[0].uuid);
    let again = Dataset::open(uri).await.unwrap();
    assert_eq!(again.version_id(), committed.version_id());
    assert_eq!(again.count_rows(None).await.unwrap(), 2);
    assert_eq!(names(&place.path().join("data")).len(), 2);
    // Of the index, and of the rows; the first version has one too.
    let changes = place.path().join("_transactions");
    assert_eq!(names(&changes).len(), 3);
    let modes: Vec<_> = names(&changes)
        .iter()
        .map(|name| changes.join(name).metadata().unwrap().permissions().mode())
        .collect();
    assert!(modes.windows(2).all(|pair| pair[0] == pair[1]), "{modes:?}");
}

#[tokio::test]
async fn a_file_is_there_whole_with_its_directories_or_not_at_all() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a/b/c");
    let store = InOneStep(LocalFileSystem::new());
    let at = StorePath::from_absolute_path(&path).unwrap();
    let parts = [Bytes::from_static(b"one "), Bytes::from_static(b"two")];
    store.put(&at, parts.into_iter().collect()).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"one two");

    let error = store.put(&at, "other".into()).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"one two");

    let create = PutOptions::from(PutMode::Create);
    let lost = store.put_opts(&at, "other".into(), create).await;
    assert!(matches!(lost, Err(Error::AlreadyExists { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"one two");

    let under_a_file = StorePath::from_absolute_path(path.join("d")).unwrap();
    assert!(store.put(&under_a_file, "x".into()).await.is_err());
    assert_eq!(names(&place.path().join("a/b")), ["c"]);
}

/// Other systems have no such device.
#[cfg(target_os = "linux")]
#[test]
fn what_the_disk_has_no_room_for_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    std::fs::write(&path, "the beginning").unwrap();
    // Every write to this device fails as on a full disk.
    let full = File::options().write(true).open("/dev/full").unwrap();
    let error = fill(full, &path, &"x".into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert!(!path.exists());
}
