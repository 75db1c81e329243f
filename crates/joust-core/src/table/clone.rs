//! Clone a table.
//!
//! A shallow clone has a manifest of its own and reads the files of its source. The source does not know its clones, so
//! a tag keeps the cloned version: every Lance program keeps the files of a tagged version.

use std::time::SystemTime;

use lance::Dataset;
use lance::dataset::refs::Ref;

use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};
use crate::names::{Reference, check_reference, is_clone_tag};
use crate::storage::root::store_params;

/// The state of a table to clone; the newest when neither is set.
#[derive(Debug, Clone, Default)]
pub struct CloneSource {
    pub version: Option<u64>,
    pub tag: Option<String>,
}

impl Table {
    /// Tags a state of this table for a shallow clone: no clean-up removes the files of the tagged version. The name must
    /// start with [`CLONE_TAG_PREFIX`](crate::names::CLONE_TAG_PREFIX).
    pub async fn tag_for_clone(&self, state: CloneSource, name: &str) -> Result<()> {
        check_reference(Reference::Tag, name)?;
        if !is_clone_tag(name) {
            return Err(Error::invalid(
                "the name is not one of the tags of clones, which users cannot change",
            ));
        }
        let (source, version) = self.resolved(state).await?;
        let version = match version {
            Some(version) => version,
            None => {
                let newest = ReadOptions {
                    not_before: Some(SystemTime::now()),
                    ..ReadOptions::default()
                };
                source.dataset(newest).await?.version_id()
            }
        };
        source.add_tag(name, version).await
    }

    /// Creates a table here from a version of another. Data, deletions and indexes are copied, so that this table does
    /// not depend on the other one. History, tags and branches are not copied.
    ///
    /// On failure, the caller must remove the files. Code 5 when there is a table here.
    pub async fn clone_from(&self, source: &Self, state: CloneSource) -> Result<u64> {
        let (source, version) = source.resolved(state).await?;
        let options = ReadOptions {
            version,
            ..ReadOptions::default()
        };
        let (held, _pin) = source.pin(options).await?;
        check_copyable(&held).await?;
        let reference = Ref::from((source.handle.branch(), Some(held.version_id())));
        let (mut dataset, _version) = source.copy_of_newest().await?;
        let _memory = self.memory_for_copy(&held).await?;
        let params = store_params(self.handle.storage_options().clone());
        let copied = dataset
            .deep_clone(self.handle.location(), reference, Some(params))
            .await
            .map_err(source_vanished)?;
        self.copy_functions(&source, &held).await?;
        Ok(copied.version_id())
    }

    /// Creates a table here that reads the files of a version of another table, under the same storage options. The tag
    /// names the version and keeps its files: see [`tag_for_clone`](Self::tag_for_clone). History, tags and branches are
    /// not copied.
    ///
    /// On failure, the caller must remove the files. Code 5 when there is a table here.
    pub async fn clone_shallow(&self, source: &Self, tag: &str) -> Result<u64> {
        let tag = source.tag(tag).await?;
        let source = source.on_branch(tag.branch.as_deref());
        let (held, _pin) = source.pin(ReadOptions::at(tag.version)).await?;
        let reference = Ref::from((source.handle.branch(), Some(tag.version)));
        let (mut dataset, _version) = source.copy_of_newest().await?;
        let params = store_params(self.handle.storage_options().clone());
        let cloned = dataset
            .shallow_clone(self.handle.location(), reference, Some(params))
            .await
            .map_err(source_vanished)?;
        self.copy_functions(&source, &held).await?;
        // Another program may have listed the tags before this one existed, and removed the version.
        source.still_there(tag.version).await?;
        Ok(cloned.version_id())
    }

    /// The branch and the version of a state; the newest version if there is none.
    async fn resolved(&self, state: CloneSource) -> Result<(Self, Option<u64>)> {
        match (state.version, state.tag) {
            (Some(_), Some(_)) => Err(Error::invalid(
                "a version and a tag are both given; give one of them",
            )),
            // A tag may name a version of a branch.
            (None, Some(tag)) => {
                let tag = self.tag(&tag).await?;
                Ok((self.on_branch(tag.branch.as_deref()), Some(tag.version)))
            }
            (version, None) => Ok((self.clone(), version)),
        }
    }
}

/// Rejects a version in a bucket that names files of another table or branch: Lance takes the URI of their base for a path.
async fn check_copyable(version: &Dataset) -> Result<()> {
    let store = version.object_store(None).await?;
    if store.has_direct_local_paths() || version.manifest().base_paths.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        Code::Unsupported,
        "files of a shallow clone or of a branch can't be copied in a bucket; make a shallow clone of it",
    ))
}

fn source_vanished(error: lance::Error) -> Error {
    match error.is_not_found() {
        true => Error::new(
            Code::TableNotFound,
            "files of the source vanished while they were copied; was it dropped?",
        ),
        false => error.into(),
    }
}
