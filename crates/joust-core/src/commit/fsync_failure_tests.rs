//! The error that a client gets when the name of a version did not reach the disk.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lance::Dataset;
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use lance_table::io::commit::CommitHandler;

use super::super::manifest::LocalCommit;
use super::super::test_handler::pipeline;
use super::super::{CommitContext, CommitLock, Policy, RequestStamp, to_outcome};
use crate::error::{Code, Error};
use crate::storage::fsync::to_disk;

/// The names of manifests are in the one directory that does not reach the disk.
fn broken(path: &Path) -> std::io::Result<()> {
    match path.ends_with("_versions") {
        true => Err(std::io::Error::from_raw_os_error(5)),
        false => to_disk(path),
    }
}

async fn write(
    uri: &str,
    mode: WriteMode,
    handler: Arc<dyn CommitHandler>,
) -> lance::Result<Dataset> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values([1]));
    let rows = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let params = WriteParams {
        mode,
        commit_handler: Some(handler),
        ..WriteParams::default()
    };
    let insert = InsertBuilder::new(uri).with_params(&params);
    insert.execute(vec![rows]).await
}

#[tokio::test]
async fn a_failed_fsync_of_a_manifest_reports_the_outcome_as_unknown() {
    let place = tempfile::tempdir().unwrap();
    let uri = format!("{}/t.lance", place.path().display());
    let handler = |sync| Arc::new(pipeline(None, LocalCommit::new(Some(sync))));
    write(&uri, WriteMode::Create, handler(to_disk))
        .await
        .unwrap();
    let append = || write(&uri, WriteMode::Append, handler(broken));
    let lock = CommitLock::default();
    let stamp = RequestStamp::new("r", || 1);
    let stamped = CommitContext::new(Policy::Append).stamped(vec![stamp]);
    let followed = CommitContext::new(Policy::RowChange);
    let failures = [
        append().await.map(drop),
        lock.run(stamped, append()).await.map(drop),
        lock.run(followed, to_outcome(append())).await.map(drop),
    ];
    for failure in failures {
        let error = Error::of_input(failure.unwrap_err());
        assert_eq!(error.code(), Code::ServiceUnavailable, "{error}");
        assert!(error.message().contains("read the table"), "{error}");
    }
    // Other writers may have committed after it: it stays.
    let newest = Dataset::open(&uri).await.unwrap();
    assert_eq!(newest.version_id(), 4);
    assert_eq!(newest.count_rows(None).await.unwrap(), 4);
}
