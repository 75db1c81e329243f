//! Atomic creation of files: a file exists completely or not at all.

use std::fs::{File, Metadata, OpenOptions, create_dir_all, hard_link, remove_file};
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::fsync::SyncFn;

/// A file that was created.
pub(crate) struct Made {
    /// As `object_store` computes it.
    pub e_tag: String,
    /// The result of the fsync of its directory, where that was requested. After an error the file still exists.
    pub named: Result<()>,
}

/// Creates the file, and its directory where that is missing; `None` when a file of that name exists. `sync`:
/// syncs the file, and calls this for its directory.
pub(crate) fn put_new(path: &Path, bytes: &[u8], sync: Option<SyncFn>) -> Result<Option<Made>> {
    let (file, beside) = create_beside(path, sync.is_some())?;
    let filled = fill(file, bytes, sync.is_some());
    let put = filled.and_then(|metadata| Ok(link(&beside, path)?.then(|| e_tag(&metadata))));
    // A failure leaves a temporary file behind, which is harmless.
    let _ = remove_file(&beside);
    let Some(e_tag) = put? else {
        return Ok(None);
    };
    let named = match (sync, path.parent()) {
        (Some(sync), Some(directory)) => sync(directory),
        _ => Ok(()),
    };
    Ok(Some(Made { e_tag, named }))
}

/// Gives a file its name; `false` when a file of that name exists.
fn link(beside: &Path, path: &Path) -> Result<bool> {
    match hard_link(beside, path) {
        Ok(()) => Ok(true),
        // A network file system may have linked it and lost the reply.
        Err(_) if has_its_name(beside) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn has_its_name(beside: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    beside.metadata().is_ok_and(|metadata| metadata.nlink() > 1)
}

#[cfg(not(unix))]
fn has_its_name(_: &Path) -> bool {
    false
}

/// Closes the file too: some file systems make a file visible to others only then.
fn fill(mut file: File, bytes: &[u8], synced: bool) -> Result<Metadata> {
    file.write_all(bytes)?;
    if synced {
        file.sync_all()?;
    }
    file.metadata()
}

/// A file whose name `object_store` regards as incomplete.
fn create_beside(path: &Path, synced: bool) -> Result<(File, PathBuf)> {
    for number in 1_u32.. {
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!("#{number}"));
        let beside = PathBuf::from(beside);
        match create(&beside, synced) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return Ok((created?, beside)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Creates an empty file, and its directory where that is missing. `synced`: syncs the name of the directory.
pub(crate) fn create(path: &Path, synced: bool) -> Result<File> {
    let mut new = OpenOptions::new();
    new.write(true).create_new(true);
    match new.open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_parents(path, synced)?;
            new.open(path)
        }
        opened => opened,
    }
}

fn make_parents(path: &Path, synced: bool) -> Result<()> {
    let Some(parent) = path.parent() else {
        return Err(ErrorKind::NotFound.into());
    };
    let missing: Vec<_> = parent.ancestors().take_while(|one| !one.exists()).collect();
    create_dir_all(parent)?;
    if synced {
        missing.into_iter().try_for_each(sync_parent)?;
    }
    Ok(())
}

fn sync_parent(path: &Path) -> Result<()> {
    match path.parent() {
        // Others than Unix cannot sync directories.
        Some(parent) if cfg!(unix) => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

fn e_tag(metadata: &Metadata) -> String {
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.unwrap_or_default().as_micros();
    format!(
        "\"{:x}-{modified:x}-{:x}\"",
        inode(metadata),
        metadata.len()
    )
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt;
    use object_store::local::LocalFileSystem;
    use object_store::path::Path as StorePath;

    use super::super::fsync::to_disk;
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = directory.read_dir().unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn a_file_is_made_once_with_its_directories() {
        for sync in [Some(to_disk as SyncFn), None] {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("t.lance/tree/dev/_versions/1.manifest");
            assert!(put_new(&path, b"first", sync).unwrap().is_some());
            assert!(put_new(&path, b"second", sync).unwrap().is_none());
            assert_eq!(std::fs::read(&path).unwrap(), b"first");
            assert_eq!(names(path.parent().unwrap()), ["1.manifest"]);
        }
    }

    /// Lance's caches are keyed by the e-tags of listings.
    #[tokio::test]
    async fn a_new_file_has_the_e_tag_that_listings_report() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("1.manifest");
        let tag = put_new(&path, b"some", None).unwrap();
        let listed = LocalFileSystem::new()
            .head(&StorePath::from_filesystem_path(&path).unwrap())
            .await
            .unwrap();
        assert_eq!(listed.e_tag, tag.map(|made| made.e_tag));
    }

    #[test]
    fn a_partial_file_of_another_writer_does_not_block_a_create() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("1.manifest");
        std::fs::write(place.path().join("1.manifest#1"), b"half").unwrap();
        put_new(&path, b"whole", Some(to_disk)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn a_directory_that_can_not_be_made_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, b"").unwrap();
        assert!(put_new(&file.join("1.manifest"), b"", Some(to_disk)).is_err());
    }

    #[test]
    fn a_repeated_link_succeeds_only_if_the_name_has_the_same_file() {
        let place = tempfile::tempdir().unwrap();
        let [path, beside] = ["1.manifest", "1.manifest#1"].map(|name| place.path().join(name));
        std::fs::write(&beside, b"own").unwrap();
        hard_link(&beside, &path).unwrap();
        assert!(link(&beside, &path).unwrap());
        remove_file(&beside).unwrap();
        std::fs::write(&beside, b"other").unwrap();
        assert!(!link(&beside, &path).unwrap());
    }
}
