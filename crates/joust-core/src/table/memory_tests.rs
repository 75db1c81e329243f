//! Requests that wait for memory, and the locks and memory that they hold meanwhile.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use tokio::task::{JoinHandle, yield_now};

use crate::engine::{Engine, EngineOptions};
use crate::error::Error;
use crate::ipc::{UploadReader, sent};
use crate::jobs::backfill::Backfill;
use crate::memory::{Reservation, Use};
use crate::table::{Alteration, CloneSource, Merge, NewColumn, ReadOptions, Table, Update};
use crate::trace::{CallTrace, install};
use crate::work::WorkContext;

/// A table of three rows, and its directory.
async fn table() -> (Table, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let location = place.path().join("t.lance").display().to_string();
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    table.create(rows(&table), false).await.unwrap();
    (table, place)
}

fn rows(table: &Table) -> UploadReader {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(1..4));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    sent(table.tables().memory(), &batch)
}

/// Reserves all free memory.
fn all(table: &Table) -> Reservation {
    let memory = table.tables().memory();
    let taken = memory.usage().taken;
    let taken = taken.uploads + taken.queries + taken.changes + taken.jobs;
    let left = memory.budget().work - taken as usize;
    memory.try_take(Use::Query, left).unwrap()
}

fn waiting(table: &Table) -> u64 {
    table.tables().memory().usage().waiting
}

fn changes(table: &Table) -> u64 {
    table.tables().memory().usage().taken.changes
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let met = async {
        while !condition() {
            yield_now().await;
        }
    };
    // Less than the longest wait of a request for memory.
    let met = tokio::time::timeout(Duration::from_secs(4), met).await;
    assert!(met.is_ok(), "{what}");
}

fn start<T, W>(table: &Table, work: impl FnOnce(Table) -> W) -> JoinHandle<Result<T, Error>>
where
    T: Send + 'static,
    W: Future<Output = Result<T, Error>> + Send + 'static,
{
    tokio::spawn(work(table.clone()))
}

async fn plus_one(table: Table) -> Result<u64, Error> {
    let update = Update {
        set: vec![("n".into(), "n + 1".into())],
        predicate: None,
    };
    Ok(table.update(update).await?.num_updated_rows)
}

async fn delete_none(table: Table) -> Result<u64, Error> {
    Ok(table.delete("n < 0").await?.num_deleted_rows)
}

