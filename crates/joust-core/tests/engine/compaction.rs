//! Compaction beside writers that never pause.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, UInt64Type};
use joust_core::jobs::maintenance::Compact;
use joust_core::table::{ReadOptions, Update};
use joust_core::work::{CancellationToken, OnProgress};
use joust_core::{Engine, EngineOptions, Table, WorkContext, ipc};
use lance::Dataset;
use lance_core::{ROW_CREATED_AT_VERSION, ROW_LAST_UPDATED_AT_VERSION};
use lance_table::rowids::segment::U64Segment;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, block_in_place};

use crate::sent::upload_numbers;

/// The numbers 0 to 12 in four fragments of three rows, and the directory they are in.
async fn table() -> (Table, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    table.create(three(0), false).await.unwrap();
    for first in [3, 6, 9] {
        table.append(three(first)).await.unwrap();
    }
    (table, directory)
}

fn three(first: i64) -> ipc::UploadReader {
    upload_numbers(first..first + 3)
}

fn to(rows: usize) -> Compact {
    Compact {
        target_rows_per_fragment: Some(rows),
        ..Compact::default()
    }
}

/// Work that starts another delete of one of the first rows whenever a group is rewritten, and gives it
/// time to succeed.
fn deleting(table: &Table) -> (WorkContext, Arc<parking_lot::Mutex<Vec<JoinHandle<()>>>>) {
    let deletes = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let (table, started, next) = (table.clone(), deletes.clone(), AtomicI64::new(0));
    let on_progress: OnProgress = Arc::new(move |progress| {
        if progress.stage != "compact" || progress.completed > 1 {
            return;
        }
        let (table, n) = (table.clone(), next.fetch_add(1, Ordering::Relaxed));
        let mut delete = tokio::spawn(async move {
            table.delete(&format!("n = {n}")).await.unwrap();
        });
        let patience = tokio::time::timeout(Duration::from_millis(500), &mut delete);
        let ended = block_in_place(|| Handle::current().block_on(async { patience.await.is_ok() }));
        if !ended {
            started.lock().push(delete);
        }
    });
    let work = WorkContext::new(on_progress, CancellationToken::new());
    (work, deletes)
}

