//! Removes tables: the files of Lance and joust, and nothing else beside them.

use std::fs::{read_dir, remove_dir, remove_dir_all, remove_file, symlink_metadata};
use std::io::ErrorKind;
use std::path::Path as LocalPath;

use futures::future::try_join_all;
use lance_io::object_store::ObjectStore;
use object_store::path::Path;

use super::links::{Links, Passed, is_absence};
use super::{Sessions, StorageOptions, local_path, store};
use crate::blocking_executor::step;
use crate::error::Result;
use crate::lease::Lease;

/// The directory of manifests.
pub(crate) const VERSIONS: &str = "_versions";
/// Lance's directories of a branch, including the main branch.
pub(crate) const BRANCH_DIRECTORIES: &[&str] = &[
    VERSIONS,
    "data",
    "_deletions",
    "_indices",
    "_transactions",
    "_blobs",
    "_fri",
    "_mem_wal",
    "_backfills",
];
/// Other entries of a table's directory: tags and branches, payloads of functions, and marker files of Lance's
/// directory namespace.
const TABLE_ENTRIES: &[&str] = &[
    "_refs",
    "tree",
    "_udfs",
    ".lance-reserved",
    ".lance-deregistered",
];
/// A file that appears while a directory is emptied prevents its removal.
const TRIES: usize = 3;

fn is_own(name: &str) -> bool {
    BRANCH_DIRECTORIES.contains(&name) || TABLE_ENTRIES.contains(&name)
}

/// Removes the entries of a table, then its directory if it is empty; succeeds if there is nothing. Removes a link at
/// the location without following it, and nothing behind a link above it. Returns the names of the remaining entries.
/// Removes no local file after the end of the lease, even if the future was dropped.
pub(crate) async fn remove(
    sessions: &Sessions,
    links: &Links,
    location: &str,
    storage_options: StorageOptions,
    lease: Lease,
) -> Result<Vec<String>> {
    let (store, base) = store(sessions, location, storage_options).await?;
    let Some(place) = local_path(location) else {
        return remove_remote(&store, &base).await;
    };
    let (place, passed) = (place.to_path_buf(), links.passed(place)?);
    let left = step(move || match passed {
        Some(Passed::Above) => names(&place),
        _ => remove_local(&place, &|| !lease.has_ended()),
    });
    let left = left.await?;
    // Also for the directory, if it stays.
    let durability = sessions.durability();
    durability.removed(location, &base.join(VERSIONS)).await?;
    Ok(left)
}

