//! Cancelled work waits for its commit: a store finishes a write that it has started.

use std::time::Duration;

use async_trait::async_trait;
use lance::dataset::WriteMode;
use lance_table::io::commit::{CommitError, ConditionalPutCommitHandler, ManifestLocation};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::super::arguments::Commit;
use super::super::lock::CommitLock;
use super::super::test_handler::{Faked, Step, append, pipeline, plain};
use super::*;
use crate::work::CancellationToken;

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(30);

/// Writes the manifest once it may.
#[derive(Debug, Default)]
struct Slow {
    begun: Notify,
    may_write: Notify,
}

#[async_trait]
impl Step for Slow {
    async fn run(&self, commit: Commit<'_>) -> Result<ManifestLocation, CommitError> {
        self.begun.notify_one();
        self.may_write.notified().await;
        commit.by(&ConditionalPutCommitHandler).await
    }
}

async fn newest(uri: &str) -> u64 {
    Dataset::open(uri).await.unwrap().version_id()
}

async fn cancelled_in_its_commit(policy: Policy) {
    let place = tempfile::tempdir().unwrap();
    let uri = format!("{}/t.lance", place.path().display());
    append(&uri, WriteMode::Create, plain()).await;
    let slow = Arc::new(Slow::default());
    let handler = Arc::new(pipeline(None, Faked(slow.clone())));
    let cancel = CancellationToken::new();
    let work = WorkContext::new(Arc::new(|_| {}), cancel.clone());
    let running = {
        let (work, uri) = (work.clone(), uri.clone());
        tokio::spawn(async move {
            let context = CommitContext::new(policy).of_work(&work);
            let lock = CommitLock::default();
            let change = append(&uri, WriteMode::Append, handler);
            let change = async { Ok(lock.run(context, change).await) };
            work.run(change).await.map(drop)
        })
    };
    timeout(LONG, slow.begun.notified()).await.unwrap();
    cancel.cancel();
    tokio::time::sleep(SHORT).await;
    assert!(!running.is_finished(), "{policy:?}");
    assert_eq!(newest(&uri).await, 1);
    slow.may_write.notify_one();
    // It returns the outcome or that it was cancelled. No later commit follows either.
    let _ = timeout(LONG, running).await.unwrap().unwrap();
    assert_eq!(newest(&uri).await, 2, "{policy:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_has_begun_ends_before_its_cancelled_work() {
    cancelled_in_its_commit(Policy::IndexBuild).await;
}

/// The pipeline runs these steps in a separate task, which the job cannot cancel.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_in_a_task_of_its_own_ends_before_its_cancelled_work() {
    cancelled_in_its_commit(Policy::TextIndex).await;
}
