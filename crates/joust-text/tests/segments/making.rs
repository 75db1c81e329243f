//! Parts and merges, in memory and on disk.

use joust_text::query::Operator;
use joust_text::segment::{Builder, Segment, merge};

use super::{analysis, queries, same, search, segment, texts, view, words};

#[test]
fn merged_segments_are_in_the_order_of_their_rows() {
    let analysis = analysis();
    let segments = [700, 0, 300].map(|first| {
        let rows = (first..first + 100).map(|row| (row, "same words".to_string()));
        segment(&analysis, &rows.collect::<Vec<_>>())
    });
    let all = |_| true;
    let keep: Vec<(&Segment, &dyn Fn(u64) -> bool)> = segments
        .iter()
        .map(|segment| (segment.as_ref(), &all as &dyn Fn(u64) -> bool))
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let merged = merge(&keep, directory.path()).unwrap().unwrap();
    let merged = merged.open().unwrap();
    let rows: Vec<u64> = (0..merged.documents())
        .map(|document| merged.row(document))
        .collect();
    assert!(rows.is_sorted(), "{rows:?}");
}

#[test]
fn parts_that_did_not_fit_into_memory_become_one_segment() {
    let analysis = analysis();
    let texts = texts();
    let directory = tempfile::tempdir().unwrap();
    let mut builder = Builder::on_disk(&analysis, directory.path(), 2 << 20).unwrap();
    for (row, text) in texts.iter().flatten() {
        builder.add(*row, [text.as_str()]).unwrap();
    }
    builder.add(1 << 60, []).unwrap();
    let built = builder.finish().unwrap().unwrap();
    assert!(directory.path().join("part-1").exists(), "it was one part");
    let files = built.files().unwrap();
    assert!(files.iter().any(|(name, _)| name == "meta.json"));
    assert!(files.iter().all(|(name, _)| !name.starts_with('.')));
    // Copied by name, as they are when they are published.
    let copied = joust_text::segment::Files::new(
        files
            .iter()
            .map(|(name, bytes)| (name.to_string(), bytes.to_vec())),
    );
    let disk = view(&[Segment::from_files(copied).unwrap()], |_| true);
    let memory: Vec<_> = texts.iter().map(|rows| segment(&analysis, rows)).collect();
    let memory = view(&memory, |_| true);
    assert_eq!(disk.documents(), 13_000);
    for query in queries() {
        same(&search(&disk, &query, 20), &search(&memory, &query, 20));
    }
}

#[test]
fn a_segment_too_large_for_memory_is_made_on_disk() {
    let analysis = analysis();
    let rows: Vec<_> = texts().concat();
    let made = |memory| {
        let directory = tempfile::tempdir().unwrap();
        let mut builder = Builder::in_memory(&analysis, directory.path(), memory).unwrap();
        for (row, text) in &rows {
            builder.add(*row, [text.as_str()]).unwrap();
        }
        let segment = builder.finish().unwrap().unwrap().open().unwrap();
        let files = std::fs::read_dir(directory.path()).unwrap().count();
        (view(&[segment], |_| true), files)
    };
    let (small, files) = made(1 << 30);
    assert_eq!(files, 0);
    let (large, files) = made(1 << 20);
    assert!(files > 1, "it had room in memory");
    assert_eq!(large.documents(), rows.len() as u64);
    for query in queries() {
        same(&search(&large, &query, 20), &search(&small, &query, 20));
    }
}

#[test]
fn reading_a_segment_leaves_its_directory_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let mut builder = Builder::on_disk(&analysis(), directory.path(), 1 << 30).unwrap();
    builder.add(1, ["a cat"]).unwrap();
    builder.finish().unwrap().unwrap();
    let part = directory.path().join("part-0");
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(&part)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let before = names();
    let view = view(&[Segment::open(&part).unwrap()], |_| true);
    assert_eq!(search(&view, &words("cats", Operator::Or), 10).len(), 1);
    assert_eq!(names(), before);
}
