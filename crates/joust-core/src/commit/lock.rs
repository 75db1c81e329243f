//! The lock that orders the commits of a table.
//!
//! Lance commits optimistically: a commit that finds a newer version rebases and tries again a little later.
//! Appends are quick to build and follow one another without a pause, so an update or a compaction would
//! always lose against them. Here the [policy](super::policy::Lock) of a change says when it takes the lock: before the
//! work that ends in its commit, or after its first lost commit.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Mutex as Lock, OwnedMutexGuard};
use tracing::{Instrument, info_span};

use super::context::CommitContext;
use super::policy;
use super::starvation::{Losses, Starvation};

/// The commits of one branch of a table, in this process.
#[derive(Debug, Default)]
pub(crate) struct CommitLock {
    lock: Arc<Lock<()>>,
    /// All changes take the lock before their commit.
    is_paused: Arc<AtomicBool>,
    /// Changes that lose to other processes.
    starvation: Starvation,
}

impl CommitLock {
    /// Changes that lose to other processes.
    pub fn starvation(&self) -> &Starvation {
        &self.starvation
    }

    /// Runs a change, which ends in a commit, in its context.
    pub async fn run<W: Future>(&self, mut context: CommitContext, change: W) -> W::Output {
        let lock = context.policy.terms().lock;
        // A commit inside of another change of the branch uses the lock of that change.
        let outer = CommitContext::current().lock.clone();
        let outer = outer.filter(|held| Arc::ptr_eq(&held.of, &self.lock));
        let own = match (&outer, lock) {
            (Some(_), _) | (None, policy::Lock::Never) => None,
            (None, _) => Some(Arc::new(HeldLock::new(self))),
        };
        let _release = own.clone().map(Release);
        if let (Some(own), policy::Lock::First) = (&own, lock) {
            own.take().await;
        }
        context.lock = outer.or(own);
        Arc::new(context).scope(change).await
    }

    /// Runs work during which all commits wait.
    pub async fn pause<W: Future>(&self, work: W) -> W::Output {
        let _pause = Pause::new(&self.is_paused);
        let _lock = self.lock.lock().await;
        work.await
    }
}

/// Resets the flag when the pause ends.
struct Pause<'a>(&'a AtomicBool);

impl<'a> Pause<'a> {
    fn new(is_paused: &'a AtomicBool) -> Self {
        is_paused.store(true, Ordering::Relaxed);
        Self(is_paused)
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The commit lock, as one change holds it.
#[derive(Debug)]
pub(super) struct HeldLock {
    of: Arc<Lock<()>>,
    is_paused: Arc<AtomicBool>,
    /// Set from when the change has the lock until it ends.
    guard: Mutex<Option<OwnedMutexGuard<()>>>,
    losses: Mutex<Losses>,
}

impl HeldLock {
    fn new(lock: &CommitLock) -> Self {
        Self {
            of: lock.lock.clone(),
            is_paused: lock.is_paused.clone(),
            guard: Mutex::default(),
            losses: Mutex::new(lock.starvation.losses()),
        }
    }

    /// Takes the lock, unless the change has it.
    pub async fn take(&self) {
        let is_taken = self.guard.lock().is_some();
        if !is_taken {
            let taken = self.of.clone().lock_owned();
            let guard = taken.instrument(info_span!("wait for commit lock")).await;
            *self.guard.lock() = Some(guard);
        }
    }

    /// Takes the lock after another commit came first.
    pub async fn lost(&self) {
        self.losses.lock().add();
        self.take().await;
    }

    /// Takes the lock if commits pause.
    pub async fn take_in_pause(&self) {
        if self.is_paused.load(Ordering::Relaxed) {
            self.take().await;
        }
    }
}

/// Releases the lock when the change ends. A commit that continues without its change does not need the lock.
struct Release(Arc<HeldLock>);

impl Drop for Release {
    fn drop(&mut self) {
        *self.0.guard.lock() = None;
    }
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
