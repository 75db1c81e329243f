//! Branches: lines of versions beside the main one.
//!
//! A branch exists if and only if it is listed, that is, if its reference exists. Lance writes the reference last and
//! removes it first, so files without a reference may exist: they are orphaned. Within this process, the creations and
//! deletions of a table's branches run one at a time.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use lance::dataset::refs::{BranchContents, check_valid_branch};

use super::branch_files::{BranchFiles, lies_among};
use super::deletion_mark::DeletionMark;
use super::references::listed;
use super::{ReadOptions, Table, Tag};
use crate::blocking_executor::step;
use crate::commit::Reference;
use crate::error::{Code, Error, Result};
use crate::names::{self, check_reference, unknown_branch};

/// A branch without a reference whose version is younger may be under creation in another process, which writes the
/// reference right after the version.
const BEING_MADE: Duration = Duration::from_secs(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// A line of versions that starts at a version of another line.
#[derive(Debug, Clone)]
pub struct Branch {
    pub name: String,
    /// Absent for the main branch.
    pub parent_branch: Option<String>,
    pub parent_version: u64,
    /// Distinguishes the branch from earlier and later ones of its name.
    pub identity: String,
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

    /// Creates a branch at a version of this one; at the newest when `version` is `None`.
    pub async fn create_branch(&self, name: &str, version: Option<u64>) -> Result<()> {
        check_reference(names::Reference::Branch, name)?;
        check_valid_branch(name)?;
        let _lock = self.handle.branches().changing.lock().await;
        let (source, _pin) = self
            .pin(ReadOptions {
                version,
                not_before: Some(SystemTime::now()),
                ..ReadOptions::default()
            })
            .await?;
        let mut dataset = source.as_ref().clone();
        let branches = listed(|| dataset.list_branches()).await?;
        if branches.contains_key(name) {
            return Err(taken(name));
        }
        let among = |other: &&String| lies_among(name, other) || lies_among(other, name);
        if let Some(other) = branches.keys().find(among) {
            return Err(Error::invalid(format!(
                "`{name}` and the branch `{other}` would lie among each other's files; choose another \
                 name"
            )));
        }
        self.clear_remains(name).await?;
        let reference = (self.handle.branch(), Some(source.version_id()));
        let created = dataset.create_branch(name, reference, None).await;
        match created {
            Ok(_) => Ok(()),
            Err(lance::Error::RefConflict { .. } | lance::Error::DatasetAlreadyExists { .. }) => {
                Err(taken(name))
            }
            // The branch from which this one was to start.
            Err(lance::Error::RefNotFound { .. }) => {
                Err(unknown_branch(self.handle.branch().unwrap_or_default()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes files under the name of a branch that is not listed: a crash left it incomplete, or files were written
    /// after its deletion. Lance would take them for a branch.
    async fn clear_remains(&self, name: &str) -> Result<()> {
        let files = self.branch_files(name).await?;
        if !files.exist().await? {
            return Ok(());
        }
        let reference = self.handle.reference(name).await?;
        let patience = Instant::now() + BEING_MADE;
        while Instant::now() < patience && files.have_version_since(BEING_MADE).await? {
            if reference.read().await?.is_some() {
                break;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        if reference.read().await?.is_some() {
            return Err(taken(name));
        }
        files.remove(&reference).await
    }

    /// Removes a branch and the files that only it references. Running and later writes to it fail with code 22, until
    /// there is another branch of that name.
    pub async fn delete_branch(&self, name: &str) -> Result<()> {
        if name == "main" {
            return Err(Error::invalid(
                "the main branch can't be deleted; drop the table instead",
            ));
        }
        let _lock = self.handle.branches().changing.lock().await;
        let dataset = self.newest().await?;
        let branches = listed(|| dataset.list_branches()).await?;
        let Some(contents) = branches.get(name) else {
            return Err(unknown_branch(name));
        };
        if let Some(other) = branches.keys().find(|other| lies_among(other, name)) {
            return Err(Error::new(
                Code::InvalidTableState,
                format!("the branch `{other}` lies among the files of `{name}`; delete it first"),
            ));
        }
        let incarnation = self.handle.branches().incarnation(name);
        let commits = incarnation.without_commits().await;
        let tags = self.list_tags().await?;
        let tagged = |tag: &&Tag| tag.branch.as_deref() == Some(name);
        let tags: Vec<&Tag> = tags.iter().filter(tagged).collect();
        if tags.iter().any(|tag| names::is_clone_tag(&tag.name)) {
            return Err(Error::new(
                Code::InvalidTableState,
                format!("clones read files of the branch `{name}`; drop the clones first"),
            ));
        }
        let later = contents.identifier.collect_referenced_versions(&branches);
        if !later.is_empty() || !tags.is_empty() {
            return Err(Error::new(
                Code::InvalidTableState,
                format!("other branches began on `{name}` or tags point to it; delete those first"),
            ));
        }
        let files = self.branch_files(name).await?;
        let reference = self.handle.reference(name).await?;
        let branch = self.on_branch(Some(name)).handle;
        let removed = remove_marked(&reference, branch.deletion_mark()).await?;
        incarnation.retire();
        drop(commits);
        branch.close();
        if !removed {
            // Another process was faster and removes the files.
            return Err(unknown_branch(name));
        }
        self.removed(reference.path()).await?;
        files.remove(&reference).await
    }

    async fn branch_files(&self, name: &str) -> Result<BranchFiles> {
        let (store, table) = self.handle.store().await?;
        Ok(BranchFiles::of(store, &table, name))
    }
}

/// Removes the reference of a branch. From then on, no server answers reads of the branch from open versions.
async fn remove_marked(reference: &Reference, mark: Option<&DeletionMark>) -> Result<bool> {
    let Some(mark) = mark.cloned() else {
        // On a remote store each check of a version also reads the reference.
        return reference.remove().await;
    };
    let set = mark.clone();
    // A full disk must not prevent the deletion. Without the mark, reads may see the branch until its versions are gone.
    let _ = step(move || set.set()).await;
    let removed = reference.remove().await;
    if removed.is_err() {
        // If the outcome is unknown because this future is dropped, the mark stays until it expires.
        mark.take_back();
    }
    removed
}

fn branch(name: String, contents: BranchContents) -> Branch {
    // Old versions of Lance write the same identifier for all branches.
    let own = contents.identifier.version_mapping.last();
    let own = own.map_or("", |(_, id)| id);
    Branch {
        identity: format!("{}-{own}", contents.create_at),
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
