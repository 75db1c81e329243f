//! Whatever an operation writes is synced before its version appears.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float32Array, Int64Array, RecordBatch, RecordBatchIterator};
use arrow::array::{FixedSizeListArray, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use lance::Dataset;
use lance::blob::{BlobArrayBuilder, blob_field};
use lance::dataset::optimize::{CompactionOptions, compact_files};
use lance::dataset::{
    CommitBuilder, DeleteBuilder, InsertBuilder, MergeInsertBuilder, NewColumnTransform,
    UpdateBuilder, WhenMatched, WhenNotMatched, WriteMode, WriteParams,
};
use lance::index::DatasetIndexExt;
use lance::index::vector::VectorIndexParams;
use lance_file::version::LanceFileVersion;
use lance_index::IndexType;
use lance_index::scalar::ScalarIndexParams;
use lance_linalg::distance::MetricType;
use lance_table::feature_flags::MANAGED_BLOBS_META_KEY;
use parking_lot::Mutex;

use super::super::manifest::LocalCommit;
use super::super::test_handler::pipeline;
use super::super::written_files::appended;
use super::super::{CommitContext, CommitLock, Policy};
use crate::storage::fsync::{PendingFsync, to_disk};

static SYNCED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn record(path: &Path) -> std::io::Result<()> {
    SYNCED.lock().insert(path.components().collect());
    Ok(())
}

fn rows(range: std::ops::Range<i64>) -> RecordBatch {
    let count = range.clone().count();
    let values = Float32Array::from_iter_values((0..count * 4).map(|n| n as f32));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let vectors = FixedSizeListArray::new(item, 4, Arc::new(values), None);
    let words = StringArray::from_iter_values(range.clone().map(|n| format!("word{n}")));
    RecordBatch::try_from_iter([
        (
            "n",
            Arc::new(Int64Array::from_iter_values(range)) as ArrayRef,
        ),
        ("word", Arc::new(words) as ArrayRef),
        ("vector", Arc::new(vectors) as ArrayRef),
    ])
    .unwrap()
}

/// A row whose value is longer than a data file takes, in a table that keeps such by themselves.
fn managed_blob() -> RecordBatch {
    let managed = [(MANAGED_BLOBS_META_KEY.to_string(), "true".to_string())];
    let fields = vec![blob_field("blob", true)];
    let schema = Schema::new_with_metadata(fields, managed.into());
    let mut blobs = BlobArrayBuilder::new(1);
    blobs.push_bytes(vec![7; 1 << 20]).unwrap();
    RecordBatch::try_new(Arc::new(schema), vec![blobs.finish().unwrap()]).unwrap()
}

fn reader(batch: RecordBatch) -> Box<dyn arrow::array::RecordBatchReader + Send> {
    let schema = batch.schema();
    Box::new(RecordBatchIterator::new([Ok(batch)], schema))
}

/// Every file and directory below a directory but what syncs itself: manifests, and notes that no version
/// needs.
fn entries(base: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![base.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let apart = ["_versions", "_transactions"]
                .iter()
                .any(|name| path.ends_with(name));
            if apart {
                continue;
            }
            if path.is_dir() {
                open.push(path.clone());
            }
            found.insert(path);
        }
    }
    found
}

#[test]
fn a_scheme_is_the_same_in_any_letters() {
    use super::super::handler;
    use crate::storage::Durability;
    for location in ["/a/t.lance", "file:///a/t.lance", "FILE:///a/t.lance"] {
        assert!(Durability::Synced.syncs(location), "{location}");
        assert!(!Durability::Os.syncs(location), "{location}");
        assert!(handler(Durability::Os, location, None).is_some());
    }
    assert!(!Durability::Synced.syncs("S3://a/t.lance"));
    assert!(handler(Durability::Synced, "S3://a/t.lance", None).is_some());
}

