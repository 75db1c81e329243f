//! The lock that orders the commits of a table.
//!
//! Lance commits optimistically: a commit that finds a newer version rebases and tries again a little later.
//! Appends are quick to build and follow one another without a pause, so an update or a compaction would
//! always lose against them. Here a commit takes the lock before it begins. A change, whose commit ends longer
//! work, takes the lock after its first lost commit and holds it until it is done.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use lance_table::io::commit::{CommitError, CommitHandler, ManifestLocation};
use parking_lot::Mutex;
use tokio::sync::{Mutex as Lock, OwnedMutexGuard};

use super::layer::{Commit, CommitLayer};

/// The commits of one branch of a table, in this process.
#[derive(Debug, Default)]
pub(crate) struct CommitLock {
    lock: Arc<Lock<()>>,
    /// Changes take the lock before their first commit too.
    strict: Arc<AtomicBool>,
}

struct Change {
    of: Arc<Lock<()>>,
    strict: Arc<AtomicBool>,
    /// Set after a lost commit: no other commit comes before the next attempt.
    kept: Mutex<Option<OwnedMutexGuard<()>>>,
}

tokio::task_local! {
    static CHANGE: Change;
}

impl CommitLock {
    /// Runs a commit exclusively.
    pub async fn commit<C: Future>(&self, commit: C) -> C::Output {
        // The commit at the end of a change, which may hold the lock.
        if CHANGE
            .try_with(|turn| Arc::ptr_eq(&turn.of, &self.lock))
            .unwrap_or(false)
        {
            return commit.await;
        }
        let _turn = self.lock.lock().await;
        commit.await
    }

    /// Runs work during which all commits wait, also the first one of a change.
    pub async fn pause<W: Future>(&self, work: W) -> W::Output {
        let _strict = Strict::new(&self.strict);
        self.commit(work).await
    }

    /// Runs work that ends in a commit. After the commit has lost against another one, other commits wait until
    /// the work has ended.
    pub async fn change<W: Future>(&self, work: W) -> W::Output {
        let turn = Change {
            of: self.lock.clone(),
            strict: self.strict.clone(),
            kept: Mutex::default(),
        };
        CHANGE.scope(turn, work).await
    }
}

/// Resets the flag when the pause ends.
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

/// Takes the lock for a change whose commit has lost.
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

/// Takes the lock until the enclosing [`CommitLock::change`] has ended.
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
