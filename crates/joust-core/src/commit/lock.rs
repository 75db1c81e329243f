//! CommitLock of a table's commits.
//!
//! Lance commits by trying: whoever finds that another version was there first builds its own anew and
//! tries again, a little later. Appends, which are soon built and follow one another without a pause,
//! would so win for ever against an update or a compaction. Here a commit takes its turn before it
//! begins. A change, whose commit is the end of longer work, takes it once it has lost, and keeps it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use lance_table::io::commit::{CommitError, CommitHandler, ManifestLocation};
use parking_lot::Mutex;
use tokio::sync::{Mutex as Lock, OwnedMutexGuard};

use super::layer::{Commit, CommitLayer};

/// The turns of one table, in this process.
#[derive(Debug, Default)]
pub(crate) struct CommitLock {
    lock: Arc<Lock<()>>,
    /// Changes too take the turn before their first commit.
    strict: Arc<AtomicBool>,
}

struct Change {
    of: Arc<Lock<()>>,
    strict: Arc<AtomicBool>,
    /// A commit has lost: nobody else's comes between.
    kept: Mutex<Option<OwnedMutexGuard<()>>>,
}

tokio::task_local! {
    static CHANGE: Change;
}

impl CommitLock {
    /// Does a commit while no other one of the table is done.
    pub async fn commit<C: Future>(&self, commit: C) -> C::Output {
        // The end of a change, which may have the turn.
        if CHANGE
            .try_with(|turn| Arc::ptr_eq(&turn.of, &self.lock))
            .unwrap_or(false)
        {
            return commit.await;
        }
        let _turn = self.lock.lock().await;
        commit.await
    }

    /// Does work for which all commits of the table pause, also the first one of a change.
    pub async fn pause<W: Future>(&self, work: W) -> W::Output {
        let _strict = Strict::new(&self.strict);
        self.commit(work).await
    }

    /// Does work that ends in a commit. When that has lost against another, the others wait until the
    /// work has ended.
    pub async fn change<W: Future>(&self, work: W) -> W::Output {
        let turn = Change {
            of: self.lock.clone(),
            strict: self.strict.clone(),
            kept: Mutex::default(),
        };
        CHANGE.scope(turn, work).await
    }
}

/// Ends with the pause.
struct Strict<'a>(&'a AtomicBool);

impl<'a> Strict<'a> {
    fn new(strict: &'a AtomicBool) -> Self {
        strict.store(true, Ordering::Relaxed);
        Self(strict)
    }
}

impl Drop for Strict<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Takes the turn for a change whose commit, made by another handler, has lost.
#[derive(Debug)]
pub(super) struct LockLayer(pub Arc<dyn CommitHandler>);

#[async_trait]
impl CommitLayer for LockLayer {
    fn inner(&self) -> &dyn CommitHandler {
        self.0.as_ref()
    }

    async fn run(&self, commit: Commit<'_>) -> Result<ManifestLocation, CommitError> {
        if CHANGE
            .try_with(|turn| turn.strict.load(Ordering::Relaxed))
            .unwrap_or(false)
        {
            keep_lock().await;
        }
        let committed = commit.by(self.inner()).await;
        if matches!(committed, Err(CommitError::CommitConflict)) {
            keep_lock().await;
        }
        committed
    }
}

/// Takes the turn until the work around has ended.
async fn keep_lock() {
    if let Ok(Some(turns)) =
        CHANGE.try_with(|turn| turn.kept.lock().is_none().then(|| turn.of.clone()))
    {
        let turn = turns.lock_owned().await;
        let _ = CHANGE.try_with(|own| *own.kept.lock() = Some(turn));
    }
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