/// One test: it records into one place.
#[tokio::test]
async fn what_an_operation_writes_is_synced_with_its_directories() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("t.lance");
    let local = LocalCommit::new(Some(to_disk));
    let handler = Arc::new(pipeline(Some(record), local));
    let params = |mode| WriteParams {
        mode,
        enable_stable_row_ids: true,
        commit_handler: Some(handler.clone()),
        ..WriteParams::default()
    };
    let mut known = BTreeSet::new();
    let mut check = |what: &str| {
        let synced = std::mem::take(&mut *SYNCED.lock());
        let now = entries(&base);
        for new in now.difference(&known) {
            let directory: PathBuf = new.parent().unwrap().components().collect();
            assert!(
                new.is_dir() || synced.contains(new),
                "{what} did not sync {}",
                new.display()
            );
            assert!(
                synced.contains(&directory),
                "{what}: {}",
                directory.display()
            );
        }
        assert_ne!(now.len(), known.len(), "{what} wrote nothing");
        known = now;
    };

    let uri = base.to_str().unwrap();
    let mut dataset = Dataset::write(reader(rows(0..300)), uri, Some(params(WriteMode::Create)))
        .await
        .unwrap();
    check("create");
    dataset
        .append(reader(rows(300..600)), Some(params(WriteMode::Append)))
        .await
        .unwrap();
    check("append");
    let deleted = DeleteBuilder::new(Arc::new(dataset), "n = 5")
        .execute()
        .await
        .unwrap();
    check("delete");
    let updated = UpdateBuilder::new(deleted.new_dataset)
        .update_where("n = 7")
        .unwrap()
        .set("word", "'changed'")
        .unwrap()
        .build()
        .unwrap()
        .execute()
        .await
        .unwrap();
    check("update");
    let mut merge = MergeInsertBuilder::try_new(updated.new_dataset, vec!["n".into()]).unwrap();
    let job = merge
        .when_matched(WhenMatched::UpdateAll)
        .when_not_matched(WhenNotMatched::InsertAll)
        .try_build()
        .unwrap();
    let (merged, _) = job.execute_reader(reader(rows(590..610))).await.unwrap();
    check("merge");
    let mut dataset = Arc::unwrap_or_clone(merged);
    let twice = NewColumnTransform::SqlExpressions(vec![("twice".into(), "n * 2".into())]);
    dataset.add_columns(twice, None, None).await.unwrap();
    check("add columns");
    dataset
        .create_index(
            &["n"],
            IndexType::BTree,
            None,
            &ScalarIndexParams::default(),
            true,
        )
        .await
        .unwrap();
    check("a scalar index");
    let flat = VectorIndexParams::ivf_flat(2, MetricType::L2);
    dataset
        .create_index(&["vector"], IndexType::Vector, None, &flat, true)
        .await
        .unwrap();
    check("a vector index");
    compact_files(&mut dataset, CompactionOptions::default(), None)
        .await
        .unwrap();
    check("compaction");
    let dataset = Arc::new(
        Dataset::write(reader(rows(0..9)), uri, Some(params(WriteMode::Overwrite)))
            .await
            .unwrap(),
    );
    check("overwrite");

    let append = params(WriteMode::Append);
    let rows = InsertBuilder::new(dataset.clone())
        .with_params(&append)
        .execute_uncommitted(vec![rows(9..20)])
        .await
        .unwrap();
    let named: BTreeSet<_> = appended(&rows, dataset.manifest())
        .iter()
        .map(|path| base.join(path))
        .collect();
    let new: Vec<_> = entries(&base)
        .into_iter()
        .filter(|entry| !known.contains(entry))
        .collect();
    assert!(!new.is_empty() && new.iter().all(|file| named.contains(file)));
    let pending = PendingFsync::begin(base.clone(), appended(&rows, dataset.manifest()));
    let context = CommitContext::new(Policy::Append).pending_fsync(vec![pending]);
    let commit = CommitBuilder::new(dataset).execute(rows);
    let lock = CommitLock::default();
    lock.run(context, commit).await.unwrap();
    let synced = std::mem::take(&mut *SYNCED.lock());
    assert!(synced.is_empty(), "again: {synced:?}");

    let base = place.path().join("blobs.lance");
    let uri = base.to_str().unwrap();
    let create = WriteParams {
        data_storage_version: Some(LanceFileVersion::V2_2),
        ..params(WriteMode::Create)
    };
    let created = Dataset::write(reader(managed_blob()), uri, Some(create));
    let dataset = Arc::new(created.await.unwrap());
    let append = params(WriteMode::Append);
    let synced = std::mem::take(&mut *SYNCED.lock());
    let blobs = base.join("_blobs");
    assert!(synced.is_superset(&entries(&blobs)) && synced.contains(&blobs));
    assert_eq!(entries(&blobs).len(), 1);
    let rows = InsertBuilder::new(dataset.clone())
        .with_params(&append)
        .execute_uncommitted(vec![managed_blob()])
        .await
        .unwrap();
    let named = appended(&rows, dataset.manifest());
    assert!(named.contains(&"_blobs".into()));
}

#[tokio::test]
async fn rows_whose_fsync_fails_are_in_no_version() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("t.lance");
    let params = |mode| WriteParams {
        mode,
        commit_handler: Some(Arc::new(pipeline(
            Some(to_disk),
            LocalCommit::new(Some(to_disk)),
        ))),
        ..WriteParams::default()
    };
    let create = params(WriteMode::Create);
    let uri = base.to_str().unwrap();
    let dataset = Dataset::write(reader(rows(0..9)), uri, Some(create))
        .await
        .unwrap();
    let append = params(WriteMode::Append);
    let new = InsertBuilder::new(Arc::new(dataset.clone()))
        .with_params(&append)
        .execute_uncommitted(vec![rows(9..20)])
        .await
        .unwrap();
    for file in appended(&new, dataset.manifest()) {
        let file = base.join(file);
        if file.is_file() {
            std::fs::remove_file(file).unwrap();
        }
    }
    let pending = PendingFsync::begin(base.clone(), appended(&new, dataset.manifest()));
    let commit = CommitBuilder::new(Arc::new(dataset)).execute(new);
    let context = CommitContext::new(Policy::Append).pending_fsync(vec![pending]);
    let lock = CommitLock::default();
    let error = lock.run(context, commit).await.unwrap_err();
    assert!(matches!(error, lance::Error::IO { .. }), "{error:?}");
    assert_eq!(Dataset::open(uri).await.unwrap().version_id(), 1);
}
