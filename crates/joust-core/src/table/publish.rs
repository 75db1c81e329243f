//! Publish a version whose manifest a client has written itself.
//!
//! Clients that manage versions through the namespace write data files and a manifest under a staging
//! name, then ask for it to become a version. Put-if-absent makes that safe among any writers: of
//! several manifests for one version exactly one wins.

use lance_io::object_store::ObjectStore;
use lance_table::io::commit::ManifestNamingScheme;
use lance_table::io::manifest::read_manifest;
use object_store::path::Path;

use super::{Table, Version};
use crate::error::{Code, Error, Result};

/// Bytes of a manifest that are taken in.
const MAX_MANIFEST: u64 = 512 << 20;

impl Table {
    /// Makes the manifest at `staged` (a path in the table's store, inside the table) version
    /// `version` of this branch. Publishing the same bytes again succeeds; other bytes for a version
    /// that exists are a conflict (code 14). `v1`: the old names, `{version}.manifest`; absent keeps
    /// the table's.
    pub async fn publish_version(
        &self,
        version: u64,
        staged: &str,
        v1: Option<bool>,
    ) -> Result<Version> {
        let (store, table) = self.handle.store().await?;
        let staged = inside(&table, staged)?;
        let base = match self.handle.branch() {
            Some(branch) => branch
                .split('/')
                .fold(table.clone().join("tree"), |path, part| path.join(part)),
            None => table,
        };
        let scheme = match v1 {
            Some(true) => ManifestNamingScheme::V1,
            Some(false) => ManifestNamingScheme::V2,
            None => self.naming_scheme().await,
        };
        let place = scheme.manifest_path(&base, version);
        let bytes = match read(&store, &staged).await? {
            Some(bytes) => bytes,
            // A repeated request: the staged file is gone because the first one succeeded.
            None if store.exists(&place).await? => return self.describe_version(version).await,
            None => {
                return Err(Error::invalid("there is no file at `manifest_path`"));
            }
        };
        check(&store, &staged, version).await?;
        if staged != place {
            match store.put_if_absent(&place, bytes.clone().into()).await {
                Ok(()) => {}
                Err(object_store::Error::AlreadyExists { .. }) => {
                    if read(&store, &place).await?.as_ref() != Some(&bytes) {
                        return Err(Error::new(
                            Code::ConcurrentModification,
                            format!(
                                "version {version} exists already; read the table again and retry"
                            ),
                        ));
                    }
                }
                Err(error) => return Err(error.into()),
            }
            // The version stands; a staged file that stays is cleaned up with old versions.
            let _ = store.delete(&staged).await;
        }
        self.describe_version(version).await
    }

    /// The table's own scheme; the newer one for a table without versions.
    async fn naming_scheme(&self) -> ManifestNamingScheme {
        match self.newest().await {
            Ok(dataset) => dataset.manifest_location().naming_scheme,
            Err(_) => ManifestNamingScheme::V2,
        }
    }
}

/// A client's path, when it lies inside the table.
fn inside(table: &Path, path: &str) -> Result<Path> {
    let refused = || {
        Error::invalid(
            "`manifest_path` is not inside the table; give the path of a file under the table's \
             location",
        )
    };
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let path = Path::parse(path.trim_start_matches('/')).map_err(|_| refused())?;
    let is_inside = path
        .prefix_match(table)
        .is_some_and(|mut rest| rest.next().is_some());
    if is_inside { Ok(path) } else { Err(refused()) }
}

async fn read(store: &ObjectStore, path: &Path) -> Result<Option<bytes::Bytes>> {
    match store.size(path).await {
        Ok(size) if size > MAX_MANIFEST => Err(Error::invalid("the manifest is too large")),
        Ok(_) => Ok(Some(store.read_one_all(path).await?)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Refuses a file that is not the manifest of that version.
async fn check(store: &ObjectStore, path: &Path, version: u64) -> Result<()> {
    let manifest = read_manifest(store, path, None)
        .await
        .map_err(|_| Error::invalid("the file at `manifest_path` is not a Lance manifest"))?;
    if manifest.version == version {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the manifest at `manifest_path` is of version {}, not {version}",
        manifest.version
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_inside_the_table_are_taken() {
        let table = Path::from("data/t.lance");
        assert!(inside(&table, "data/t.lance/_versions/1.manifest-staged").is_ok());
        assert!(inside(&table, "/data/t.lance/_versions/1.manifest").is_ok());
        for outside in [
            "data/t.lance",
            "data/t.lance.other/x",
            "data/other.lance/_versions/1.manifest",
            "data/t.lance/../other.lance/x",
            "etc/passwd",
            "",
        ] {
            assert!(inside(&table, outside).is_err(), "{outside}");
        }
    }
}
