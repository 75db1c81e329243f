use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lance::dataset::{CommitBuilder, InsertBuilder, WriteMode, WriteParams};
use lance::index::DatasetIndexExt;
use lance_index::IndexType;
use lance_index::scalar::ScalarIndexParams;

use super::*;

fn row() -> Vec<RecordBatch> {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    vec![RecordBatch::try_from_iter([("n", numbers)]).unwrap()]
}

/// What a directory holds.
pub(crate) fn names(directory: &Path) -> Vec<String> {
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
    let files = LocalWriter::of(Arc::new(dataset), Durability::Synced)
        .await
        .unwrap();
    let append = WriteParams {
        mode: WriteMode::Append,
        ..WriteParams::default()
    };
    let staged = InsertBuilder::new(files.version.clone())
        .with_params(&append)
        .execute_uncommitted(row())
        .await
        .unwrap();
    let commit = CommitBuilder::new(files.version.clone()).execute(staged);
    let committed = commit.await.unwrap();
    let store = committed.object_store(None).await.unwrap();
    assert!(!store.has_direct_local_paths());

    let committed = files.committed(committed);
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