/// The entries of a directory; empty if it does not exist.
fn names(directory: &LocalPath) -> std::io::Result<Vec<String>> {
    let entries = match read_dir(directory) {
        Err(error) if is_absence(&error) => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// Whether the removal may go on.
type MayGoOn<'a> = &'a dyn Fn() -> bool;

fn check(may_go_on: MayGoOn<'_>) -> std::io::Result<()> {
    match may_go_on() {
        true => Ok(()),
        false => Err(std::io::Error::other("the lease of this server has ended")),
    }
}

fn remove_local(place: &LocalPath, may_go_on: MayGoOn<'_>) -> std::io::Result<Vec<String>> {
    for attempt in 1..=TRIES {
        check(may_go_on)?;
        match symlink_metadata(place) {
            Err(error) if is_absence(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
            Ok(metadata) if metadata.is_symlink() => {
                remove_link(place)?;
                return Ok(Vec::new());
            }
            Ok(metadata) if !metadata.is_dir() => {
                let name = place.file_name().unwrap_or_default();
                return Ok(vec![name.to_string_lossy().into_owned()]);
            }
            Ok(_) => {}
        }
        match empty(place, may_go_on) {
            Ok(left) if left.is_empty() => match remove_dir(place) {
                Ok(()) => return Ok(left),
                Err(error) if is_absence(&error) => return Ok(left),
                Err(error) if attempt == TRIES => return Err(error),
                Err(_) => {}
            },
            Ok(left) => return Ok(left),
            Err(error) if attempt == TRIES => return Err(error),
            Err(_) => {}
        }
    }
    Ok(Vec::new())
}

/// Removes the entries of a table; returns the names of the others.
fn empty(directory: &LocalPath, may_go_on: MayGoOn<'_>) -> std::io::Result<Vec<String>> {
    let (mut own, left): (Vec<_>, Vec<_>) =
        names(directory)?.into_iter().partition(|name| is_own(name));
    // Versions first: without them readers do not take the rest for a table.
    own.sort_by_key(|name| name != VERSIONS);
    for name in own {
        check(may_go_on)?;
        let entry = directory.join(name);
        let removed = match symlink_metadata(&entry) {
            Ok(metadata) if metadata.is_dir() => remove_directory(&entry, may_go_on),
            Ok(metadata) if metadata.is_symlink() => remove_link(&entry),
            Ok(_) => remove_file(&entry),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(left)
}

/// Removes a directory of a table, one entry after another: it may have many files.
fn remove_directory(directory: &LocalPath, may_go_on: MayGoOn<'_>) -> std::io::Result<()> {
    for entry in read_dir(directory)? {
        check(may_go_on)?;
        let entry = entry?;
        let removed = match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove_dir_all(entry.path()),
            Ok(_) => remove_link(&entry.path()),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    remove_dir(directory)
}

/// On Windows a link to a directory is removed like a directory.
fn remove_link(link: &LocalPath) -> std::io::Result<()> {
    match remove_file(link) {
        Err(_) if cfg!(windows) => remove_dir(link),
        removed => removed,
    }
}

async fn remove_remote(store: &ObjectStore, base: &Path) -> Result<Vec<String>> {
    let listed = match store.list_with_delimiter(Some(base)).await {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        listed => listed?,
    };
    let objects = listed.objects.into_iter().map(|object| object.location);
    let (mut own, left): (Vec<_>, Vec<_>) = listed
        .common_prefixes
        .into_iter()
        .map(|directory| (directory, true))
        .chain(objects.map(|object| (object, false)))
        .partition(|(path, _)| path.filename().is_some_and(is_own));
    let remove = async |(path, is_directory): &(Path, bool)| match is_directory {
        true => remove_all(store, path).await,
        false => match store.delete(path).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(()),
        },
    };
    // Versions first: without them readers do not take the rest for a table.
    own.sort_by_key(|(path, _)| path.filename() != Some(VERSIONS));
    if let Some((first, rest)) = own.split_first() {
        remove(first).await?;
        try_join_all(rest.iter().map(remove)).await?;
    }
    let left = left.iter().filter_map(|(path, _)| path.filename());
    Ok(left.map(str::to_string).collect())
}

/// Removes everything under a path; succeeds if there is nothing.
pub(crate) async fn remove_all(store: &ObjectStore, path: &Path) -> Result<()> {
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

#[cfg(all(test, unix))]
mod tests {
    use std::cell::Cell;
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_directory_loses_the_tables_entries_and_keeps_all_others() {
        let place = tempfile::tempdir().unwrap();
        let table = place.path().join("t.lance");
        for name in BRANCH_DIRECTORIES.iter().chain(TABLE_ENTRIES) {
            create_dir_all(table.join(name)).unwrap();
            write(table.join(name).join("file"), b"").unwrap();
        }
        write(table.join("notes.txt"), b"mine").unwrap();
        create_dir_all(table.join("nested.lance/_versions")).unwrap();
        let mut left = remove_local(&table, &|| true).unwrap();
        left.sort();
        assert_eq!(left, ["nested.lance", "notes.txt"]);
        let mut there = names(&table).unwrap();
        there.sort();
        assert_eq!(there, left);
        assert!(table.join("nested.lance/_versions").is_dir());
    }

    #[test]
    fn a_table_without_other_entries_leaves_no_directory() {
        let place = tempfile::tempdir().unwrap();
        let table = place.path().join("t.lance");
        create_dir_all(table.join("_versions")).unwrap();
        write(table.join(".lance-reserved"), b"").unwrap();
        assert!(remove_local(&table, &|| true).unwrap().is_empty());
        assert!(!table.exists());
        assert!(remove_local(&table, &|| true).unwrap().is_empty());
    }

    #[test]
    fn links_are_removed_and_what_they_lead_to_stays() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().join("real");
        create_dir_all(real.join("data")).unwrap();
        write(real.join("data/rows.lance"), b"").unwrap();
        let table = place.path().join("t.lance");
        create_dir_all(table.join("_versions")).unwrap();
        symlink(real.join("data"), table.join("data")).unwrap();
        assert!(remove_local(&table, &|| true).unwrap().is_empty());
        let link = place.path().join("link.lance");
        symlink(&real, &link).unwrap();
        assert!(remove_local(&link, &|| true).unwrap().is_empty());
        assert!(!table.exists());
        assert!(link.symlink_metadata().is_err());
        assert!(real.join("data/rows.lance").is_file());
    }

    #[test]
    fn nothing_is_removed_after_the_end_of_the_lease() {
        let place = tempfile::tempdir().unwrap();
        let table = place.path().join("t.lance");
        for directory in ["data", "_versions"] {
            create_dir_all(table.join(directory)).unwrap();
        }
        for file in 0..8 {
            write(table.join(format!("data/{file}")), b"").unwrap();
        }
        let looks = Cell::new(0);
        let may_go_on = || {
            looks.set(looks.get() + 1);
            looks.get() <= 6
        };
        assert!(remove_local(&table, &may_go_on).is_err());
        // It looked at the beginning, before two directories and before three files.
        assert!(!table.join("_versions").exists());
        assert_eq!(names(&table.join("data")).unwrap().len(), 5);
    }

    #[test]
    fn a_file_at_the_location_stays() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("t.lance");
        write(&file, b"mine").unwrap();
        assert_eq!(remove_local(&file, &|| true).unwrap(), ["t.lance"]);
        assert!(file.is_file());
    }
}
