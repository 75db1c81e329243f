//! Clone a table.

use lance::dataset::refs::Ref;

use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};
use crate::storage::root::store_params;

/// The state of a table to clone; the newest when neither is set.
#[derive(Debug, Clone, Default)]
pub struct CloneSource {
    pub version: Option<u64>,
    pub tag: Option<String>,
}

impl Table {
    /// Creates a table here from a version of another. Data, deletions and indexes are copied, so that this table does
    /// not depend on the other one. History, tags and branches are not copied.
    ///
    /// On failure, the caller must remove the files. Code 5 when there is a table here.
    pub async fn clone_from(&self, source: &Self, state: CloneSource) -> Result<u64> {
        let (source, version) = match (state.version, state.tag) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid(
                    "a version and a tag are both given; give one of them",
                ));
            }
            // A tag may name a version of a branch.
            (None, Some(tag)) => {
                let tag = source.tag(&tag).await?;
                (source.on_branch(tag.branch.as_deref()), Some(tag.version))
            }
            (version, None) => (source.clone(), version),
        };
        let options = ReadOptions {
            version,
            ..ReadOptions::default()
        };
        let (held, _pin) = source.pin(options).await?;
        let reference = Ref::from((source.handle.branch(), Some(held.version_id())));
        let (mut dataset, _version) = source.copy_of_newest().await?;
        let _memory = self.memory_for_copy(&held).await?;
        let params = store_params(self.handle.storage_options().clone());
        let copied = dataset
            .deep_clone(self.handle.location(), reference, Some(params))
            .await
            .map_err(|error| match error.is_not_found() {
                true => Error::new(
                    Code::TableNotFound,
                    "files of the source vanished while they were copied; was it dropped?",
                ),
                false => error.into(),
            })?;
        self.copy_functions(&source, &held).await?;
        Ok(copied.version_id())
    }
}
