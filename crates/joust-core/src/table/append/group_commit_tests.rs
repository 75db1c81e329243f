use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use tokio::sync::oneshot;

use super::super::group::{Committer, commit_all};
use super::super::queue::Rows;
use super::*;
use crate::commit::start_fsync;
use crate::engine::{Engine, EngineOptions};
use crate::error::Result;
use crate::ipc::sent;
use crate::memory::Use;
use crate::table::{NewColumn, Written};

fn row() -> Vec<RecordBatch> {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    vec![RecordBatch::try_from_iter([("n", numbers)]).unwrap()]
}

/// A row in a file, and the receiver of its answer.
async fn staged(version: &Arc<Dataset>) -> (Staged, oneshot::Receiver<Result<Written>>) {
    let params = WriteParams {
        mode: WriteMode::Append,
        ..WriteParams::default()
    };
    let insert = InsertBuilder::new(version.clone()).with_params(&params);
    let (mut names, row) = (vec!["n"], row().remove(0));
    let mut columns = row.columns().to_vec();
    for field in version.schema().fields.iter().skip(1) {
        names.push(&field.name);
        columns.push(columns[0].clone());
    }
    let row = RecordBatch::try_from_iter(names.into_iter().zip(columns)).unwrap();
    let transaction = insert.execute_uncommitted(vec![row]).await.unwrap();
    let rows = Rows::Staged {
        transaction: Box::new(transaction.clone()),
        version: version.clone(),
        branch: None,
        num_rows: 1,
    };
    let (waiting, answer) = Waiting::with_receiver(rows);
    let staged = Staged {
        transaction,
        version: version.clone(),
        pending_fsync: None,
        uploads: vec![waiting],
    };
    (staged, answer)
}

#[tokio::test]
async fn rows_whose_fsync_fails_fail_alone() {
    let place = tempfile::tempdir().unwrap();
    let location = place.path().join("t.lance").display().to_string();
    let create = InsertBuilder::new(location.as_str());
    create.execute(row()).await.unwrap();
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    let version = table.changeable().await.unwrap();
    let (mut lost, lost_answer) = staged(&version).await;
    lost.pending_fsync = Some(start_fsync(
        &"nowhere".into(),
        &lost.transaction,
        version.manifest(),
    ));
    let (kept, kept_answer) = staged(&version).await;
    let group = Group {
        version,
        staged: vec![lost, kept],
    };
    let made = commit_group(table, group, None).await.unwrap();
    assert!(lost_answer.await.unwrap().is_err());
    assert_eq!(kept_answer.await.unwrap().unwrap().version, 2);
    assert_eq!(made.count_rows(None).await.unwrap(), 2);
}

#[tokio::test]
async fn rows_in_memory_are_rewritten_after_a_schema_change() {
    let place = tempfile::tempdir().unwrap();
    let location = place.path().join("t.lance").display().to_string();
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    let upload = sent(table.tables().memory(), &row()[0]);
    table.create(upload, false).await.unwrap();
    let column = NewColumn::Expression {
        name: "m".into(),
        expression: "n + 1".into(),
    };
    table.add_columns(&[column]).await.unwrap();
    let version = table.changeable().await.unwrap();
    let (file, file_answer) = staged(&version).await;
    let (mut memory, _) = staged(&version).await;
    let rows = Rows::Gathered {
        schema: row()[0].schema(),
        batches: row(),
        bytes: 8,
        _memory: table.tables().memory().take(Use::Upload, 8).await.unwrap(),
    };
    let (waiting, memory_answer) = Waiting::with_receiver(rows);
    memory.uploads = vec![waiting];
    table.drop_columns(&["m".into()]).await.unwrap();
    let other = NewColumn::null("o", r#""int64""#, Default::default(), Vec::new());
    table.add_columns(&[other.unwrap()]).await.unwrap();
    let (compatible, compatible_answer) = staged(&table.changeable().await.unwrap()).await;
    let group = Group {
        version,
        staged: vec![file, memory, compatible],
    };
    assert!(commit_group(table.clone(), group, None).await.is_some());
    commit_all(Committer::new(table.clone())).await;
    let refused = file_answer.await.unwrap().unwrap_err();
    assert_eq!(refused.code(), Code::ConcurrentModification);
    assert!(memory_answer.await.unwrap().is_ok());
    assert!(compatible_answer.await.unwrap().is_ok());
    let newest = table.changeable().await.unwrap();
    assert_eq!(newest.count_rows(Some("n = 1".into())).await.unwrap(), 3);
}
