//! The versions of a table.

use std::collections::HashSet;
use std::sync::Arc;

use futures::TryStreamExt;
use lance::Dataset;
use lance_table::io::commit::ManifestNamingScheme;
use object_store::ObjectMeta;

use super::{ReadOptions, Removal, Table};
use crate::error::{Code, Error, Result};
use crate::names::is_clone_tag;

/// A version as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub version: u64,
    /// Path of the manifest in its store.
    pub manifest_path: String,
    /// Bytes.
    pub manifest_size: u64,
    pub e_tag: Option<String>,
    /// When the manifest was written, milliseconds since the epoch.
    pub timestamp_millis: i64,
}

impl Table {
    /// A version, if it still exists.
    pub(crate) async fn existing_version(&self, version: u64) -> Result<Option<Arc<Dataset>>> {
        let options = ReadOptions {
            version: Some(version),
            ..ReadOptions::default()
        };
        match self.dataset(options).await {
            Ok(dataset) => Ok(Some(dataset)),
            Err(error) if error.code() == Code::TableVersionNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All versions of this branch, oldest first. One listing of the store: no manifest is read.
    pub async fn list_versions(&self) -> Result<Vec<Version>> {
        let dataset = self.newest().await?;
        let store = dataset.object_store(None).await?;
        let listed = store
            .inner
            .list(Some(&dataset.versions_dir()))
            .try_filter_map(|meta| async move { Ok(version(&meta)) })
            .try_collect::<Vec<_>>()
            .await;
        let mut versions = listed?;
        versions.sort_unstable_by_key(|version| version.version);
        versions.dedup_by_key(|version| version.version);
        Ok(versions)
    }

    pub async fn describe_version(&self, version: u64) -> Result<Version> {
        self.list_versions()
            .await?
            .into_iter()
            .find(|found| found.version == version)
            .ok_or_else(|| {
                Error::new(
                    Code::TableVersionNotFound,
                    format!("there is no version {version}"),
                )
            })
    }

    /// Removes the records of versions in ranges (start inclusive, end exclusive; an absent end is open); returns their
    /// number. If a range contains the newest version or a tagged one, removes nothing and fails.
    pub async fn delete_versions(&self, ranges: &[(u64, Option<u64>)]) -> Result<u64> {
        let removal = self.begin_removal(Removal::Decided);
        let selected = self.deletable(ranges).await?;
        let free = removal.select(selected.iter().map(|version| version.version));
        if let Some(pinned) = selected.iter().find(|own| !free.contains(&own.version)) {
            return Err(Error::new(
                Code::ConcurrentModification,
                format!(
                    "version {} is just being restored, copied or given a tag or branch; try again",
                    pinned.version
                ),
            ));
        }
        let (store, _) = self.handle.store().await?;
        for version in &selected {
            store
                .delete(
                    &object_store::path::Path::parse(&version.manifest_path)
                        .map_err(object_store::Error::from)?,
                )
                .await?;
        }
        Ok(selected.len() as u64)
    }

    /// The versions that `delete_versions` would remove; fails if it would fail.
    pub async fn deletable(&self, ranges: &[(u64, Option<u64>)]) -> Result<Vec<Version>> {
        let dataset = self.newest().await?;
        let selected: Vec<Version> = self
            .list_versions()
            .await?
            .into_iter()
            .filter(|version| {
                ranges.iter().any(|(start, end)| {
                    version.version >= *start && end.is_none_or(|end| version.version < end)
                })
            })
            .collect();
        self.check_unused(&dataset, &selected).await?;
        Ok(selected)
    }

    async fn check_unused(&self, dataset: &Dataset, selected: &[Version]) -> Result<()> {
        let newest = dataset.version_id();
        let is_selected = |wanted: u64| selected.iter().any(|version| version.version == wanted);
        if is_selected(newest) {
            return Err(Error::new(
                Code::InvalidTableState,
                format!(
                    "version {newest} is the newest and can't be deleted; drop the table instead"
                ),
            ));
        }
        let mut named = self.named().await?.into_iter();
        match named.find(|(version, _)| is_selected(*version)) {
            Some((_, why)) => Err(Error::new(Code::InvalidTableState, why)),
            None => Ok(()),
        }
    }

    /// The versions of this branch that a tag or another branch references.
    pub(crate) async fn named_versions(&self) -> Result<HashSet<u64>> {
        let named = self.named().await?.into_iter();
        Ok(named.map(|(version, _)| version).collect())
    }

    /// The same, each with the reference that prevents its deletion.
    async fn named(&self) -> Result<Vec<(u64, String)>> {
        let own = self.handle.branch();
        let mut named = Vec::new();
        for tag in self.list_tags().await? {
            if tag.branch.as_deref() == own {
                let (version, tag) = (tag.version, tag.name);
                let why = match is_clone_tag(&tag) {
                    true => {
                        format!("a clone reads files of version {version}; drop the clone first")
                    }
                    false => format!("version {version} has the tag `{tag}`; delete the tag first"),
                };
                named.push((version, why));
            }
        }
        for branch in self.list_branches().await? {
            if branch.parent_branch.as_deref() == own {
                let (version, branch) = (branch.parent_version, branch.name);
                let why = format!(
                    "branch `{branch}` began at version {version}; delete the branch first"
                );
                named.push((version, why));
            }
        }
        Ok(named)
    }
}

/// The version of a manifest object in `_versions`.
fn version(meta: &ObjectMeta) -> Option<Version> {
    let name = meta.location.filename()?;
    let scheme = ManifestNamingScheme::detect_scheme(name)?;
    Some(Version {
        version: scheme.parse_version(name)?,
        manifest_path: meta.location.to_string(),
        manifest_size: meta.size,
        e_tag: meta.e_tag.clone(),
        timestamp_millis: meta.last_modified.timestamp_millis(),
    })
}