async fn rows(table: &Table) -> u64 {
    let all = ReadOptions::default();
    table.count_rows(None, all).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_others_change_does_not_keep_the_rest_from_being_compacted() {
    let (table, directory) = table().await;
    let (work, _) = deleting(&table);
    let compacted = table.compact(&to(6), &work).await.unwrap();
    assert_eq!(
        (compacted.fragments_removed, compacted.fragments_added),
        (2, 1)
    );
    assert_eq!(rows(&table).await, 11);
    // What was written in vain is gone.
    let files = std::fs::read_dir(directory.path().join("t.lance/data")).unwrap();
    assert_eq!(files.count(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_compaction_that_lost_waits_for_the_change_lock() {
    let (table, _directory) = table().await;
    let (work, waiting) = deleting(&table);
    let compacted = table.compact(&to(100), &work).await.unwrap();
    assert_eq!(
        (compacted.fragments_removed, compacted.fragments_added),
        (4, 1)
    );
    let waiting = std::mem::take(&mut *waiting.lock());
    assert_eq!(waiting.len(), 1);
    for delete in waiting {
        delete.await.unwrap();
    }
    assert_eq!(rows(&table).await, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn fragments_that_are_large_enough_stay_until_too_much_of_them_is_deleted() {
    let (table, _directory) = table().await;
    let below = Compact {
        below: Some(5),
        ..Compact::default()
    };
    let work = WorkContext::default();
    // Twelve rows, although a fragment of five is not looked at any more.
    let first = table.compact(&below, &work).await.unwrap();
    assert_eq!((first.fragments_removed, first.fragments_added), (4, 1));
    for first in [12, 15] {
        table.append(three(first)).await.unwrap();
    }
    let second = table.compact(&below, &work).await.unwrap();
    assert_eq!((second.fragments_removed, second.fragments_added), (2, 1));
    table.delete("n = 0").await.unwrap();
    let third = table.compact(&below, &work).await.unwrap();
    assert_eq!(third.published_version, None);
    table.delete("n = 1").await.unwrap();
    let fourth = table.compact(&below, &work).await.unwrap();
    assert_eq!((fourth.fragments_removed, fourth.fragments_added), (1, 1));
    assert_eq!(rows(&table).await, 16);
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_of_small_fragments_are_smaller_once_a_large_one_was_changed() {
    let (table, _directory) = table().await;
    let (work, waiting) = deleting(&table);
    let below = Compact {
        below: Some(5),
        ..Compact::default()
    };
    let compacted = table.compact(&below, &work).await.unwrap();
    assert_eq!(
        (compacted.fragments_removed, compacted.fragments_added),
        (4, 2)
    );
    let waiting = std::mem::take(&mut *waiting.lock());
    for delete in waiting {
        delete.await.unwrap();
    }
    assert_eq!(rows(&table).await, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_compaction_leaves_no_files() {
    let (table, directory) = table().await;
    let data = directory.path().join("t.lance/data");
    let files = || std::fs::read_dir(&data).unwrap().count();
    let before = files();
    let cancel = CancellationToken::new();
    let (seen, on_cancel) = (Arc::new(AtomicI64::new(0)), cancel.clone());
    let on_progress: OnProgress = {
        let (seen, data) = (seen.clone(), data.clone());
        Arc::new(move |progress| {
            // A group of two is written.
            if progress.stage == "compact" {
                seen.store(
                    std::fs::read_dir(&data).unwrap().count() as i64,
                    Ordering::Relaxed,
                );
                on_cancel.cancel();
            }
        })
    };
    let work = WorkContext::new(on_progress, cancel);
    let options = to(6);
    let cancelled = work.run(table.compact(&options, &work)).await;
    assert!(cancelled.is_err());
    assert!(seen.load(Ordering::Relaxed) > before as i64);
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while files() > before {
        assert!(std::time::Instant::now() < deadline, "{} files", files());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(rows(&table).await, 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_versions_of_compacted_rows_are_kept_and_stored_as_runs() {
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    table.create(upload_numbers(0..5_000), false).await.unwrap();
    table.append(upload_numbers(5_000..9_000)).await.unwrap();
    table.delete("n % 7 = 3").await.unwrap();
    let update = Update {
        set: vec![("n".into(), "n + 100000".into())],
        predicate: Some("n % 11 = 5".into()),
    };
    table.update(update).await.unwrap();
    let before = versions_of(&location).await;
    table
        .compact(&to(10_000), &WorkContext::default())
        .await
        .unwrap();
    assert_eq!(versions_of(&location).await, before);
    let compacted = Dataset::open(&location).await.unwrap();
    let [fragment] = compacted.manifest().fragments.as_slice() else {
        panic!("{:?}", compacted.manifest().fragments);
    };
    for (meta, runs) in [
        // The updated rows are after the others.
        (&fragment.created_at_version_meta, 4),
        (&fragment.last_updated_at_version_meta, 3),
    ] {
        let sequence = meta.as_ref().unwrap().load_sequence().unwrap();
        assert_eq!(sequence.runs.len(), runs);
        let spans = sequence.runs.iter().map(|run| &run.span);
        assert!(
            spans
                .clone()
                .all(|span| matches!(span, U64Segment::Range(_))),
            "{sequence:?}"
        );
    }
}

/// The numbers of a table, and the versions in which their rows were created and last updated.
async fn versions_of(location: &str) -> Vec<(i64, u64, u64)> {
    let dataset = Dataset::open(location).await.unwrap();
    let mut scanner = dataset.scan();
    scanner
        .project(&["n", ROW_CREATED_AT_VERSION, ROW_LAST_UPDATED_AT_VERSION])
        .unwrap();
    let rows = scanner.try_into_batch().await.unwrap();
    let numbers = rows["n"].as_primitive::<Int64Type>().values().iter();
    let created = rows[ROW_CREATED_AT_VERSION]
        .as_primitive::<UInt64Type>()
        .values()
        .iter();
    let updated = rows[ROW_LAST_UPDATED_AT_VERSION]
        .as_primitive::<UInt64Type>()
        .values()
        .iter();
    let mut versions: Vec<_> = numbers
        .zip(created)
        .zip(updated)
        .map(|((number, created), updated)| (*number, *created, *updated))
        .collect();
    versions.sort_unstable();
    versions
}
