//! The open dataset behind a table's address, and how it stays current.
//!
//! Opening a Lance dataset reads a manifest; answering from a stale one breaks read-your-writes. A
//! handle keeps the newest version it has seen and, before each use, asks the storage the cheapest
//! question that proves there is no newer one: [`directory`](super::directory) tells how for local
//! disks. On a remote store it is one request for the successor's manifest, and at most every
//! [`FULL_CHECK`] a listing, which also sees versions whose predecessors were cleaned up; a
//! configured staleness spares both for that long.
//!
//! Versions that this process commits are put into the handle directly.

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
use super::directory::{Seen, VersionsDirectory};
use super::version_pins::{Place, VersionPins};
use crate::commit::{self, Branches, CommitLock, OnBranch, Reference};
use crate::error::{Code, Result};
use crate::storage::root::{Links, store};
use crate::storage::{Durability, Sessions, StorageOptions};

/// How long a remote table is checked by successor alone.
const FULL_CHECK: Duration = Duration::from_secs(5);

static CLOCK: AtomicU64 = AtomicU64::new(1);

struct Open {
    current: Current,
    /// The state of a local `_versions` at which `current` was the newest.
    seen: Option<Seen>,
    checked: Instant,
    fully_checked: Instant,
}

/// A table's address and its cached dataset.
pub struct Handle {
    place: Place,
    storage_options: StorageOptions,
    sessions: Arc<Sessions>,
    staleness: Duration,
    /// The table's, which all handles on it share.
    branches: Arc<Branches>,
    /// The engine's.
    pins: VersionPins,
    /// The engine's.
    links: Arc<Links>,
    /// `None` on a remote store.
    directory: Option<VersionsDirectory>,
    open: Mutex<Option<Open>>,
    /// Lets one caller refresh while the others wait for what it finds.
    refreshing: tokio::sync::Mutex<()>,
    last_used: AtomicU64,
    /// Appends that wait to be committed together.
    pub(super) appends: Queue,
    /// Locked while rows are changed or removed: such changes would only undo one another's work.
    pub(crate) changing: tokio::sync::Mutex<()>,
    /// Commits of this branch take it.
    pub(crate) commit_lock: CommitLock,
    /// The end of a pause of commits that another process has asked for.
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

    /// Where it is among what is [held](VersionPins).
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

    /// The store, and the path of what is the branch's own: `data`, `_versions` and the like.
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

    /// How versions of a table that is about to be created here are committed; `None` is Lance's own way.
    pub fn commit_handler(&self) -> Option<Arc<dyn CommitHandler>> {
        commit::handler(self.durability(), &self.place.location, None)
    }

    /// The table's branches.
    pub(crate) fn branches(&self) -> &Branches {
        &self.branches
    }

    /// What makes a branch of the table one.
    pub(crate) async fn reference(&self, branch: &str) -> Result<Reference> {
        let (store, table) = self.store().await?;
        Ok(Reference::of(store, &table, branch))
    }

    /// What an answered change of the table means.
    pub(crate) fn durability(&self) -> Durability {
        self.sessions.durability()
    }

    /// Grows with every use of any handle.
    pub(crate) fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    /// Forgets the dataset; the next use opens it anew.
    pub(crate) fn close(&self) {
        *self.open.lock() = None;
    }

    /// The newest version, when that is known without waiting for storage.
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
            None => open.checked.elapsed() < self.staleness,
        };
        newest.then(|| open.current.clone())
    }

    /// The newest version. What was learnt before `not_before`, or of versions before `min_version`
    /// only, does not count.
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
        let _turn = self.refreshing.lock().await;
        // Somebody else may have refreshed while this caller waited for its turn.
        if let Some(open) = self.open.lock().as_ref()
            && open.checked >= asked
            && !open.current.is_retired()
        {
            return Ok(open.current.clone());
        }
        Box::pin(self.refresh()).await
    }

    /// Whether the last check of a remote table came before `time`.
    fn is_older_than(&self, time: Option<SystemTime>) -> bool {
        let (Some(time), None) = (time, &self.directory) else {
            return false;
        };
        self.open.lock().as_ref().is_some_and(|open| {
            SystemTime::now()
                .checked_sub(open.checked.elapsed())
                .is_none_or(|checked| checked < time)
        })
    }

    /// Whether what is known of a remote table ends before `version`.
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
        // Looked at before the storage is asked: a later change shows as a difference.
        let seen = self.directory.as_ref().and_then(VersionsDirectory::look);
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
        // A commit of this process may have been published while the storage was asked.
        if let Some(open) = open.as_ref()
            && before != Some(open.current.stamp)
            && open.current.is_same_branch(current.branch.as_ref())
            && open.current.dataset.version_id() > current.dataset.version_id()
        {
            return Ok(open.current.clone());
        }
        *open = Some(Open {
            current: current.clone(),
            seen,
            checked: asked,
            fully_checked,
        });
        Ok(current)
    }

    /// Asks the storage for something newer than `known`; with the time of the last full check.
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
            // The same address holds another table, or branch, now: start over with caches of its own.
            self.load(self.sessions.session()).await?
        };
        Ok((current, now))
    }

    /// A version that was the newest a moment ago, which is read from now on.
    fn opened(&self, dataset: Dataset, branch: Option<Arc<OnBranch>>) -> Current {
        let current = Current::new(dataset, branch);
        self.pins.read(&self.place, &current.dataset);
        current
    }

    /// Puts a version that this process has just committed into the handle, so that readers see it
    /// at once.
    pub fn publish(&self, dataset: Dataset) {
        let now = Instant::now();
        let mut open = self.open.lock();
        // What is open may be another branch that has the name by now.
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
        *open = Some(Open {
            current: self.opened(dataset, branch),
            // Others may have written since: not proven to be the newest, but the same directory.
            seen: self
                .directory
                .as_ref()
                .and_then(VersionsDirectory::look)
                .map(Seen::unsettled),
            checked: now,
            fully_checked,
        });
    }
}

/// Whether a remote store knows no version after this one; of a branch, also whether it is there still: another
/// server may have deleted it. Both are asked at the same time.
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

/// Whether a dataset comes from what is open: each is opened with a session of its own, which its later
/// versions keep.
fn is_one_session(open: Option<&Open>, dataset: &Dataset) -> bool {
    open.is_some_and(|open| Arc::ptr_eq(&open.current.dataset.session(), &dataset.session()))
}
