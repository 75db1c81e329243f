use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchIterator, StringArray};
use futures::future::join_all;
use joust_text::analysis::{Analysis, Params};
use lance::dataset::WriteParams;

use super::*;

const ROWS: usize = 40_000;
const FRAGMENTS: usize = 8;

/// A runtime in which one thread reads files and indexes rows.
fn on_one_thread<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let work = async { tokio::time::timeout(Duration::from_secs(60), work).await };
    runtime.block_on(work).expect("it waits for itself")
}

async fn table(at: &Path) -> Arc<Dataset> {
    let texts = (0..ROWS).map(|row| format!("all of them and number{row} word{}", row % 100));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("words", texts)]).unwrap();
    let schema = batch.schema();
    let params = WriteParams {
        max_rows_per_file: ROWS / FRAGMENTS,
        enable_stable_row_ids: true,
        ..WriteParams::default()
    };
    let batches = RecordBatchIterator::new([Ok(batch)], schema);
    let table = Dataset::write(batches, at.to_str().unwrap(), Some(params));
    Arc::new(table.await.unwrap())
}

fn making(memory: usize) -> (Making, PathBuf) {
    let analysis = Analysis::new(&Params::default()).unwrap();
    let scratch = Scratch::default();
    let path = scratch.path().to_path_buf();
    let builder = Builder::in_memory(&analysis, &path, memory).unwrap();
    (Making { builder, scratch }, path)
}

/// Documents of a segment of the table's rows, and whether it was built in memory.
async fn documents(table: &Arc<Dataset>, memory: usize) -> Result<(u64, bool)> {
    let column = TextColumn {
        field: "words".to_string(),
        keys: None,
    };
    let rows = Rows {
        dataset: table,
        column: &column,
        fragments: table.manifest().fragments.to_vec(),
    };
    let (making, scratch) = making(memory);
    let files = scratch.clone();
    let finish = move |built: Option<Built>| Ok((built.unwrap().documents, !files.exists()));
    let made = rows.fill(making, finish, &mut |_| {}).await;
    assert!(!scratch.exists(), "files were left");
    made
}

#[test]
fn segments_are_made_side_by_side_however_few_the_threads_are() {
    let directory = tempfile::tempdir().unwrap();
    let made = on_one_thread(async {
        let table = table(directory.path()).await;
        join_all((0..6).map(|_| documents(&table, usize::MAX))).await
    });
    for made in made {
        assert_eq!(made.unwrap(), (ROWS as u64, true));
    }
}

#[test]
fn a_segment_too_large_for_memory_has_all_rows_too() {
    let directory = tempfile::tempdir().unwrap();
    let made = on_one_thread(async { documents(&table(directory.path()).await, 1 << 20).await });
    assert_eq!(made.unwrap(), (ROWS as u64, false));
}

#[test]
fn rows_that_can_not_be_read_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let made = on_one_thread(async {
        let table = table(directory.path()).await;
        let last = table.manifest().fragments.last().unwrap().clone();
        let file = directory.path().join("data").join(&last.files[0].path);
        std::fs::remove_file(file).unwrap();
        documents(&table, 1 << 20).await
    });
    assert!(made.is_err());
}
