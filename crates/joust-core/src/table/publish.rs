//! Publish a version whose manifest a client wrote.
//!
//! Clients that manage versions through the namespace write data files and a manifest under a staging name, and then
//! request its publication as a version. Put-if-absent makes this safe with concurrent writers: of several manifests
//! for one version exactly one is published.

use std::sync::Arc;

use bytes::Bytes;
use lance::Dataset;
use lance_io::object_store::ObjectStore;
use lance_table::format::{BasePath, IndexMetadata, Manifest};
use lance_table::io::commit::{ManifestLocation, ManifestNamingScheme};
use lance_table::io::manifest::{read_manifest, read_manifest_indexes};
use object_store::path::Path;

use super::shared_files::{self, Contents};
use super::{Table, Version};
use crate::commit::OnBranch;
use crate::error::{Code, Error, Result};
use crate::schema::{VIEW_PREFIX, check_not_view, declares_same_functions, has_view_keys_of};

/// The largest manifest that joust reads, bytes.
const MAX_MANIFEST: u64 = 512 << 20;

/// The version in a client's request.
#[derive(Debug, Clone, Copy)]
pub struct NewVersion<'a> {
    pub version: u64,
    /// The path of the client's manifest in the table's store, inside the table.
    pub staged: &'a str,
    /// Size of the manifest in bytes, according to the client.
    pub size: Option<u64>,
    /// The old naming scheme, `{version}.manifest`; if absent, that of the table.
    pub v1: Option<bool>,
}

/// A new version after all checks.
enum Publication {
    /// The version has that manifest already; a remaining staged file is removed.
    Published(Option<Path>),
    /// The manifest is to be published.
    New {
        staged: Path,
        place: Path,
        bytes: Bytes,
    },
}

impl Table {
    /// Publishes a staged manifest as a version of this branch. Publishing the same bytes again succeeds. Other bytes
    /// for an existing version are a conflict (code 14), whatever they are.
    pub async fn publish_version(&self, new: NewVersion<'_>) -> Result<Version> {
        let (store, _) = self.handle.store().await?;
        let (publication, branch) = self.publication(&store, new).await?;
        let staged = match publication {
            Publication::Published(staged) => staged,
            Publication::New { staged, place, .. } if staged == place => None,
            Publication::New {
                staged,
                place,
                bytes,
            } => {
                let put = store.put_if_absent(&place, bytes.clone().into());
                let put = match branch {
                    Some(branch) => branch.commit(put).await?,
                    None => put.await,
                };
                match put {
                    Ok(()) => {}
                    Err(object_store::Error::AlreadyExists { .. }) => {
                        if read(&store, &place).await?.as_ref() != Some(&bytes) {
                            return Err(exists(new.version));
                        }
                    }
                    Err(error) => return Err(error.into()),
                }
                Some(staged)
            }
        };
        if let Some(staged) = staged {
            // The version is published; version clean-up removes a remaining staged file.
            let _ = store.delete(&staged).await;
        }
        self.describe_version(new.version).await
    }

    /// Whether the version is published already; fails if [`publish_version`](Self::publish_version) would fail now.
    pub async fn is_published(&self, new: NewVersion<'_>) -> Result<bool> {
        let (store, _) = self.handle.store().await?;
        let (publication, _) = self.publication(&store, new).await?;
        Ok(matches!(publication, Publication::Published(_)))
    }

    /// Checks a new version; returns its branch, too.
    async fn publication(
        &self,
        store: &ObjectStore,
        new: NewVersion<'_>,
    ) -> Result<(Publication, Option<Arc<OnBranch>>)> {
        let NewVersion {
            version,
            staged,
            size,
            v1,
        } = new;
        let (_, base) = self.handle.files().await?;
        let (newest, branch) = match self.current().await {
            Ok(current) => (Some(current.dataset), current.branch),
            // The first version of the main branch. A branch has its own creation request, and only a client that
            // opened it may write to it.
            Err(error) if self.handle.branch().is_none() && error.code() == Code::TableNotFound => {
                (None, None)
            }
            Err(error) => return Err(error),
        };
        if let Some(newest) = &newest {
            check_not_view(newest)?;
        }
        let scheme = scheme(newest.as_deref(), v1)?;
        let place = scheme.manifest_path(&base, version);
        let staged = staged_path(&base, staged, &place)?;
        let bytes = read(store, &staged).await?;
        if staged != place && store.exists(&place).await? {
            let is_same = match &bytes {
                Some(bytes) => read(store, &place).await?.as_ref() == Some(bytes),
                // A retried request: the staged file is missing because the first one succeeded.
                None => match size {
                    Some(size) => store.size(&place).await? == size,
                    None => true,
                },
            };
            return match is_same {
                true => Ok((Publication::Published(bytes.map(|_| staged)), branch)),
                false => Err(exists(version)),
            };
        }
        let Some(bytes) = bytes else {
            return Err(Error::invalid("there is no file at `manifest_path`"));
        };
        if size.is_some_and(|size| size != bytes.len() as u64) {
            return Err(Error::invalid(format!(
                "`manifest_size` is not the size of the file at `manifest_path`, which has {} bytes",
                bytes.len()
            )));
        }
        self.check(bytes.clone(), version, newest.as_deref())
            .await?;
        let publication = Publication::New {
            staged,
            place,
            bytes,
        };
        Ok((publication, branch))
    }

