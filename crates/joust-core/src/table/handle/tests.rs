//! A read sees every version that was committed before it began.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lance::Dataset;
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use tokio::task::yield_now;

use crate::engine::{Engine, EngineOptions};
use crate::ipc::sent;
use crate::table::ReadOptions;

fn numbers() -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(1..4));
    RecordBatch::try_from_iter([("n", numbers)]).unwrap()
}

/// Commits rows without the handle.
async fn append(location: &str) -> Dataset {
    let params = WriteParams {
        mode: WriteMode::Append,
        ..WriteParams::default()
    };
    let builder = InsertBuilder::new(location).with_params(&params);
    builder.execute(vec![numbers()]).await.unwrap()
}

#[tokio::test]
async fn a_read_that_waits_for_another_check_sees_the_commit_of_another_process() {
    let place = tempfile::tempdir().unwrap();
    let location = place.path().join("t.lance").display().to_string();
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    let rows = sent(table.tables().memory(), &numbers());
    table.create(rows, false).await.unwrap();
    let own = append(&location).await;
    let other = append(&location).await;

    let checking = table.handle.refreshing.lock().await;
    let reader = table.clone();
    let read = tokio::spawn(async move { reader.dataset(ReadOptions::default()).await });
    for _ in 0..100 {
        yield_now().await;
    }
    // The commit of this process becomes known after that of the other one, and while the read waits.
    table.handle.advance(own);
    drop(checking);
    assert_eq!(
        read.await.unwrap().unwrap().version_id(),
        other.version_id()
    );
}
