//! The check that refuses commits on a deleted branch.
//!
//! Lance checks versions only. Its commit would recreate a branch that was deleted meanwhile, or write into a
//! later branch of the same name. Here a commit belongs to the [incarnation](super::branch_incarnation) in
//! which its work began. The deletion of a branch waits for the running commits, and later commits are refused.
//! Each commit checks the reference first, because another process may have removed it.

use std::future::Future;
use std::sync::Arc;

use lance_table::io::commit::CommitError;
use tokio::sync::RwLockReadGuard;

use super::branch_incarnation::{BranchIncarnation, Branches, Reference};
use crate::error::{Error, Result};
use crate::names::unknown_branch;

/// A branch that was opened.
#[derive(Debug)]
pub(crate) struct OnBranch {
    name: String,
    incarnation: Arc<BranchIncarnation>,
    reference: Reference,
}

impl OnBranch {
    /// Opens the branch that the reference names now. Code 22 when there is none.
    pub async fn open(branches: &Branches, name: &str, reference: Reference) -> Result<Arc<Self>> {
        // Before the reference is read: a deletion from here on retires this incarnation.
        let mut incarnation = branches.incarnation(name);
        let found = reference.read().await?;
        let found = found.ok_or_else(|| unknown_branch(name))?;
        if !incarnation.is_of(&found) {
            // Another process has deleted the branch and created this one.
            incarnation.retire();
            incarnation = branches.incarnation(name);
            incarnation.is_of(&found);
        }
        let name = name.to_string();
        Ok(Arc::new(Self {
            name,
            incarnation,
            reference,
        }))
    }

    /// Whether the branch is deleted, as far as this process knows.
    pub fn is_retired(&self) -> bool {
        self.incarnation.is_retired()
    }

    /// Whether the branch still exists, according to its reference. One request.
    pub async fn is_there(&self) -> Result<bool> {
        self.incarnation.still_exists(&self.reference).await
    }

    /// Whether both are the same incarnation.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.incarnation, &other.incarnation)
    }

    /// Runs a commit; the branch is not deleted meanwhile. Code 22 when it is deleted already.
    pub async fn commit<C: Future>(&self, commit: C) -> Result<C::Output> {
        let _branch = self.begin_commit().await?;
        Ok(commit.await)
    }

    /// Begins a commit, which lasts as long as the guard; the branch is not deleted meanwhile. Code 22 when it is
    /// deleted already.
    pub async fn begin_commit(&self) -> Result<RwLockReadGuard<'_, ()>> {
        let shared = self.incarnation.among_commits().await;
        match self.incarnation.still_exists(&self.reference).await? {
            true => Ok(shared),
            false => Err(unknown_branch(&self.name)),
        }
    }
}

/// The error of a commit on a deleted branch.
pub(super) fn refused(error: Error) -> CommitError {
    let error: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
    CommitError::OtherError(error.into())
}

#[cfg(test)]
#[path = "on_branch_tests.rs"]
mod tests;