    /// Reverts `publish_version`: moves the manifest of `version` back to `staged`. Rejected (code 14) if there is a
    /// later version, or if a tag, a branch or a clone (which has a tag) needs this one.
    pub async fn withdraw_version(&self, version: u64, staged: &str) -> Result<()> {
        let (store, _) = self.handle.store().await?;
        let versions = self.list_versions().await?;
        if versions.iter().any(|found| found.version > version) {
            return Err(Error::new(
                Code::ConcurrentModification,
                format!("version {version} cannot be removed, because a newer version exists"),
            ));
        }
        let Some(published) = versions.iter().find(|found| found.version == version) else {
            return Ok(());
        };
        self.check_not_referenced(version).await?;
        let place = Path::parse(&published.manifest_path).map_err(object_store::Error::from)?;
        let mut base: Vec<_> = place.parts().collect();
        base.truncate(base.len().saturating_sub(2));
        let staged = staged_path(&base.into_iter().collect(), staged, &place)?;
        if staged != place
            && let Some(bytes) = read(&store, &place).await?
        {
            store.put_if_absent(&staged, bytes.into()).await?;
            store.delete(&place).await?;
        }
        self.handle.close();
        Ok(())
    }

    /// Rejects a version of this branch that a tag or another branch names.
    async fn check_not_referenced(&self, version: u64) -> Result<()> {
        let branch = self.handle.branch();
        let is_named = |found: u64, on: Option<&str>| found == version && on == branch;
        let tags = self.list_tags().await?;
        let mut tags = tags.iter();
        let tag = tags.find(|tag| is_named(tag.version, tag.branch.as_deref()));
        let branches = self.list_branches().await?;
        let mut branches = branches.iter();
        let child =
            branches.find(|child| is_named(child.parent_version, child.parent_branch.as_deref()));
        let user = match (tag, child) {
            (Some(tag), _) => format!("the tag `{}`", tag.name),
            (None, Some(child)) => format!("the branch `{}`", child.name),
            (None, None) => return Ok(()),
        };
        Err(Error::new(
            Code::ConcurrentModification,
            format!("version {version} cannot be removed, because {user} needs it"),
        ))
    }

    /// Rejects a file that is not the manifest of that version of this branch, that references files outside the table,
    /// that defines a view: a refresh would read the tables that the definition names, without a check; or that declares a
    /// function, which only an administrator may do.
    async fn check(&self, bytes: Bytes, version: u64, newest: Option<&Dataset>) -> Result<()> {
        let (manifest, indexes) = parse(bytes)
            .await
            .map_err(|_| Error::invalid("the file at `manifest_path` is not a Lance manifest"))?;
        if manifest.version != version {
            return Err(Error::invalid(format!(
                "the manifest at `manifest_path` is of version {}, not {version}",
                manifest.version
            )));
        }
        if manifest.branch.as_deref() != self.handle.branch() {
            return Err(Error::invalid(
                "the manifest at `manifest_path` is of another branch",
            ));
        }
        let known = newest.map(|dataset| &dataset.manifest().base_paths);
        let is_known = |path: &BasePath| {
            known.is_some_and(|known| known.values().any(|base| base.path == path.path))
        };
        if !manifest.base_paths.values().all(is_known) {
            return Err(Error::invalid(
                "the manifest at `manifest_path` refers to files outside the table",
            ));
        }
        if let Some(newest) = newest {
            let store = newest.object_store(None).await?;
            let location = newest.manifest_location();
            let published = Contents {
                manifest: &manifest,
                indexes: &indexes,
            };
            let newest = Contents {
                manifest: newest.manifest(),
                indexes: &read_manifest_indexes(&store, location, newest.manifest()).await?,
            };
            shared_files::check(published, newest, self.handle.location())?;
        }
        if !declares_same_functions(&manifest.schema, newest.map(Dataset::schema)) {
            return Err(Error::invalid(
                "the manifest at `manifest_path` changes metadata of a column that starts with \
                 `virtual_column`, which declares a function: write a manifest without the change, \
                 and declare the column with add_columns",
            ));
        }
        let known = newest.map(|dataset| &dataset.schema().metadata);
        if !has_view_keys_of(&manifest.schema.metadata, known) {
            return Err(Error::invalid(format!(
                "the manifest at `manifest_path` changes schema metadata that starts with \
                 `{VIEW_PREFIX}`, which defines a materialized view: write a manifest without the \
                 change, and create a materialized view in its place"
            )));
        }
        Ok(())
    }
}

