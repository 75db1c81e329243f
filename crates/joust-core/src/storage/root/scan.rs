//! Scans a root for tables that LanceDB tools created.

use std::collections::HashMap;
use std::path::Path as LocalPath;

use arrow::array::{Array, AsArray, RecordBatch};
use futures::TryStreamExt;
use lance::dataset::builder::DatasetBuilder;

use super::links::{self, Links};
use super::{Sessions, StorageOptions, local_path, store};
use crate::blocking_executor::step;
use crate::error::{Error, Result};

const TABLE_SUFFIX: &str = ".lance";
const MANIFEST_TABLE: &str = "__manifest";
/// Separates the components of a namespace and a table's name in the manifest table.
const MANIFEST_DELIMITER: char = '$';

/// A directory with a table of other tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTable {
    /// Namespace components, then the table's name.
    pub id: Vec<String>,
    /// Path or URI.
    pub location: String,
}

/// An entry with the name of a table that is not a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Path or URI.
    pub location: String,
    /// The reason, for the operator.
    pub reason: String,
}

/// The content of a root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootContents {
    pub tables: Vec<FoundTable>,
    pub namespaces: Vec<Vec<String>>,
    pub skipped: Vec<Skipped>,
}

/// An entry of the root itself.
struct Entry {
    name: String,
    /// Why it cannot be a table.
    refusal: Option<String>,
}

/// Lists what LanceDB tools created in a root. A root that does not exist is empty.
pub(crate) async fn scan(
    sessions: &Sessions,
    links: &Links,
    root: &str,
    storage_options: StorageOptions,
) -> Result<RootContents> {
    let entries = match local_path(root) {
        Some(directory) => local_entries(links, directory).await?,
        None => remote_entries(sessions, root, storage_options.clone()).await?,
    };
    let root = root.trim_end_matches('/');
    let mut contents = RootContents::default();
    for Entry { name, refusal } in &entries {
        let table = name.strip_suffix(TABLE_SUFFIX).filter(|id| !id.is_empty());
        if table.is_none() && name != MANIFEST_TABLE {
            continue;
        }
        let location = format!("{root}/{name}");
        if let Some(reason) = refusal.clone() {
            contents.skipped.push(Skipped { location, reason });
        } else if let Some(table) = table {
            let id = vec![table.to_string()];
            contents.tables.push(FoundTable { id, location });
        }
    }
    let is_manifest = |entry: &Entry| entry.name == MANIFEST_TABLE && entry.refusal.is_none();
    if entries.iter().any(is_manifest) {
        read_manifest_table(sessions, root, storage_options, &entries, &mut contents).await?;
    }
    Ok(contents)
}

async fn local_entries(links: &Links, directory: &LocalPath) -> Result<Vec<Entry>> {
    let (directory, follow) = (directory.to_path_buf(), links.follow());
    let entries = step(move || {
        let listed = match std::fs::read_dir(&directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed?,
        };
        let mut entries = Vec::new();
        for entry in listed {
            let entry = entry?;
            // Tools do not use such names, and the catalog does not support them.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let kind = entry.file_type()?;
            let refusal = match kind.is_symlink() {
                true => links::refusal(&entry.path(), follow),
                false => (!kind.is_dir()).then(|| "it is not a directory".to_string()),
            };
            entries.push(Entry { name, refusal });
        }
        Ok(entries)
    });
    Ok(entries.await?)
}

async fn remote_entries(
    sessions: &Sessions,
    root: &str,
    storage_options: StorageOptions,
) -> Result<Vec<Entry>> {
    let (store, base) = store(sessions, root, storage_options).await?;
    let listed = match store.list_with_delimiter(Some(&base)).await {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        listed => listed?,
    };
    let directories = listed.common_prefixes.iter().map(|path| (path, None));
    let objects = listed.objects.iter();
    let objects = objects.map(|object| (&object.location, Some("it is not a directory")));
    let entries = directories.chain(objects).filter_map(|(path, refusal)| {
        Some(Entry {
            name: path.filename()?.to_string(),
            refusal: refusal.map(str::to_string),
        })
    });
    Ok(entries.collect())
}

async fn read_manifest_table(
    sessions: &Sessions,
    root: &str,
    storage_options: StorageOptions,
    entries: &[Entry],
    contents: &mut RootContents,
) -> Result<()> {
    let rows = async {
        let dataset = DatasetBuilder::from_uri(format!("{root}/{MANIFEST_TABLE}"))
            .with_session(sessions.session())
            .with_storage_options(storage_options)
            .load()
            .await?;
        let mut scanner = dataset.scan();
        scanner.project(&["object_id", "object_type", "location"])?;
        scanner.try_into_stream().await?.try_collect().await
    };
    let batches: Vec<RecordBatch> = rows.await.map_err(|error: lance::Error| {
        let what = format!("the table `{MANIFEST_TABLE}` of the root can't be read");
        Error::internal(format!("{what}; the server's log says why"), error)
    })?;
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
                    // The manifest may list tables that no longer exist.
                    let Some(entry) = entries.iter().find(|entry| entry.name == relative) else {
                        continue;
                    };
                    let location = format!("{root}/{relative}");
                    // A root table may be listed in both places.
                    match (known.get(&location), &entry.refusal) {
                        (Some(&index), _) => contents.tables[index].id = id,
                        (None, None) => contents.tables.push(FoundTable { id, location }),
                        // Already skipped if only its name says that it is a table.
                        (None, Some(_)) if relative.ends_with(TABLE_SUFFIX) => {}
                        (None, Some(reason)) => contents.skipped.push(Skipped {
                            location,
                            reason: reason.clone(),
                        }),
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}
