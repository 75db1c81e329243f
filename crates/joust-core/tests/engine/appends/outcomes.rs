//! Appends that report their outcome through a callback.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use futures::future::join_all;
use joust_core::table::Written;
use joust_core::{Code, Durability, Engine, EngineOptions, MAX_COMMIT_WORKERS, Result};
use tokio::sync::oneshot;

use super::{count, ten};
use crate::place::Place;
use crate::sent::{numbers, stream, upload, upload_bytes, upload_numbers};

/// A callback for the outcome of an append, and its receiver.
fn callback() -> (
    impl FnOnce(Result<Written>) + Send + Sync,
    oneshot::Receiver<Result<Written>>,
) {
    let (sender, outcome) = oneshot::channel();
    let report = |outcome| sender.send(outcome).unwrap();
    (report, outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_append_reports_its_outcome_once_when_its_rows_are_stored() {
    let place = Place::with(Durability::Os);
    let table = ten(&place).await;
    let appends = (1..=100).map(|client| {
        let rows = numbers(client * 10..client * 10 + 10);
        // In one piece, in two batches, and still coming.
        let upload = match client % 3 {
            0 => upload(&rows),
            1 => upload_bytes(&stream(&[numbers(0..0), rows])),
            _ => {
                let (push, read) = Engine::new(EngineOptions::default()).upload();
                let bytes = stream(&[rows]);
                tokio::spawn(async move {
                    for part in bytes.chunks(100) {
                        push.push(part);
                        tokio::task::yield_now().await;
                    }
                    push.finish();
                });
                read
            }
        };
        let (report, outcome) = callback();
        table.append_then(upload, report);
        outcome
    });
    let written = join_all(appends.collect::<Vec<_>>()).await;
    for outcome in written {
        let written = outcome.unwrap().unwrap();
        assert_eq!(written.num_rows, 10);
        assert!(written.version > 1);
    }
    assert_eq!(count(&table, "n >= 0", None).await, 1010);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_writes_nothing_reports_the_cause() {
    let place = Place::with(Durability::Os);
    let table = ten(&place).await;
    let text: ArrayRef = Arc::new(StringArray::from(vec!["one"]));
    let other = RecordBatch::try_from_iter([("n", text)]).unwrap();
    let long = stream(&[numbers(0..100_000)]);
    for (upload, code) in [
        (upload(&other), Code::TableSchemaValidationError),
        (upload_bytes(b"no stream"), Code::InvalidInput),
        (upload_bytes(&[]), Code::InvalidInput),
        (upload_bytes(&long[..long.len() - 100]), Code::InvalidInput),
    ] {
        let (report, outcome) = callback();
        table.append_then(upload, report);
        assert_eq!(outcome.await.unwrap().unwrap_err().code(), code);
    }
    let missing = place.table("none");
    for table in [missing.clone(), missing.on_branch(Some("dev"))] {
        let (report, outcome) = callback();
        table.append_then(upload_numbers(0..1), report);
        assert!(outcome.await.unwrap().is_err());
    }
    assert_eq!(count(&table, "n >= 0", None).await, 10);
}

/// Commits that have threads of their own leave enough for the steps that they wait for.
#[test]
fn many_tables_share_few_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(MAX_COMMIT_WORKERS + 1)
        .build();
    runtime.unwrap().block_on(async {
        let place = Place::with(Durability::Synced);
        let tables = (0..3 * MAX_COMMIT_WORKERS).map(|n| place.table(&n.to_string()));
        let writes = tables.map(|table| async move {
            table.create(upload_numbers(0..1), false).await.unwrap();
            let rounds = (0..4).map(|_| {
                let (report, outcome) = callback();
                table.append_then(upload_numbers(1..3), report);
                outcome
            });
            for written in join_all(rounds).await {
                written.unwrap().unwrap();
            }
            count(&table, "n >= 0", None).await
        });
        let all = join_all(writes.map(tokio::spawn));
        let counts = tokio::time::timeout(Duration::from_secs(120), all).await;
        for count in counts.unwrap() {
            assert_eq!(count.unwrap(), 9);
        }
    });
}
