//! The branches of a table, and the incarnations of one branch name.
//!
//! Lance stores a branch in two places: its versions in a directory, and a reference, a small file that makes
//! it a branch. A branch may be deleted and another one created with its name. Each of them is a
//! [`BranchIncarnation`], and every dataset that was opened on a branch belongs to one incarnation.

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
    /// Held while a branch is created, deleted or tagged, so that references to it stay valid.
    pub changing: Lock<()>,
    /// By name.
    incarnations: Mutex<HashMap<String, Weak<BranchIncarnation>>>,
}

impl Branches {
    /// The current incarnation of the branch name, whether or not the branch exists.
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

/// A branch from its creation to its deletion, as this process knows it.
#[derive(Debug, Default)]
pub(crate) struct BranchIncarnation {
    /// Commits hold it shared; the deletion of the branch holds it exclusively.
    commits: RwLock<()>,
    retired: AtomicBool,
    identity: OnceLock<Identity>,
}

impl BranchIncarnation {
    /// Whether the branch is deleted, or another branch has its name now.
    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    pub fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Each commit holds it.
    pub async fn among_commits(&self) -> RwLockReadGuard<'_, ()> {
        self.commits.read().await
    }

    /// Waits for the running commits. New commits wait until the guard is dropped.
    pub async fn without_commits(&self) -> RwLockWriteGuard<'_, ()> {
        self.commits.write().await
    }

    /// Whether the branch still exists, according to its reference. Retires the incarnation when it does not.
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

    /// Whether this incarnation has the given identity. The first call sets the identity.
    pub fn is_of(&self, identity: &Identity) -> bool {
        self.identity.get_or_init(|| identity.clone()) == identity
    }
}

/// Distinguishes a branch from earlier and later ones of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Unique, except that old versions of Lance write the same for all branches.
    identifier: BranchIdentifier,
    created_at: u64,
    parent: Option<String>,
    parent_version: u64,
}

/// The file that makes a branch exist.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    store: Arc<ObjectStore>,
    path: Path,
}

impl Reference {
    /// The reference of a branch of the table at a path of a store.
    pub fn of(store: Arc<ObjectStore>, table: &Path, branch: &str) -> Self {
        Self {
            path: branch_contents_path(table, branch),
            store,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The identity of the branch; `None` when it does not exist. One request.
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

    /// False: the reference did not exist, as far as the store reports that.
    pub async fn remove(&self) -> Result<bool> {
        match self.store.inner.delete(&self.path).await {
            Ok(()) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