/// Parses the bytes that are published. The client may replace the staged file between two reads of it.
async fn parse(bytes: Bytes) -> lance::Result<(Manifest, Vec<IndexMetadata>)> {
    let (store, path) = (ObjectStore::memory(), Path::from("manifest"));
    store.put(&path, &bytes).await?;
    let manifest = read_manifest(&store, &path, None).await?;
    let location = ManifestLocation {
        version: manifest.version,
        path,
        size: Some(bytes.len() as u64),
        naming_scheme: ManifestNamingScheme::V2,
        e_tag: None,
        identity: None,
    };
    let indexes = read_manifest_indexes(&store, &location, &manifest).await?;
    Ok((manifest, indexes))
}

fn exists(version: u64) -> Error {
    Error::new(
        Code::ConcurrentModification,
        format!("version {version} exists already; read the table again and retry"),
    )
}

/// The naming scheme of a table's manifests: that of the table, or for a new table the requested one.
fn scheme(newest: Option<&Dataset>, v1: Option<bool>) -> Result<ManifestNamingScheme> {
    let wanted = v1.map(|v1| match v1 {
        true => ManifestNamingScheme::V1,
        false => ManifestNamingScheme::V2,
    });
    let own = newest.map(|dataset| dataset.manifest_location().naming_scheme);
    match (own, wanted) {
        (Some(own), Some(wanted)) if own != wanted => Err(Error::invalid(format!(
            "the table's manifests have {own:?} names; a table can't have both kinds"
        ))),
        (Some(scheme), _) | (None, Some(scheme)) => Ok(scheme),
        (None, None) => Ok(ManifestNamingScheme::V2),
    }
}

/// The path of a client's staged manifest: directly in the branch's `_versions`, and not the manifest of another
/// version, which the publication would remove.
fn staged_path(base: &Path, path: &str, place: &Path) -> Result<Path> {
    let refused = || {
        Error::invalid(
            "`manifest_path` is not a staged manifest of this table; give the path of a file in its \
             `_versions` directory that is not a version already",
        )
    };
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let path = Path::parse(path.trim_start_matches('/')).map_err(|_| refused())?;
    if path == *place {
        return Ok(path);
    }
    let rest: Vec<String> = path
        .prefix_match(&base.clone().join("_versions"))
        .ok_or_else(refused)?
        .map(|part| part.as_ref().to_string())
        .collect();
    match rest.as_slice() {
        [name] if ManifestNamingScheme::detect_scheme(name).is_none() => Ok(path),
        _ => Err(refused()),
    }
}

async fn read(store: &ObjectStore, path: &Path) -> Result<Option<Bytes>> {
    match store.size(path).await {
        Ok(size) if size > MAX_MANIFEST => Err(Error::invalid("the manifest is too large")),
        Ok(_) => Ok(Some(store.read_one_all(path).await?)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_staged_manifests_of_the_table_are_taken() {
        let table = Path::from("data/t.lance");
        let place = ManifestNamingScheme::V1.manifest_path(&table, 3);
        let taken = |path: &str| staged_path(&table, path, &place).is_ok();
        assert!(taken("data/t.lance/_versions/3.manifest-staged"));
        assert!(taken("/data/t.lance/_versions/3.manifest-staged"));
        assert!(taken("data/t.lance/_versions/3.manifest"));
        for other in [
            "data/t.lance/_versions/2.manifest",
            "data/t.lance/_versions/18446744073709551612.manifest",
            "data/t.lance/_versions/deep/x",
            "data/t.lance/data/x.lance",
            "data/t.lance",
            "data/t.lance.other/_versions/x",
            "data/t.lance/../other.lance/_versions/x",
            "etc/passwd",
            "",
        ] {
            assert!(!taken(other), "{other}");
        }
    }
}
