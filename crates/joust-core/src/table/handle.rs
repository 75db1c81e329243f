//! The open dataset at a table's address, and how it stays current.
//!
//! Opening a Lance dataset reads a manifest; an answer from a stale one breaks read-your-writes. A handle caches the
//! newest version. Before each use it makes the cheapest storage request that proves that there is no newer one. For
//! local disks see [`directory`](super::directory). On a remote store it is one request for the manifest of the next
//! version and, at most every [`FULL_CHECK`], a listing, which also finds versions whose predecessors were cleaned up.
//! A configured staleness skips both for that time. Commits of this process update the handle directly.

mod load;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use lance::Dataset;
use lance::session::Session;
use lance_io::object_store::ObjectStore;
use lance_table::io::commit::CommitHandler;
use object_store::path::Path;
use parking_lot::Mutex;

use super::append::Queue;
use super::current::Current;
use super::deletion_mark::DeletionMark;
use super::directory::{Seen, VersionsDirectory};
use super::version_pins::{Place, VersionPins};
use crate::commit::{self, Branches, CommitLock, OnBranch, Reference};
use crate::error::{Code, Result};
use crate::storage::root::{Links, store};
use crate::storage::{Durability, Sessions, StorageOptions};

/// How long a remote table is only checked for the next version.
const FULL_CHECK: Duration = Duration::from_secs(5);

static CLOCK: AtomicU64 = AtomicU64::new(1);

struct Open {
    current: Current,
    /// The state of a local `_versions` for which `current` was the newest.
    seen: Option<Seen>,
    /// When the storage was last asked for a newer version; `None` if this process only committed.
    checked: Option<Instant>,
    fully_checked: Instant,
}

/// A table's address and its cached dataset.
pub struct Handle {
    place: Place,
    storage_options: StorageOptions,
    sessions: Arc<Sessions>,
    staleness: Duration,
    /// Of the table; all its handles share it.
    branches: Arc<Branches>,
    /// Of the engine.
    pins: VersionPins,
    /// Of the engine.
    links: Arc<Links>,
    /// `None` on a remote store.
    directory: Option<VersionsDirectory>,
    open: Mutex<Option<Open>>,
    /// One caller refreshes while the others wait for the result.
    refreshing: tokio::sync::Mutex<()>,
    last_used: AtomicU64,
    /// Queued appends.
    pub(super) appends: Queue,
    /// Locked while rows are changed or removed: concurrent changes would conflict with one another.
    pub(crate) changing: tokio::sync::Mutex<()>,
    /// Commits to this branch lock it.
    pub(crate) commit_lock: CommitLock,
    /// The end of a pause of commits that another process requested.
    pub(super) paused_until: Mutex<Option<Instant>>,
}

impl Handle {
    pub(crate) fn new(
        place: Place,
        storage_options: StorageOptions,
        sessions: Arc<Sessions>,
        staleness: Duration,
        branches: Arc<Branches>,
        pins: VersionPins,
        links: Arc<Links>,
    ) -> Self {
        Self {
            directory: VersionsDirectory::of(&place.location, place.branch.as_deref()),
            place,
            storage_options,
            sessions,
            staleness,
            branches,
            pins,
            links,
            open: Mutex::new(None),
            refreshing: tokio::sync::Mutex::new(()),
            last_used: AtomicU64::new(CLOCK.fetch_add(1, Ordering::Relaxed)),
            appends: Queue::default(),
            changing: tokio::sync::Mutex::default(),
            commit_lock: CommitLock::default(),
            paused_until: Mutex::default(),
        }
    }

    pub fn location(&self) -> &str {
        &self.place.location
    }

    /// Whether the table is on a disk of this host.
    pub(crate) fn is_local(&self) -> bool {
        self.directory.is_some()
    }

    pub fn branch(&self) -> Option<&str> {
        self.place.branch.as_deref()
    }