async fn merge(table: Table, rows: UploadReader) -> Result<u64, Error> {
    let merge = Merge {
        on: vec!["n".into()],
        when_matched_update_all: true,
        when_not_matched_insert_all: true,
        ..Merge::default()
    };
    Ok(table.merge_insert(rows, merge).await?.num_rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_wait_for_memory_do_not_hold_the_change_lock() {
    let (table, _place) = table().await;
    let upload = rows(&table);
    let held = all(&table);
    let update = start(&table, plus_one);
    let delete = start(&table, delete_none);
    let merge = start(&table, |table| merge(table, upload));
    until("all wait at the same time", || waiting(&table) == 3).await;
    let lock = table.handle.changing.try_lock();
    assert!(lock.is_ok(), "no change holds the lock");
    drop(lock);
    drop(held);
    assert_eq!(update.await.unwrap().unwrap(), 3);
    assert_eq!(delete.await.unwrap().unwrap(), 0);
    assert_eq!(merge.await.unwrap().unwrap(), 3);
    assert_eq!((waiting(&table), changes(&table)), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_waits_for_the_change_lock_holds_no_memory() {
    let (table, _place) = table().await;
    let held = all(&table);
    let update = start(&table, plus_one);
    until("it waits for memory", || waiting(&table) == 1).await;
    let lock = table.handle.changing.lock().await;
    drop(held);
    until("it has given the memory back", || {
        waiting(&table) == 0 && changes(&table) == 0
    })
    .await;
    assert!(!update.is_finished());
    drop(lock);
    assert_eq!(update.await.unwrap().unwrap(), 3);
}

fn alteration(path: &str, rename: Option<&str>, data_type: Option<&str>) -> Alteration {
    Alteration {
        path: path.into(),
        rename: rename.map(Into::into),
        nullable: None,
        data_type: data_type.map(Into::into),
    }
}

/// Reads and writes of rows reserve memory.
#[tokio::test(flavor = "multi_thread")]
async fn columns_wait_for_memory_that_their_values_need() {
    let (table, _place) = table().await;
    let held = all(&table);
    let null = NewColumn::null("empty", r#""int64""#, Default::default(), Vec::new()).unwrap();
    table.add_columns(&[null]).await.unwrap();
    let rename = alteration("empty", Some("blank"), None);
    table.alter_columns(&[rename]).await.unwrap();
    let add = start(&table, |table| async move {
        let column = NewColumn::Expression {
            name: "m".into(),
            expression: "n + 1".into(),
        };
        table.add_columns(&[column]).await
    });
    until("an expression waits", || waiting(&table) == 1).await;
    let cast = start(&table, |table| async move {
        let cast = alteration("n", None, Some(r#""float64""#));
        table.alter_columns(&[cast]).await
    });
    until("a cast waits", || waiting(&table) == 2).await;
    drop(held);
    // One of them may conflict with the other.
    let done = [add.await.unwrap(), cast.await.unwrap()];
    assert!(done.iter().any(Result::is_ok), "{done:?}");
    assert_eq!((waiting(&table), changes(&table)), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_waits_for_memory() {
    let (table, _place) = table().await;
    table.create_branch("dev", None).await.unwrap();
    let dev = table.on_branch(Some("dev"));
    let column = NewColumn::Expression {
        name: "m".into(),
        expression: "n + 1".into(),
    };
    let version = dev.add_columns(&[column]).await.unwrap();
    let held = all(&table);
    let promote = start(&table, move |table| async move {
        let columns = ["m".to_string()];
        table.promote_columns("dev", &columns, 1, version).await
    });
    until("it waits", || waiting(&table) == 1).await;
    drop(held);
    assert_eq!(promote.await.unwrap().unwrap(), 2);
    assert_eq!((waiting(&table), changes(&table)), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_between_stores_waits_for_memory() {
    let (table, place) = table().await;
    let held = all(&table);
    let engine = table.tables();
    let local = format!("{}/copy.lance", place.path().display());
    let local = engine.table(&local, Default::default());
    let copied = local.clone_from(&table, CloneSource::default()).await;
    assert!(copied.is_ok(), "{copied:?}");
    let elsewhere = engine.table("memory://copy.lance", Default::default());
    let from = table.newest().await.unwrap();
    let take = start(
        &table,
        |_| async move { elsewhere.memory_for_copy(&from).await },
    );
    until("it waits", || waiting(&table) == 1).await;
    drop(held);
    assert!(take.await.unwrap().unwrap().is_some());
}

/// It plans the column again only if the table has changed meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_computes_the_column_that_the_table_has_after_its_wait() {
    install();
    for (then, now, plans) in [("n + 1", "n + 1", 1), ("n + 1", "n * 10", 2)] {
        let (table, _place) = table().await;
        let declare = async |expression: &str| {
            let column = NewColumn::Computed {
                name: "m".into(),
                expression: expression.into(),
                metadata: Default::default(),
            };
            table.add_columns(&[column]).await.unwrap();
        };
        declare(then).await;
        let held = all(&table);
        let trace = CallTrace::new();
        let backfill = start(&table, |table| {
            trace.run(async move {
                let backfill = Backfill {
                    column: "m".into(),
                    ..Backfill::default()
                };
                table.backfill(&backfill, &WorkContext::default()).await
            })
        });
        until("it waits", || waiting(&table) == 1).await;
        if now != then {
            table.drop_columns(&["m".into()]).await.unwrap();
            declare(now).await;
        }
        drop(held);
        assert_eq!(backfill.await.unwrap().unwrap().rows_assigned, 3);
        let is_computed = format!("m = {now}");
        let computed = table.count_rows(Some(&is_computed), ReadOptions::default());
        assert_eq!(computed.await.unwrap(), 3);
        let spans = trace.end();
        let planned = spans.iter().filter(|span| span.name == "plan").count();
        assert_eq!(planned, plans, "{now}");
    }
}
