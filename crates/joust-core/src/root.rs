//! A root: the directory or bucket prefix that holds tables.
//!
//! Layout as LanceDB tools write it: `<root>/<name>.lance` for tables of the root namespace, and a
//! Lance table `<root>/__manifest` that lists child namespaces and their tables with locations
//! relative to the root.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use futures::TryStreamExt;
use lance::dataset::builder::DatasetBuilder;
use lance_io::object_store::{ObjectStore, ObjectStoreParams, StorageOptionsAccessor};
use object_store::path::Path;

use crate::cache::Caches;
use crate::engine::StorageOptions;
use crate::error::{Error, Result};

const TABLE_SUFFIX: &str = ".lance";
const MANIFEST_TABLE: &str = "__manifest";
/// How the manifest table joins a namespace's components and a table's name.
const MANIFEST_DELIMITER: char = '$';

/// A table that a root holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTable {
    /// Namespace components, then the table's name.
    pub id: Vec<String>,
    /// Path or URI.
    pub location: String,
}

/// What a root holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootContents {
    pub tables: Vec<FoundTable>,
    pub namespaces: Vec<Vec<String>>,
}

/// The store of a URI, and the path in it.
pub(crate) async fn store(
    caches: &Caches,
    uri: &str,
    storage_options: StorageOptions,
) -> Result<(Arc<ObjectStore>, Path)> {
    let params = store_params(storage_options);
    let found = ObjectStore::from_uri_and_params(caches.stores(), uri, &params).await?;
    Ok(found)
}

/// Object store parameters that carry nothing but the user's options.
pub(crate) fn store_params(storage_options: StorageOptions) -> ObjectStoreParams {
    let mut params = ObjectStoreParams::default();
    if !storage_options.is_empty() {
        params.storage_options_accessor = Some(Arc::new(
            StorageOptionsAccessor::with_static_options(storage_options),
        ));
    }
    params
}

/// Creates the root if need be and proves that it can be written and listed.
pub(crate) async fn open(
    caches: &Caches,
    root: &str,
    storage_options: StorageOptions,
) -> Result<()> {
    let unusable = |error: &dyn std::fmt::Display| {
        Error::invalid(format!("the root {root} can't be used: {error}"))
    };
    if !root.contains("://") {
        // Lance encodes them on the way to some files and not to others.
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
    let (store, base) = store(caches, root, storage_options)
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

/// Lists what LanceDB tools have put into a root. A root that does not exist holds nothing.
pub(crate) async fn scan(
    caches: &Caches,
    root: &str,
    storage_options: StorageOptions,
) -> Result<RootContents> {
    let (store, base) = store(caches, root, storage_options.clone()).await?;
    let entries = match store.read_dir(base).await {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(RootContents::default()),
        Err(error) => return Err(error.into()),
    };
    let root = root.trim_end_matches('/');
    let mut contents = RootContents::default();
    for entry in &entries {
        let entry = entry.trim_end_matches('/');
        if let Some(name) = entry
            .strip_suffix(TABLE_SUFFIX)
            .filter(|name| !name.is_empty())
        {
            contents.tables.push(FoundTable {
                id: vec![name.to_string()],
                location: format!("{root}/{entry}"),
            });
        }
    }
    if entries
        .iter()
        .any(|entry| entry.trim_end_matches('/') == MANIFEST_TABLE)
    {
        read_manifest_table(caches, root, storage_options, &entries, &mut contents).await?;
    }
    Ok(contents)
}

async fn read_manifest_table(
    caches: &Caches,
    root: &str,
    storage_options: StorageOptions,
    entries: &[String],
    contents: &mut RootContents,
) -> Result<()> {
    let dataset = DatasetBuilder::from_uri(format!("{root}/{MANIFEST_TABLE}"))
        .with_session(caches.session())
        .with_storage_options(storage_options)
        .load()
        .await?;
    let mut scanner = dataset.scan();
    scanner.project(&["object_id", "object_type", "location"])?;
    let batches: Vec<RecordBatch> = scanner.try_into_stream().await?.try_collect().await?;
    let known: HashMap<String, usize> = contents
        .tables
        .iter()
        .enumerate()
        .map(|(index, table)| (table.location.clone(), index))
        .collect();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let text = |column: usize| {
                let column = batch.column(column).as_string_opt::<i32>()?;
                (!column.is_null(row)).then(|| column.value(row))
            };
            let (Some(id), Some(kind)) = (text(0), text(1)) else {
                continue;
            };
            let id: Vec<String> = id.split(MANIFEST_DELIMITER).map(str::to_string).collect();
            match (kind, text(2)) {
                ("namespace", _) => contents.namespaces.push(id),
                ("table", Some(relative)) => {
                    let relative = relative.trim_matches('/');
                    // The listing may outlive the table it lists.
                    if !entries
                        .iter()
                        .any(|entry| entry.trim_end_matches('/') == relative)
                    {
                        continue;
                    }
                    let location = format!("{root}/{relative}");
                    // A root table may be listed in both places.
                    match known.get(&location) {
                        Some(&index) => contents.tables[index].id = id,
                        None => contents.tables.push(FoundTable { id, location }),
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Removes everything under a table's location; succeeds when there is nothing.
pub(crate) async fn remove(
    caches: &Caches,
    location: &str,
    storage_options: StorageOptions,
) -> Result<()> {
    let (store, base) = store(caches, location, storage_options).await?;
    remove_all(&store, &base).await?;
    caches.durability().removed(location, &base).await
}

/// Removes everything under a path; succeeds when there is nothing.
pub(crate) async fn remove_all(store: &ObjectStore, path: &Path) -> Result<()> {
    // A file that appears while a directory is emptied keeps it from going.
    const TRIES: usize = 3;
    for attempt in 1..=TRIES {
        match store.remove_dir_all(path.clone()).await {
            Ok(()) => return Ok(()),
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) if attempt == TRIES => return Err(error.into()),
            Err(_) => {}
        }
    }
    Ok(())
}
