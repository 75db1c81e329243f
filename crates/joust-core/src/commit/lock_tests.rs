//! A change that has lost against another commit is the next one.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use async_trait::async_trait;
use lance::dataset::WriteMode;
use lance_table::io::commit::{CommitError, ConditionalPutCommitHandler, ManifestLocation};
use tokio::task::JoinHandle;

use super::super::arguments::Commit;
use super::super::policy::Policy;
use super::super::test_handler::{Faked, Step, append, pipeline, plain};
use super::*;

/// Commits of a rival that is always faster: the first try meets a version that exists, and during the
/// second another one is to be made.
#[derive(Debug)]
struct Rivalled {
    uri: String,
    lock: Arc<CommitLock>,
    tries: AtomicU32,
    rival: Arc<Mutex<Option<JoinHandle<u64>>>>,
}

#[async_trait]
impl Step for Rivalled {
    async fn run(&self, commit: Commit<'_>) -> Result<ManifestLocation, CommitError> {
        let uri = self.uri.clone();
        match self.tries.fetch_add(1, Ordering::Relaxed) {
            0 => {
                append(&uri, WriteMode::Append, plain()).await;
            }
            1 => {
                let lock = self.lock.clone();
                *self.rival.lock() = Some(tokio::spawn(async move {
                    let rival = append(&uri, WriteMode::Append, plain());
                    lock.run(short(), rival).await.version_id()
                }));
                // Time enough for it to be first, if it may.
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            _ => {}
        }
        commit.by(&ConditionalPutCommitHandler).await
    }
}

/// The context of a short commit.
fn short() -> CommitContext {
    CommitContext::new(Policy::Append)
}

/// The context of a change whose commit ends longer work.
fn long() -> CommitContext {
    CommitContext::new(Policy::IndexBuild)
}

#[tokio::test]
async fn a_change_that_has_lost_is_the_next_to_commit() {
    let place = tempfile::tempdir().unwrap();
    let uri = format!("{}/t.lance", place.path().display());
    append(&uri, WriteMode::Create, plain()).await;
    let (lock, rival) = (Arc::new(CommitLock::default()), Arc::default());
    let rivalled = Faked(Arc::new(Rivalled {
        uri: uri.clone(),
        lock: lock.clone(),
        tries: AtomicU32::new(0),
        rival: Arc::clone(&rival),
    }));
    let handler = pipeline(None, rivalled);
    let change = append(&uri, WriteMode::Append, Arc::new(handler));
    assert_eq!(lock.run(long(), change).await.version_id(), 3);
    let rival = rival.lock().take().unwrap();
    assert_eq!(rival.await.unwrap(), 4);
}

#[tokio::test]
async fn a_commit_within_a_change_uses_the_lock_that_the_change_holds() {
    let lock = CommitLock::default();
    let kept = lock.lock.clone().lock_owned().await;
    let ended = lock.run(long(), async {
        let context = CommitContext::current();
        *context.lock.as_ref().unwrap().guard.lock() = Some(kept);
        lock.run(short(), async { 7 }).await
    });
    assert_eq!(ended.await, 7);
    // What the change kept is given back.
    assert_eq!(lock.run(short(), async { 8 }).await, 8);
}

/// Another process that commits before each of the first tries, and needs more time than `Starvation` allows.
#[derive(Debug)]
struct Faster {
    uri: String,
    lock: Arc<CommitLock>,
    /// Whether a change starved at each try.
    starved: Mutex<Vec<bool>>,
}

#[async_trait]
impl Step for Faster {
    async fn run(&self, commit: Commit<'_>) -> Result<ManifestLocation, CommitError> {
        let tries = {
            let mut starved = self.starved.lock();
            starved.push(self.lock.starvation().is_there());
            starved.len()
        };
        if tries < 3 {
            append(&self.uri, WriteMode::Append, plain()).await;
            tokio::time::sleep(Duration::from_millis(600)).await;
        }
        commit.by(&ConditionalPutCommitHandler).await
    }
}

#[tokio::test]
async fn an_insert_that_loses_to_another_process_for_long_starves_until_it_commits() {
    let place = tempfile::tempdir().unwrap();
    let uri = format!("{}/t.lance", place.path().display());
    append(&uri, WriteMode::Create, plain()).await;
    let lock = Arc::new(CommitLock::default());
    let faster = Arc::new(Faster {
        uri: uri.clone(),
        lock: lock.clone(),
        starved: Mutex::default(),
    });
    let handler = pipeline(None, Faked(faster.clone()));
    let change = append(&uri, WriteMode::Append, Arc::new(handler));
    assert_eq!(lock.run(short(), change).await.version_id(), 4);
    assert_eq!(*faster.starved.lock(), [false, false, true]);
    assert!(!lock.starvation().is_there());
}
