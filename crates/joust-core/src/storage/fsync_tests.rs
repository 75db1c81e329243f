//! What is synced, and what is known to be on the disk.

use std::fs::{create_dir, create_dir_all, remove_dir_all, write};
use std::thread::sleep;
use std::time::Duration;

use super::*;

/// Times of files are no finer in some systems.
const CLOCK_TICK: Duration = Duration::from_millis(20);

thread_local! {
    static SYNCED: Mutex<Vec<PathBuf>> = const { Mutex::new(Vec::new()) };
}

fn record(path: &Path) -> Result<()> {
    SYNCED.with(|synced| synced.lock().push(path.components().collect()));
    Ok(())
}

/// What is synced for these files of a table, relative to it.
fn synced(base: &Path, written: &[&str], known: &Known) -> Vec<String> {
    let written: Vec<PathBuf> = written.iter().map(PathBuf::from).collect();
    sync_all(base, &written, false, record, known).unwrap();
    let synced = SYNCED.with(|synced| std::mem::take(&mut *synced.lock()));
    let relative = |path: &PathBuf| path.strip_prefix(base).unwrap().display().to_string();
    synced.iter().map(relative).collect()
}

#[test]
fn the_name_of_a_directory_is_synced_once() {
    let (place, known) = (tempfile::tempdir().unwrap(), Known::default());
    let base = place.path();
    create_dir(base.join("data")).unwrap();
    for (file, expected) in [
        ("data/1.lance", vec!["data/1.lance", "", "data"]),
        ("data/2.lance", vec!["data/2.lance", "data"]),
    ] {
        write(base.join(file), "rows").unwrap();
        assert_eq!(synced(base, &[file], &known), expected);
    }
    // Another directory of that name, whatever inode it has.
    remove_dir_all(base.join("data")).unwrap();
    sleep(CLOCK_TICK);
    create_dir(base.join("data")).unwrap();
    write(base.join("data/3.lance"), "rows").unwrap();
    assert_eq!(
        synced(base, &["data/3.lance"], &known),
        ["data/3.lance", "", "data"]
    );
}

#[test]
fn a_written_directory_is_synced_with_what_it_holds_and_where_its_name_is() {
    let (place, known) = (tempfile::tempdir().unwrap(), Known::default());
    let base = place.path();
    for number in 1..3 {
        let index = format!("_indices/{number}");
        create_dir_all(base.join(&index)).unwrap();
        write(base.join(&index).join("page"), "entries").unwrap();
        let (page, holder) = (format!("{index}/page"), "_indices".to_string());
        let mut expected = vec![page, holder, index.clone()];
        if number == 1 {
            expected.insert(1, String::new());
        }
        assert_eq!(synced(base, &[&index], &known), expected);
    }
}

#[test]
fn a_directory_is_synced_again_after_its_fsync_failed() {
    fn broken(path: &Path) -> Result<()> {
        match path.is_dir() {
            true => Err(Error::from_raw_os_error(5)),
            false => Ok(()),
        }
    }
    let (place, known) = (tempfile::tempdir().unwrap(), Known::default());
    let base = place.path();
    create_dir(base.join("data")).unwrap();
    write(base.join("data/1.lance"), "rows").unwrap();
    let written = [PathBuf::from("data/1.lance")];
    let error = sync_all(base, &written, false, broken, &known).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5));
    assert_eq!(
        synced(base, &["data/1.lance"], &known),
        ["data/1.lance", "", "data"]
    );
}

/// The first manifest brings its directory along; should that go wrong, the next commit does.
#[test]
fn the_name_of_the_versions_is_synced_with_the_first_rows() {
    let (place, known) = (tempfile::tempdir().unwrap(), Known::default());
    let base = place.path();
    create_dir(base.join("data")).unwrap();
    write(base.join("data/1.lance"), "rows").unwrap();
    synced(base, &["data/1.lance"], &known);
    create_dir(base.join(VERSIONS)).unwrap();
    for expected in [
        vec!["data/1.lance", "", "data"],
        vec!["data/1.lance", "data"],
    ] {
        assert_eq!(synced(base, &["data/1.lance"], &known), expected);
    }
}

#[tokio::test]
async fn all_waiters_of_an_fsync_get_the_same_error() {
    let pending = PendingFsync::begin("/nowhere".into(), vec!["data/1.lance".into()]);
    for waiting in [pending.clone(), pending] {
        assert_eq!(waiting.end().await.unwrap_err().raw_os_error(), Some(2));
    }
}

#[test]
fn a_removal_is_synced_where_the_name_was() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path();
    create_dir(base.join("t.lance")).unwrap();
    for (gone, expected) in [
        ("t.lance/_refs/tags/v1.json", "t.lance"),
        ("other.lance", ""),
    ] {
        sync_removal(&base.join(gone), record).unwrap();
        let synced = SYNCED.with(|synced| std::mem::take(&mut *synced.lock()));
        assert_eq!(
            synced,
            [base.join(expected).components().collect::<PathBuf>()]
        );
    }
}

#[test]
fn a_shared_value_is_synced_once_and_again_when_it_has_grown() {
    let (place, known) = (tempfile::tempdir().unwrap(), Known::default());
    let base = place.path();
    create_dir(base.join("_blobs")).unwrap();
    let commit = |new: Option<&str>, bytes: &str| {
        if let Some(new) = new {
            write(base.join("_blobs").join(new), bytes).unwrap();
        }
        let all = synced(base, &["_blobs"], &known);
        let is_file = |path: &&String| path.ends_with(".blob");
        all.iter().filter(is_file).cloned().collect::<Vec<_>>()
    };
    assert_eq!(commit(Some("1.blob"), "value"), ["_blobs/1.blob"]);
    assert_eq!(commit(Some("2.blob"), "value"), ["_blobs/2.blob"]);
    assert!(commit(None, "").is_empty());
    // One that was still being written when another commit came by.
    let mut part = std::fs::OpenOptions::new();
    let mut part = part.append(true).open(base.join("_blobs/2.blob")).unwrap();
    std::io::Write::write_all(&mut part, b" and more").unwrap();
    assert_eq!(commit(None, ""), ["_blobs/2.blob"]);
    // Another file of that name.
    std::fs::remove_file(base.join("_blobs/1.blob")).unwrap();
    sleep(CLOCK_TICK);
    assert_eq!(commit(Some("1.blob"), "value"), ["_blobs/1.blob"]);
    // The directory is synced each time: names come and go.
    assert!(synced(base, &["_blobs"], &known).contains(&"_blobs".to_string()));
}

#[test]
fn a_shared_value_is_synced_again_after_the_fsync_of_its_directory_failed() {
    fn broken(path: &Path) -> Result<()> {
        match path.is_dir() {
            true => Err(Error::from_raw_os_error(5)),
            false => Ok(()),
        }
    }
    let (place, known) = (tempfile::tempdir().unwrap(), Known::default());
    let base = place.path();
    create_dir(base.join("_blobs")).unwrap();
    write(base.join("_blobs/1.blob"), "value").unwrap();
    let written = [PathBuf::from("_blobs")];
    assert!(sync_all(base, &written, false, broken, &known).is_err());
    assert!(synced(base, &["_blobs"], &known).contains(&"_blobs/1.blob".to_string()));
}
