use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use tokio::sync::oneshot;

use super::super::queue::Rows;
use super::*;
use crate::durability::settle;
use crate::engine::{Engine, EngineOptions};
use crate::error::Result;
use crate::table::Written;

fn row() -> Vec<RecordBatch> {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    vec![RecordBatch::try_from_iter([("n", numbers)]).unwrap()]
}

/// A row in a file, and where its client's answer comes.
async fn staged(version: &Arc<Dataset>) -> (Staged, oneshot::Receiver<Result<Written>>) {
    let params = WriteParams {
        mode: WriteMode::Append,
        ..WriteParams::default()
    };
    let insert = InsertBuilder::new(version.clone()).with_params(&params);
    let transaction = insert.execute_uncommitted(row()).await.unwrap();
    let rows = Rows::Staged {
        transaction: Box::new(transaction.clone()),
        num_rows: 1,
    };
    let (waiting, answer) = Waiting::new(rows, |_| None);
    let staged = Staged {
        transaction,
        settling: None,
        uploads: vec![waiting],
    };
    (staged, answer)
}

#[tokio::test]
async fn rows_that_the_disk_does_not_take_fail_alone() {
    let place = tempfile::tempdir().unwrap();
    let location = place.path().join("t.lance").display().to_string();
    let create = InsertBuilder::new(location.as_str());
    create.execute(row()).await.unwrap();
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    let version = table.changeable().await.unwrap();
    let (mut lost, lost_answer) = staged(&version).await;
    lost.settling = Some(settle(&"nowhere".into(), &lost.transaction));
    let (kept, kept_answer) = staged(&version).await;
    let group = Group {
        version,
        staged: vec![lost, kept],
    };
    let made = publish(table, group, None).await.unwrap();
    assert!(lost_answer.await.unwrap().is_err());
    assert_eq!(kept_answer.await.unwrap().unwrap().version, 2);
    assert_eq!(made.count_rows(None).await.unwrap(), 2);
}
