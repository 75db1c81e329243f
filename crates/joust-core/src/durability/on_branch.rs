//! Commits on a branch: none once the branch is deleted.
//!
//! A commit of Lance's looks at versions only. It would bring back a branch that was deleted while it was
//! under way, or write into another one that has the name by now. Here it belongs to the [life](super::life)
//! in which its work began. Who deletes a branch waits for the commits under way, and those that come later
//! are refused. The reference is looked for before each, because another process may have removed it.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use lance_table::io::commit::{CommitError, CommitHandler, ManifestLocation};

use super::around::{Around, Commit};
use super::life::{Branches, Life, Reference};
use crate::error::{Error, Result};
use crate::names::unknown_branch;

/// A branch that was opened.
#[derive(Debug)]
pub(crate) struct OnBranch {
    name: String,
    life: Arc<Life>,
    reference: Reference,
}

impl OnBranch {
    /// The branch as it is listed now. Code 22 when it is not.
    pub async fn open(branches: &Branches, name: &str, reference: Reference) -> Result<Arc<Self>> {
        // Before the reference is read: who deletes the branch from here on ends this life.
        let mut life = branches.life(name);
        let found = reference.read().await?;
        let found = found.ok_or_else(|| unknown_branch(name))?;
        if !life.is_of(&found) {
            // Another process has deleted that one and made this one.
            life.end();
            life = branches.life(name);
            life.is_of(&found);
        }
        let name = name.to_string();
        Ok(Arc::new(Self {
            name,
            life,
            reference,
        }))
    }

    /// Whether the branch is deleted, as far as this process knows.
    pub fn is_over(&self) -> bool {
        self.life.is_over()
    }

    /// Whether the branch is there still, as its reference tells. One request.
    pub async fn is_there(&self) -> Result<bool> {
        self.life.goes_on(&self.reference).await
    }

    /// Whether both are the same branch, and not two that had its name in turn.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.life, &other.life)
    }

    /// Does a commit while nobody deletes the branch. Code 22 when it is deleted.
    pub async fn commit<C: Future>(&self, commit: C) -> Result<C::Output> {
        let _shared = self.life.among_commits().await;
        match self.life.goes_on(&self.reference).await? {
            true => Ok(commit.await),
            false => Err(unknown_branch(&self.name)),
        }
    }
}

/// Commits of another handler, while the branch lives.
#[derive(Debug)]
pub(super) struct CommitOnBranch {
    pub branch: Arc<OnBranch>,
    pub inner: Arc<dyn CommitHandler>,
}

#[async_trait]
impl Around for CommitOnBranch {
    fn inner(&self) -> &dyn CommitHandler {
        self.inner.as_ref()
    }

    async fn around(
        &self,
        commit: Commit<'_>,
    ) -> std::result::Result<ManifestLocation, CommitError> {
        let commit = commit.by(self.inner());
        self.branch.commit(commit).await.map_err(refused)?
    }
}

fn refused(error: Error) -> CommitError {
    let error: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
    CommitError::OtherError(error.into())
}

#[cfg(test)]
#[path = "on_branch_tests.rs"]
mod tests;
