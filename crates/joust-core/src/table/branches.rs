//! Branches: lines of versions beside the main one.

use std::collections::HashMap;
use std::time::SystemTime;

use lance::dataset::refs::BranchContents;

use super::references::listed;
use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};
use crate::names::{Reference, check_reference, short};

/// A line of versions that began at a version of another.
#[derive(Debug, Clone)]
pub struct Branch {
    pub name: String,
    /// Absent for the main branch.
    pub parent_branch: Option<String>,
    pub parent_version: u64,
    /// Seconds since the epoch.
    pub created_at_seconds: u64,
    /// Bytes.
    pub manifest_size: u64,
    pub metadata: HashMap<String, String>,
}

impl Table {
    /// All branches but the main one, in the order of their names.
    pub async fn list_branches(&self) -> Result<Vec<Branch>> {
        let dataset = self.newest().await?;
        let mut branches: Vec<Branch> = listed(|| dataset.list_branches())
            .await?
            .into_iter()
            .map(|(name, contents)| branch(name, contents))
            .collect();
        branches.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(branches)
    }

    /// Begins a branch at a version of this one; at the newest when `version` is `None`.
    pub async fn create_branch(&self, name: &str, version: Option<u64>) -> Result<()> {
        check_reference(Reference::Branch, name)?;
        let (source, _hold) = self
            .hold(ReadOptions {
                version,
                not_before: Some(SystemTime::now()),
                ..ReadOptions::default()
            })
            .await?;
        let mut dataset = source.as_ref().clone();
        if listed(|| dataset.list_branches()).await?.contains_key(name) {
            return Err(taken(name));
        }
        let reference = (self.handle.branch(), Some(source.version_id()));
        let created = dataset.create_branch(name, reference, None).await;
        match created {
            Ok(_) => Ok(()),
            Err(lance::Error::RefConflict { .. } | lance::Error::DatasetAlreadyExists { .. }) => {
                Err(taken(name))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a branch and what only it holds.
    pub async fn delete_branch(&self, name: &str) -> Result<()> {
        if name == "main" {
            return Err(Error::invalid(
                "the main branch can't be deleted; drop the table instead",
            ));
        }
        let mut dataset = self.newest().await?.as_ref().clone();
        let unknown = || {
            Error::new(
                Code::TableBranchNotFound,
                format!("there is no branch `{}`", short(name)),
            )
        };
        if !listed(|| dataset.list_branches()).await?.contains_key(name) {
            return Err(unknown());
        }
        dataset
            .delete_branch(name)
            .await
            .map_err(|error| match error {
                lance::Error::RefConflict { .. } => Error::new(
                    Code::InvalidTableState,
                    format!(
                        "other branches began on `{name}` or tags point to it; delete those first"
                    ),
                ),
                // Somebody else was faster.
                error
                    if error.is_not_found()
                        || matches!(error, lance::Error::RefNotFound { .. }) =>
                {
                    unknown()
                }
                error => error.into(),
            })?;
        self.on_branch(Some(name)).handle.close();
        Ok(())
    }
}

fn branch(name: String, contents: BranchContents) -> Branch {
    Branch {
        name,
        parent_branch: contents.parent_branch,
        parent_version: contents.parent_version,
        created_at_seconds: contents.create_at,
        manifest_size: contents.manifest_size as u64,
        metadata: contents.metadata,
    }
}

fn taken(name: &str) -> Error {
    Error::new(
        Code::TableBranchAlreadyExists,
        format!("there is a branch `{name}` already; choose another name"),
    )
}
