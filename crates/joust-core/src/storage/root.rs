//! A root: the directory or bucket prefix with the tables.
//!
//! Layout as LanceDB tools write it: `<root>/<name>.lance` for tables of the root namespace, and a Lance table
//! `<root>/__manifest` that lists child namespaces and their tables with locations relative to the root.

mod contents;
mod links;
mod removal;
mod scan;
mod stores;

use std::path::Path as LocalPath;
use std::sync::Arc;

use lance_io::object_store::{ObjectStore, ObjectStoreParams, StorageOptionsAccessor};
use object_store::path::Path;

use super::{Sessions, StorageOptions};
use crate::error::{Error, Result};

pub use contents::Contents;
pub(crate) use contents::contents;
pub(crate) use links::Links;
pub(crate) use removal::{BRANCH_DIRECTORIES, VERSIONS, remove, remove_all};
pub(crate) use scan::scan;
pub use scan::{FoundTable, RootContents, Skipped};
pub use stores::stores;

/// The path of a location on a local disk; `None` on a remote store.
pub(crate) fn local_path(location: &str) -> Option<&LocalPath> {
    match location.split_once("://") {
        None => Some(LocalPath::new(location)),
        Some(("file", path)) => Some(LocalPath::new(path)),
        Some(_) => None,
    }
}

/// The store of a URI, and the path in it.
pub(crate) async fn store(
    sessions: &Sessions,
    uri: &str,
    storage_options: StorageOptions,
) -> Result<(Arc<ObjectStore>, Path)> {
    let params = store_params(storage_options);
    let found = ObjectStore::from_uri_and_params(sessions.stores(), uri, &params).await?;
    Ok(found)
}

/// Object store parameters with only the user's options.
pub(crate) fn store_params(storage_options: StorageOptions) -> ObjectStoreParams {
    let mut params = ObjectStoreParams::default();
    if !storage_options.is_empty() {
        params.storage_options_accessor = Some(Arc::new(
            StorageOptionsAccessor::with_static_options(storage_options),
        ));
    }
    params
}

/// Creates the root if necessary and checks that it can be written and listed.
pub(crate) async fn open(
    sessions: &Sessions,
    root: &str,
    storage_options: StorageOptions,
) -> Result<()> {
    stores::check(root)?;
    let unusable = |error: &dyn std::fmt::Display| {
        Error::invalid(format!("the root {root} can't be used: {error}"))
    };
    if !root.contains("://") {
        // Lance encodes them in the paths of some files and not of others.
        if let Some(odd) = root
            .chars()
            .find(|c| !c.is_ascii() || "~%#?[]".contains(*c))
        {
            return Err(unusable(&format!(
                "Lance can't keep all its files under a path with `{odd}`; choose another"
            )));
        }
        std::fs::create_dir_all(root).map_err(|error| unusable(&error))?;
    }
    let (store, base) = store(sessions, root, storage_options)
        .await
        .map_err(|error| unusable(&error.cause().unwrap_or_else(|| error.to_string())))?;
    let probe = base.join(format!(".joust-probe-{}", uuid::Uuid::new_v4()));
    store
        .put(&probe, b"joust")
        .await
        .map_err(|error| unusable(&error))?;
    store
        .delete(&probe)
        .await
        .map_err(|error| unusable(&error))?;
    Ok(())
}
