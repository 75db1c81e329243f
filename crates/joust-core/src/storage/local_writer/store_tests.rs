use object_store::ObjectStoreExt;

use super::*;
use crate::storage::local_writer::tests::names;

#[tokio::test]
async fn a_file_is_created_whole_with_its_directories_or_not_at_all() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a/b/c");
    let store = LocalWriterStore::new(Durability::Synced);
    let at = StorePath::from_absolute_path(&path).unwrap();
    let parts = [Bytes::from_static(b"one "), Bytes::from_static(b"two")];
    store.put(&at, parts.into_iter().collect()).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"one two");

    let error = store.put(&at, "other".into()).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"one two");

    let create = PutOptions::from(PutMode::Create);
    let lost = store.put_opts(&at, "other".into(), create).await;
    assert!(matches!(lost, Err(Error::AlreadyExists { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"one two");

    let under_a_file = StorePath::from_absolute_path(path.join("d")).unwrap();
    assert!(store.put(&under_a_file, "x".into()).await.is_err());
    assert_eq!(names(&place.path().join("a/b")), ["c"]);
}

/// Other systems have no such device.
#[cfg(target_os = "linux")]
#[test]
fn a_write_to_a_full_disk_leaves_no_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    std::fs::write(&path, "the beginning").unwrap();
    // Every write to this device fails as on a full disk.
    let full = File::options().write(true).open("/dev/full").unwrap();
    let error = fill(full, &path, &"x".into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert!(!path.exists());
}
