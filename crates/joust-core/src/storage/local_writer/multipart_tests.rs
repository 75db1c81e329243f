use std::path::Path;

use bytes::Bytes;
use futures::future::join_all;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::*;
use crate::storage::local_writer::tests::names;

fn begin(directory: &Path) -> MultipartFile {
    MultipartFile::begin(directory.join("data/file"), true).unwrap()
}

fn payload(parts: Vec<Vec<u8>>) -> PutPayload {
    parts.into_iter().map(Bytes::from).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However pieces of many lengths overtake each other.
    #[test]
    fn parts_that_complete_in_any_order_are_at_their_offsets(
        pieces in prop::collection::vec(
            (prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9_000), 0..4), any::<u8>()),
            0..12,
        ),
    ) {
        let place = tempfile::tempdir().unwrap();
        let wanted: Vec<u8> = pieces.iter().flat_map(|(parts, _)| parts.concat()).collect();
        Runtime::new().unwrap().block_on(async {
            let mut file = begin(place.path());
            let mut writing: Vec<_> = pieces
                .into_iter()
                .map(|(parts, order)| (order, file.put_part(payload(parts))))
                .collect();
            writing.sort_by_key(|(order, _)| *order);
            let ends = join_all(writing.into_iter().map(|(_, piece)| tokio::spawn(piece))).await;
            ends.into_iter().for_each(|end| end.unwrap().unwrap());
            file.complete().await.unwrap();
        });
        prop_assert_eq!(std::fs::read(place.path().join("data/file")).unwrap(), wanted);
    }
}

#[tokio::test]
async fn an_incomplete_multipart_file_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("data");
    let mut aborted = begin(place.path());
    let late = aborted.put_part("late".into());
    aborted.put_part("begun".into()).await.unwrap();
    assert_eq!(names(&directory), ["file"]);
    aborted.abort().await.unwrap();
    assert!(names(&directory).is_empty());
    late.await.unwrap();
    assert!(names(&directory).is_empty());

    let left = begin(place.path());
    assert_eq!(names(&directory), ["file"]);
    drop(left);
    assert!(names(&directory).is_empty());
}

#[tokio::test]
async fn a_multipart_write_does_not_replace_an_existing_file() {
    let place = tempfile::tempdir().unwrap();
    let mut file = begin(place.path());
    file.put_part("whole".into()).await.unwrap();
    file.complete().await.unwrap();
    drop(file);
    assert!(MultipartFile::begin(place.path().join("data/file"), true).is_err());
    let content = std::fs::read(place.path().join("data/file")).unwrap();
    assert_eq!(content, b"whole");
}

#[tokio::test]
async fn a_file_that_was_removed_meanwhile_is_not_complete() {
    let place = tempfile::tempdir().unwrap();
    for synced in [false, true] {
        let mut file = MultipartFile::begin(place.path().join("data/file"), synced).unwrap();
        file.put_part("begun".into()).await.unwrap();
        std::fs::remove_dir_all(place.path().join("data")).unwrap();
        file.put_part("lost".into()).await.unwrap();
        assert!(file.complete().await.is_err());
    }
}

/// A pipe is no file that a disk could have.
#[cfg(target_os = "linux")]
#[test]
fn a_system_that_can_not_begin_early_is_no_error() {
    let (_reader, writer) = std::io::pipe().unwrap();
    let writer = File::from(std::os::fd::OwnedFd::from(writer));
    begin_to_disk(&writer, 0, 1).unwrap();
    assert!(writer.sync_all().is_err());
}

/// Other systems have no such device.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_part_that_a_full_disk_does_not_take_is_an_error() {
    // Every write to this device fails as on a full disk.
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut file = MultipartFile {
        file: Arc::new(Mutex::new(full)),
        end: 0,
        synced: true,
        unfinished: None,
    };
    let error = file.put_part("x".into()).await.unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
}
