//! Branches that come and go.
//!
//! Lance keeps a branch in two places: its versions, in a directory of its own, and a reference, a small
//! file that makes it a branch. A name may be given to one branch after the other; each has a [`BranchIncarnation`], which
//! what was opened of it belongs to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use lance::dataset::refs::{BranchContents, BranchIdentifier, branch_contents_path};
use lance_io::object_store::ObjectStore;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use parking_lot::Mutex;
use tokio::sync::{Mutex as Lock, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{Error, Result};

/// The branches of one table, in this process.
#[derive(Debug, Default)]
pub(crate) struct Branches {
    /// Held while a branch is made, deleted or tagged: what refers to one stays true.
    pub changing: Lock<()>,
    /// By name.
    incarnations: Mutex<HashMap<String, Weak<BranchIncarnation>>>,
}

impl Branches {
    /// The incarnation of the branch that has this name, whether or not there is one.
    pub fn incarnation(&self, name: &str) -> Arc<BranchIncarnation> {
        let mut incarnations = self.incarnations.lock();
        let known = incarnations.get(name).and_then(Weak::upgrade);
        if let Some(incarnation) = known.filter(|incarnation| !incarnation.is_retired()) {
            return incarnation;
        }
        incarnations.retain(|_, incarnation| incarnation.strong_count() > 0);
        let incarnation = Arc::default();
        incarnations.insert(name.to_string(), Arc::downgrade(&incarnation));
        incarnation
    }
}

/// A branch from its making to its deletion, as this process knows it.
#[derive(Debug, Default)]
pub(crate) struct BranchIncarnation {
    /// Commits share it; who deletes the branch has it alone.
    commits: RwLock<()>,
    retired: AtomicBool,
    identity: OnceLock<Identity>,
}

impl BranchIncarnation {
    /// Whether the branch is deleted, or its name is another's by now.
    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    pub fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Held by each commit.
    pub async fn among_commits(&self) -> RwLockReadGuard<'_, ()> {
        self.commits.read().await
    }

    /// Waits for the commits under way; others wait until what it gives is dropped.
    pub async fn without_commits(&self) -> RwLockWriteGuard<'_, ()> {
        self.commits.write().await
    }

    /// Whether the branch is there still, as its reference tells; ends the incarnation when it is not.
    pub async fn still_exists(&self, reference: &Reference) -> Result<bool> {
        if !self.is_retired() {
            let found = reference.read().await?;
            if found.is_some_and(|found| self.is_of(&found)) {
                return Ok(!self.is_retired());
            }
        }
        self.retire();
        Ok(false)
    }

    /// Whether it is the incarnation of the branch whose reference says so. The first that is asked for decides.
    pub fn is_of(&self, identity: &Identity) -> bool {
        self.identity.get_or_init(|| identity.clone()) == identity
    }
}

/// What tells a branch from others that have its name before or after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Unique, but the same for all branches of old writers of Lance.
    identifier: BranchIdentifier,
    created_at: u64,
    parent: Option<String>,
    parent_version: u64,
}

/// The file that makes a branch one.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    store: Arc<ObjectStore>,
    path: Path,
}

impl Reference {
    /// That of a branch of the table at a path of a store.
    pub fn of(store: Arc<ObjectStore>, table: &Path, branch: &str) -> Self {
        Self {
            path: branch_contents_path(table, branch),
            store,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whose it is; `None` when there is no such branch. One request.
    pub async fn read(&self) -> Result<Option<Identity>> {
        let contents = match self.store.inner.get(&self.path).await {
            Ok(found) => found.bytes().await?,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let contents: BranchContents = serde_json::from_slice(&contents)
            .map_err(|error| Error::internal("the branch's reference can't be read", error))?;
        Ok(Some(Identity {
            identifier: contents.identifier,
            created_at: contents.create_at,
            parent: contents.parent_branch,
            parent_version: contents.parent_version,
        }))
    }

    /// False: there was none, if the store tells that.
    pub async fn remove(&self) -> Result<bool> {
        match self.store.inner.delete(&self.path).await {
            Ok(()) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
