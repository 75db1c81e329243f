//! Lance abandons an update in the middle of its second commit.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use async_trait::async_trait;
use lance::Dataset;
use lance::dataset::{InsertBuilder, UpdateBuilder, WriteParams};
use lance_table::io::commit::ConditionalPutCommitHandler;

use super::super::test_handler::{Faked, Step, pipeline};
use super::super::{CommitLock, Policy};
use super::*;

/// Time for an update to be tried, and again.
const PATIENCE: Duration = Duration::from_secs(3);

/// Another update is faster than the first commit. The second one takes longer than Lance waits.
#[derive(Debug)]
struct Slow {
    uri: String,
    tries: AtomicU32,
    /// Another update is faster than the second one too.
    loses: bool,
}

#[async_trait]
impl Step for Slow {
    async fn run(&self, commit: Commit<'_>) -> Result<ManifestLocation, CommitError> {
        match self.tries.fetch_add(1, Ordering::Relaxed) {
            0 => rival(&self.uri).await,
            1 => {
                tokio::time::sleep(PATIENCE + Duration::from_secs(1)).await;
                if self.loses {
                    rival(&self.uri).await;
                }
            }
            _ => {}
        }
        commit.by(&ConditionalPutCommitHandler).await
    }
}

async fn rival(uri: &str) {
    update(Dataset::open(uri).await.unwrap(), "100")
        .await
        .unwrap();
}

async fn update(dataset: Dataset, value: &str) -> lance::Result<u64> {
    let update = UpdateBuilder::new(Arc::new(dataset))
        .update_where("n > 0")?
        .set("n", value)?
        .retry_timeout(PATIENCE)
        .build()?;
    Ok(update.execute().await?.rows_updated)
}

/// An update that Lance abandons, and the table at that place afterwards.
async fn abandoned(
    place: &tempfile::TempDir,
    loses: bool,
) -> (lance::Result<CommitOutcome<u64>>, Dataset) {
    let uri = format!("{}/t.lance", place.path().display());
    let slow = Arc::new(Slow {
        uri: uri.clone(),
        tries: AtomicU32::new(1_000),
        loses,
    });
    let params = WriteParams {
        commit_handler: Some(Arc::new(pipeline(None, Faked(slow.clone())))),
        enable_v2_manifest_paths: true,
        ..WriteParams::default()
    };
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values([1]));
    let row = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let builder = InsertBuilder::new(uri.as_str()).with_params(&params);
    let dataset = builder.execute(vec![row]).await.unwrap();
    slow.tries.store(0, Ordering::Relaxed);
    let change = to_outcome(update(dataset, "7"));
    let context = CommitContext::new(Policy::RowChange);
    let ended = CommitLock::default().run(context, change).await;
    (ended, Dataset::open(&uri).await.unwrap())
}

async fn rows(dataset: &Dataset, filter: &str) -> usize {
    dataset.count_rows(Some(filter.into())).await.unwrap()
}

#[tokio::test]
async fn an_abandoned_commit_that_succeeded_is_confirmed() {
    let place = tempfile::tempdir().unwrap();
    let (ended, dataset) = abandoned(&place, false).await;
    assert!(
        matches!(ended, Ok(CommitOutcome::Confirmed(3))),
        "{ended:?}"
    );
    assert_eq!(dataset.version_id(), 3);
    assert_eq!(rows(&dataset, "n = 7").await, 1);
}

#[tokio::test]
async fn an_abandoned_commit_that_lost_has_failed() {
    let place = tempfile::tempdir().unwrap();
    let (ended, dataset) = abandoned(&place, true).await;
    assert!(
        matches!(ended, Err(lance::Error::TooMuchWriteContention { .. })),
        "{ended:?}"
    );
    assert_eq!(dataset.version_id(), 3);
    assert_eq!(rows(&dataset, "n = 7").await, 0);
}

#[tokio::test]
async fn a_change_that_ends_is_reported_unchanged() {
    let reported = to_outcome(async { Ok(5) }).await;
    assert!(matches!(reported, Ok(CommitOutcome::Reported(5))));
    let failed = to_outcome::<()>(async { Err(lance::Error::invalid_input("no")) }).await;
    assert!(matches!(failed, Err(lance::Error::InvalidInput { .. })));
}
