//! What becomes of the files of long uploads, which go to the disk piece by piece.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch};
use joust_core::ipc::UploadReader;
use joust_core::table::{ReadOptions, Written};
use joust_core::{Code, Durability, Engine, EngineOptions, Result, Table};
use tokio::task::JoinHandle;

use crate::long::Long;
use crate::place::Place;
use crate::sent::upload;

/// More than the buffers of a file and a piece hold, so that there is a file before the end is here.
const BYTES: usize = 64 << 20;
const ROWS: i64 = 4_096;
const WIDTH: i32 = 1_024;

/// Rows that no encoding makes shorter.
fn noise() -> RecordBatch {
    let mut state = 1_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let bytes = ROWS as usize * WIDTH as usize;
    let values: Vec<u8> = (0..bytes / 8).flat_map(|_| next()).collect();
    let noise = FixedSizeBinaryArray::new(WIDTH, values.into(), None);
    let columns: [(&str, ArrayRef); 2] = [
        ("n", Arc::new(Int64Array::from_iter_values(0..ROWS))),
        ("noise", Arc::new(noise)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

struct Files(PathBuf);

impl Files {
    fn of(place: &Place) -> Self {
        Self(place.directory.path().join("t.lance/data"))
    }

    /// Of those that have their name, as pieces have from the beginning.
    fn count(&self) -> usize {
        let names = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let names = names.filter(|file| file.path().extension().is_some_and(|end| end == "lance"));
        names.count()
    }

    async fn become_as_many_as(&self, wanted: usize) {
        let become_so_many = async {
            while self.count() != wanted {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(60), become_so_many).await;
        assert!(in_time.is_ok(), "{} files and not {wanted}", self.count());
    }
}

/// That the table has all rows that were sent so many times, each with its noise.
async fn check(table: &Table, sent: &RecordBatch, times: u64) {
    let count = async |predicate: &str| {
        let count = table.count_rows(Some(predicate), ReadOptions::default());
        count.await.unwrap()
    };
    assert_eq!(count("true").await, times * ROWS as u64);
    let noise = sent.column_by_name("noise").unwrap();
    let noise: &FixedSizeBinaryArray = noise.as_any().downcast_ref().unwrap();
    for row in [0, ROWS / 2, ROWS - 1] {
        let bytes = noise.value(row as usize).iter();
        let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
        let same = format!("n = {row} AND noise = X'{hex}'");
        assert_eq!(count(&same).await, times, "row {row}");
    }
}

/// How rows come to a table.
#[derive(Debug, Clone, Copy)]
enum Way {
    Create,
    Append,
    Overwrite,
}

fn send(table: &Table, way: Way, upload: UploadReader) -> JoinHandle<Result<Written>> {
    let table = table.clone();
    tokio::spawn(async move {
        match way {
            Way::Create => table.create(upload, false).await,
            Way::Append => table.append(upload).await,
            Way::Overwrite => table.overwrite(upload).await,
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn created_appended_and_replacing_rows_are_stored_as_sent() {
    let rows = noise();
    let once = BYTES.div_ceil(rows.get_array_memory_size()) as u64;
    let ways = [
        (Way::Create, once),
        (Way::Append, 2 * once),
        (Way::Overwrite, once),
    ];
    for durability in [Durability::Os, Durability::Synced] {
        let place = Place::with(durability);
        let table = place.table("t");
        let files = Files::of(&place);
        for (way, times) in ways {
            let before = files.count();
            let (long, read) = Long::of_bytes(&rows, BYTES);
            let sent = send(&table, way, read);
            long.begin().await;
            files.become_as_many_as(before + 1).await;
            long.end();
            assert_eq!(sent.await.unwrap().unwrap().num_rows, once * ROWS as u64);
            check(&table, &rows, times).await;
        }
    }
}

/// Then Lance writes them.
#[tokio::test(flavor = "multi_thread")]
async fn rows_are_stored_as_sent_without_memory_for_multipart_writes() {
    let rows = noise();
    let once = BYTES.div_ceil(rows.get_array_memory_size()) as u64;
    let engine = Engine::new(EngineOptions {
        memory_bytes: 1 << 30,
        ..EngineOptions::default()
    });
    let place = Place {
        engine,
        ..Place::new()
    };
    let table = place.table("t");
    for (way, times) in [
        (Way::Create, once),
        (Way::Append, 2 * once),
        (Way::Overwrite, once),
    ] {
        let (long, read) = Long::of_bytes(&rows, BYTES);
        let sent = send(&table, way, read);
        long.begin().await;
        long.end();
        sent.await.unwrap().unwrap();
        check(&table, &rows, times).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_breaks_off_leaves_no_file() {
    let place = Place::new();
    let table = place.table("t");
    let ten = upload(&noise().slice(0, 10));
    table.create(ten, false).await.unwrap();
    let files = Files::of(&place);
    for way in [Way::Append, Way::Overwrite] {
        let (long, read) = Long::of_bytes(&noise(), BYTES);
        let sent = send(&table, way, read);
        long.begin().await;
        files.become_as_many_as(2).await;
        drop(long);
        let broken = sent.await.unwrap().unwrap_err();
        assert_eq!(broken.code(), Code::InvalidInput, "{broken}");
        files.become_as_many_as(1).await;
        let rows = table.count_rows(None, ReadOptions::default()).await;
        assert_eq!(rows.unwrap(), 10);
    }
}

/// As Lance, which gives a file its name at the end, would find.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_file_was_removed_fails() {
    for (durability, way) in [
        (Durability::Os, Way::Append),
        (Durability::Os, Way::Overwrite),
        (Durability::Synced, Way::Append),
        (Durability::Synced, Way::Overwrite),
    ] {
        let place = Place::with(durability);
        let table = place.table("t");
        let ten = upload(&noise().slice(0, 10));
        table.create(ten, false).await.unwrap();
        let files = Files::of(&place);
        let (long, read) = Long::of_bytes(&noise(), BYTES);
        let sent = send(&table, way, read);
        long.begin().await;
        files.become_as_many_as(2).await;
        fs::remove_dir_all(&files.0).unwrap();
        long.end();
        sent.await.unwrap().unwrap_err();
        assert_eq!(table.list_versions().await.unwrap().len(), 1);
    }
}