    /// Whether it is another handle on the same branch of the same table.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.place == other.place && !std::ptr::eq(self, other)
    }

    /// Its key in the [version pins](VersionPins).
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub fn storage_options(&self) -> &StorageOptions {
        &self.storage_options
    }

    /// The store that holds the table, and the table's path in it.
    pub async fn store(&self) -> Result<(Arc<ObjectStore>, Path)> {
        store(
            &self.sessions,
            &self.place.location,
            self.storage_options.clone(),
        )
        .await
    }

    /// The store, and the path of the branch, which contains `data`, `_versions` and so on.
    pub async fn files(&self) -> Result<(Arc<ObjectStore>, Path)> {
        let (store, table) = self.store().await?;
        let base = match &self.place.branch {
            Some(branch) => branch.split('/').fold(table.join("tree"), Path::join),
            None => table,
        };
        Ok((store, base))
    }

    /// A session for a table that is about to be created here.
    pub fn fresh_session(&self) -> Arc<Session> {
        self.sessions.session()
    }

    /// The commit handler for a new table here; `None` is Lance's default.
    pub fn commit_handler(&self) -> Option<Arc<dyn CommitHandler>> {
        commit::handler(self.durability(), &self.place.location, None)
    }

    /// The table's branches.
    pub(crate) fn branches(&self) -> &Branches {
        &self.branches
    }

    /// The reference file of a branch of the table.
    pub(crate) async fn reference(&self, branch: &str) -> Result<Reference> {
        let (store, table) = self.store().await?;
        Ok(Reference::of(store, &table, branch))
    }

    /// The durability that an acknowledged change of the table has.
    pub(crate) fn durability(&self) -> Durability {
        self.sessions.durability()
    }

    /// The mark of the deletion of a branch on a local disk.
    pub(super) fn deletion_mark(&self) -> Option<&DeletionMark> {
        self.directory.as_ref()?.deletion()
    }

    /// The time of the last use, as a counter over all handles.
    pub(crate) fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    /// Drops the dataset; the next use opens it again.
    pub(crate) fn close(&self) {
        *self.open.lock() = None;
    }

    /// The newest version, if it is known without a storage access.
    pub(crate) fn peek(&self) -> Option<Current> {
        let now = CLOCK.fetch_add(1, Ordering::Relaxed);
        self.last_used.store(now, Ordering::Relaxed);
        let mut open = self.open.lock();
        let open = open.as_mut().filter(|open| !open.current.is_retired())?;
        let newest = match &self.directory {
            Some(directory) => match directory.confirm(&open.current.dataset, open.seen) {
                Some(seen) => {
                    open.seen = Some(seen);
                    true
                }
                None => false,
            },
            None => open
                .checked
                .is_some_and(|checked| checked.elapsed() < self.staleness),
        };
        newest.then(|| open.current.clone())
    }

    /// The newest version. A check before `not_before`, or that only knows versions before `min_version`, is not used.
    pub(crate) async fn current(
        &self,
        not_before: Option<SystemTime>,
        min_version: Option<u64>,
    ) -> Result<Current> {
        if !self.is_older_than(not_before)
            && !self.is_behind(min_version)
            && let Some(current) = self.peek()
        {
            return Ok(current);
        }
        let asked = Instant::now();
        let _lock = self.refreshing.lock().await;
        // Another caller may have refreshed while this one waited for the lock.
        if let Some(open) = self.open.lock().as_ref()
            && open.checked.is_some_and(|checked| checked >= asked)
            && !open.current.is_retired()
        {
            return Ok(open.current.clone());
        }
        Box::pin(self.refresh()).await
    }

    /// Whether the last check of a remote table was before `time`.
    fn is_older_than(&self, time: Option<SystemTime>) -> bool {
        let (Some(time), None) = (time, &self.directory) else {
            return false;
        };
        self.open.lock().as_ref().is_some_and(|open| {
            let checked = open
                .checked
                .and_then(|checked| SystemTime::now().checked_sub(checked.elapsed()));
            checked.is_none_or(|checked| checked < time)
        })
    }

    /// Whether the known newest version of a remote table is before `version`.
    fn is_behind(&self, version: Option<u64>) -> bool {
        let (Some(version), None) = (version, &self.directory) else {
            return false;
        };
        self.open
            .lock()
            .as_ref()
            .is_some_and(|open| open.current.dataset.version_id() < version)
    }

    async fn refresh(&self) -> Result<Current> {
        // Taken before the storage access: a later change shows as a difference.
        let seen = self.directory.as_ref().and_then(VersionsDirectory::look);
        let is_being_deleted = self
            .directory
            .as_ref()
            .is_some_and(VersionsDirectory::is_being_deleted);
        let asked = Instant::now();
        let (before, known) = {
            let open = self.open.lock();
            let open = open.as_ref();
            let same = open.filter(|open| {
                !Seen::is_other_directory(open.seen, seen) && !open.current.is_retired()
            });
            (
                open.map(|open| open.current.stamp),
                same.map(|open| (open.current.clone(), open.fully_checked)),
            )
        };
        let (current, fully_checked) = match &known {
            None => (self.load(self.sessions.session()).await?, asked),
            Some((known, fully_checked)) => self.newer_than(known, *fully_checked, asked).await?,
        };
        let mut open = self.open.lock();
        // A commit of this process may have become known during the storage access.
        if let Some(open) = open.as_mut()
            && before != Some(open.current.stamp)
            && open.current.is_same_branch(current.branch.as_ref())
            && open.current.dataset.version_id() > current.dataset.version_id()
        {
            open.checked = Some(asked);
            return Ok(open.current.clone());
        }
        *open = Some(Open {
            current: current.clone(),
            seen: seen.filter(|_| !is_being_deleted),
            checked: Some(asked),
            fully_checked,
        });
        Ok(current)
    }

    /// Requests a newer version than `known` from storage; returns the time of the last full check, too.
    async fn newer_than(
        &self,
        known: &Current,
        fully_checked: Instant,
        now: Instant,
    ) -> Result<(Current, Instant)> {
        let full = self.directory.is_some() || fully_checked.elapsed() >= FULL_CHECK;
        if !full && is_newest(known).await? {
            return Ok((known.clone(), fully_checked));
        }
        let found = match self.load(known.dataset.session()).await {
            Err(error)
                if matches!(
                    error.code(),
                    Code::TableNotFound | Code::TableBranchNotFound
                ) =>
            {
                self.close();
                return Err(error);
            }
            found => found?,
        };
        let (before, after) = (known.dataset.manifest(), found.dataset.manifest());
        let is_same = found.is_same_branch(known.branch.as_ref());
        let current = if is_same && after.version > before.version {
            found
        } else if is_same
            && after.version == before.version
            && after.timestamp_nanos == before.timestamp_nanos
        {
            known.clone()
        } else {
            // The address holds another table, or branch, now: start with new caches.
            self.load(self.sessions.session()).await?
        };
        Ok((current, now))
    }

    /// Wraps a version that was just the newest, and pins it as read.
    fn opened(&self, dataset: Dataset, branch: Option<Arc<OnBranch>>) -> Current {
        let current = Current::new(dataset, branch);
        self.pins.read(&self.place, &current.dataset);
        current
    }

    /// Sets a version that this process just committed, so that readers see it at once.
    pub fn advance(&self, dataset: Dataset) {
        let now = Instant::now();
        let mut open = self.open.lock();
        // The open dataset may be of another branch that has the name by now.
        if self.place.branch.is_some() && !is_one_session(open.as_ref(), &dataset) {
            *open = None;
            return;
        }
        if let Some(open) = open.as_ref()
            && open.current.dataset.version_id() >= dataset.version_id()
        {
            return;
        }
        let branch = open.as_ref().and_then(|open| open.current.branch.clone());
        let fully_checked = open.as_ref().map_or(now, |open| open.fully_checked);
        // Another process may have committed the next version already.
        let checked = open.as_ref().and_then(|open| open.checked);
        *open = Some(Open {
            current: self.opened(dataset, branch),
            // Other writers may have committed since: not proven to be the newest, but the same directory.
            seen: self
                .directory
                .as_ref()
                .and_then(VersionsDirectory::look)
                .map(Seen::unsettled),
            checked,
            fully_checked,
        });
    }
}

/// Whether a remote store has no version after this one. For a branch, also whether it still exists, because another
/// server may have deleted it. Both requests run concurrently.
async fn is_newest(known: &Current) -> Result<bool> {
    let has_successor = async { Ok(known.dataset.has_successor_version().await?) };
    let is_there = async {
        match &known.branch {
            Some(branch) => branch.is_there().await,
            None => Ok(true),
        }
    };
    let (has_successor, is_there) = futures::try_join!(has_successor, is_there)?;
    Ok(is_there && !has_successor)
}

/// Whether a dataset belongs to the open one: each is opened with its own session, which its later versions share.
fn is_one_session(open: Option<&Open>, dataset: &Dataset) -> bool {
    open.is_some_and(|open| Arc::ptr_eq(&open.current.dataset.session(), &dataset.session()))
}

#[cfg(test)]
mod tests;
