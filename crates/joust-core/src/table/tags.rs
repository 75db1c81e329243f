//! Tags: names for versions.

use std::collections::HashMap;

use lance::dataset::refs::{TagContents, tag_path};

use super::references::listed;
use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};
use crate::names::{Reference, check_reference, is_reference, short};

/// A named pointer to a version.
#[derive(Debug, Clone)]
pub struct Tag {
    pub name: String,
    pub version: u64,
    /// Absent for the main branch.
    pub branch: Option<String>,
    /// Bytes.
    pub manifest_size: u64,
    pub created_at_millis: Option<i64>,
    pub updated_at_millis: Option<i64>,
    pub metadata: HashMap<String, String>,
}

impl Table {
    /// All tags of the table, whatever branch they point to, in the order of their names.
    pub async fn list_tags(&self) -> Result<Vec<Tag>> {
        let dataset = self.newest().await?;
        let refs = dataset.tags();
        let mut tags: Vec<Tag> = listed(|| refs.list())
            .await?
            .into_iter()
            .map(|(name, contents)| tag(name, contents))
            .collect();
        tags.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(tags)
    }

    pub async fn tag(&self, name: &str) -> Result<Tag> {
        check(name)?;
        let dataset = self.newest().await?;
        let contents = dataset
            .tags()
            .get(name)
            .await
            .map_err(|error| explain_existing(name, error))?;
        Ok(tag(name.to_string(), contents))
    }

    /// Names a version of this branch.
    pub async fn create_tag(&self, name: &str, version: u64) -> Result<()> {
        check_reference(Reference::Tag, name)?;
        let _turn = self.handle.branches().changing.lock().await;
        let (_, _hold) = self.hold(ReadOptions::at(version)).await?;
        let dataset = self.newest().await?;
        let tags = dataset.tags();
        let created = tags.create(name, (self.handle.branch(), Some(version)));
        let created = created.await;
        if let Err(gone) = self.still_there(version).await {
            if created.is_ok() {
                let _ = tags.delete(name).await;
            }
            return Err(gone);
        }
        created.map_err(|error| explain(name, error))
    }

    /// Moves a tag to another version of this branch.
    pub async fn update_tag(&self, name: &str, version: u64) -> Result<()> {
        let _turn = self.handle.branches().changing.lock().await;
        let before = self.tag(name).await?;
        let (_, _hold) = self.hold(ReadOptions::at(version)).await?;
        let dataset = self.newest().await?;
        let tags = dataset.tags();
        let updated = tags.update(name, (self.handle.branch(), Some(version)));
        let updated = updated.await;
        if let Err(gone) = self.still_there(version).await {
            if updated.is_ok() {
                let before = (before.branch.as_deref(), Some(before.version));
                let _ = tags.update(name, before).await;
            }
            return Err(gone);
        }
        updated.map_err(|error| explain_existing(name, error))
    }

    pub async fn delete_tag(&self, name: &str) -> Result<()> {
        check(name)?;
        let dataset = self.newest().await?;
        dataset
            .tags()
            .delete(name)
            .await
            .map_err(|error| explain_existing(name, error))?;
        let (_, base) = self.handle.store().await?;
        self.removed(&tag_path(&base, name)).await
    }

    /// Fails when a version that a tag was just given to has been removed meanwhile, as tools do it that
    /// know of no hold.
    async fn still_there(&self, version: u64) -> Result<()> {
        match self.dataset(ReadOptions::at(version)).await {
            Err(error) if error.code() == Code::TableVersionNotFound => Err(error),
            // That it could not be looked at does not take the tag away.
            _ => Ok(()),
        }
    }
}

fn tag(name: String, contents: TagContents) -> Tag {
    Tag {
        name,
        version: contents.version,
        branch: contents.branch,
        manifest_size: contents.manifest_size as u64,
        created_at_millis: contents.created_at.map(|time| time.timestamp_millis()),
        updated_at_millis: contents.updated_at.map(|time| time.timestamp_millis()),
        metadata: contents.metadata,
    }
}

/// Refuses a name that no tag can have.
fn check(name: &str) -> Result<()> {
    if is_reference(Reference::Tag, name) {
        Ok(())
    } else {
        Err(unknown(name))
    }
}

fn unknown(name: &str) -> Error {
    Error::new(
        Code::TableTagNotFound,
        format!("there is no tag `{}`", short(name)),
    )
}

/// The tag's file may go between two looks at it.
fn explain_existing(name: &str, error: lance::Error) -> Error {
    if error.is_not_found() {
        unknown(name)
    } else {
        explain(name, error)
    }
}

fn explain(name: &str, error: lance::Error) -> Error {
    match &error {
        lance::Error::RefNotFound { .. } => unknown(name),
        lance::Error::RefConflict { .. } => Error::new(
            Code::TableTagAlreadyExists,
            format!("there is a tag `{name}` already; update it or choose another name"),
        ),
        _ => error.into(),
    }
}
