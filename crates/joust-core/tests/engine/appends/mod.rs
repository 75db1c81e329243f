//! What appends promise when many arrive at once: each row once, each answer true, each failure alone.

#![allow(clippy::unwrap_used)]

mod outcomes;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use futures::future::join_all;
use joust_core::table::{Alteration, Merge, NewColumn, ReadOptions, Update};
use joust_core::{Code, Durability, Table};

use crate::long::Long;
use crate::place::Place;
use crate::sent::{numbers, upload, upload_numbers};

/// A table of the numbers 0 to 9.
async fn ten(place: &Place) -> Table {
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();
    table
}

async fn count(table: &Table, predicate: &str, version: Option<u64>) -> u64 {
    let options = ReadOptions {
        version,
        ..ReadOptions::default()
    };
    table.count_rows(Some(predicate), options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_that_arrive_together_share_versions_and_keep_every_row_once() {
    for durability in [Durability::Os, Durability::Synced] {
        let place = Place::with(durability);
        let table = ten(&place).await;
        let appends = (1..=200).map(|client: i64| {
            let table = table.clone();
            tokio::spawn(async move {
                let rows = numbers(client * 10..client * 10 + 10);
                (client, table.append(upload(&rows)).await.unwrap())
            })
        });
        let mut versions = HashSet::new();
        for answer in join_all(appends).await {
            let (client, written) = answer.unwrap();
            assert_eq!(written.num_rows, 10);
            versions.insert(written.version);
            let own = format!("n >= {} AND n < {}", client * 10, client * 10 + 10);
            assert_eq!(count(&table, &own, Some(written.version)).await, 10);
            assert_eq!(count(&table, &own, Some(written.version - 1)).await, 0);
        }
        assert_eq!(count(&table, "true", None).await, 2010);
        assert!(
            versions.len() < 100,
            "200 appends made {} versions",
            versions.len()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_upload_fails_alone() {
    let place = Place::with(Durability::Os);
    let table = place.table("strict");
    let strict = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
    let first = RecordBatch::try_new(strict, vec![Arc::new(Int64Array::from(vec![0]))]).unwrap();
    table.create(upload(&first), false).await.unwrap();

    // Says that it may hold nulls, as its good neighbours do, and does.
    let holed: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None]));
    let holed = RecordBatch::try_from_iter_with_nullable([("n", holed, true)]).unwrap();
    let nullable = |n: i64| {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![n]));
        RecordBatch::try_from_iter_with_nullable([("n", values, true)]).unwrap()
    };
    let words: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let wrong_type = RecordBatch::try_from_iter([("n", words.clone())]).unwrap();
    let unknown_column = RecordBatch::try_from_iter([("m", words)]).unwrap();

    let appends = (0..60).map(|client: i64| {
        let table = table.clone();
        let batch = match client % 10 {
            3 => holed.clone(),
            5 => wrong_type.clone(),
            7 => unknown_column.clone(),
            _ => nullable(100 + client),
        };
        tokio::spawn(async move { (client, table.append(upload(&batch)).await) })
    });
    for answer in join_all(appends).await {
        let (client, answer) = answer.unwrap();
        match client % 10 {
            3 | 5 | 7 => {
                let code = answer.unwrap_err().code();
                assert!(
                    matches!(code, Code::TableSchemaValidationError | Code::InvalidInput),
                    "client {client}: {code:?}"
                );
            }
            _ => assert_eq!(answer.unwrap().num_rows, 1),
        }
    }
    assert_eq!(count(&table, "n >= 100", None).await, 42);
    assert_eq!(count(&table, "true", None).await, 43);
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_updates_deletes_and_merges_at_once_lose_nothing() {
    let place = Place::with(Durability::Os);
    let table = ten(&place).await;
    let mut work = Vec::new();
    for client in 1..=40_i64 {
        let table = table.clone();
        work.push(tokio::spawn(async move {
            match client % 4 {
                // Each changes the one row of the first ten that is its own.
                0 => {
                    let set = vec![("n".to_string(), (1000 + client).to_string())];
                    let predicate = Some(format!("n = {}", client / 4 - 1));
                    let updated = table.update(Update { set, predicate }).await.unwrap();
                    assert_eq!(updated.num_updated_rows, 1);
                }
                1 => {
                    let merge = Merge {
                        on: vec!["n".into()],
                        when_not_matched_insert_all: true,
                        ..Merge::default()
                    };
                    let rows = numbers(2000 + client..2001 + client);
                    let merged = table.merge_insert(upload(&rows), merge).await.unwrap();
                    assert_eq!(merged.num_inserted_rows, 1);
                }
                _ => {
                    let rows = numbers(client * 10_000..client * 10_000 + 5);
                    table.append(upload(&rows)).await.unwrap();
                    let deleted = table.delete(&format!("n = {}", client * 10_000)).await;
                    assert_eq!(deleted.unwrap().num_deleted_rows, 1);
                }
            }
        }));
    }
    for done in join_all(work).await {
        done.unwrap();
    }
    assert_eq!(count(&table, "n < 10", None).await, 0);
    assert_eq!(count(&table, "n > 1000 AND n < 2000", None).await, 10);
    assert_eq!(count(&table, "n >= 2000 AND n < 3000", None).await, 10);
    assert_eq!(count(&table, "n >= 10000", None).await, 20 * 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_of_parts_of_the_columns_and_long_ones_share_a_table() {
    let place = Place::with(Durability::Os);
    let table = place.table("wide");
    let column =
        |value: i64, rows: usize| Arc::new(Int64Array::from(vec![value; rows])) as ArrayRef;
    let both = |value, rows| {
        let columns = [
            ("a", column(value, rows), true),
            ("b", column(value, rows), true),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    table.create(upload(&both(0, 1)), false).await.unwrap();
    let only_a = RecordBatch::try_from_iter_with_nullable([("a", column(1, 3), true)]).unwrap();
    let only_b = RecordBatch::try_from_iter_with_nullable([("b", column(2, 5), true)]).unwrap();
    let long = both(3, 400_000);
    let appends = (0..30).map(|client| {
        let table = table.clone();
        let batch = match client % 3 {
            0 => only_a.clone(),
            1 => only_b.clone(),
            _ if client == 2 => long.clone(),
            _ => both(4, 2),
        };
        tokio::spawn(async move { table.append(upload(&batch)).await.unwrap() })
    });
    for written in join_all(appends).await {
        written.unwrap();
    }
    assert_eq!(count(&table, "a = 1 AND b IS NULL", None).await, 30);
    assert_eq!(count(&table, "b = 2 AND a IS NULL", None).await, 50);
    assert_eq!(count(&table, "a = 3 AND b = 3", None).await, 400_000);
    assert_eq!(count(&table, "a = 4 AND b = 4", None).await, 18);
}

/// The next rows are written while those before them are committed, and columns change in between.
#[tokio::test(flavor = "multi_thread")]
async fn appends_that_follow_one_another_keep_every_row_once_while_columns_come_and_go() {
    const CLIENTS: i64 = 4;
    const EACH: i64 = 25;
    /// Who changes columns loses against rows that were added meanwhile.
    const PAUSE: Duration = Duration::from_millis(40);
    let place = Place::with(Durability::Os);
    let table = place.table("open");
    let rows = |from: i64| {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(from..from + 3));
        RecordBatch::try_from_iter_with_nullable([("n", values, true)]).unwrap()
    };
    table.create(upload(&rows(-3)), false).await.unwrap();
    let clients = (0..CLIENTS).map(|client| {
        let table = table.clone();
        tokio::spawn(async move {
            for turn in 0..EACH {
                let from = (client * EACH + turn) * 3;
                let written = table.append(upload(&rows(from))).await.unwrap();
                let own = format!("n >= {from} AND n < {}", from + 3);
                assert_eq!(count(&table, &own, Some(written.version)).await, 3);
                assert_eq!(count(&table, &own, Some(written.version - 1)).await, 0);
                tokio::time::sleep(PAUSE).await;
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    let (changer, stopped) = (table.clone(), Arc::new(AtomicBool::new(false)));
    let stop = stopped.clone();
    let changes = tokio::spawn(async move {
        let mut made = 0_u64;
        while made == 0 || !stop.load(Ordering::Relaxed) {
            let twice = NewColumn::Expression {
                name: "twice".into(),
                expression: "n * 2".into(),
            };
            if changer.add_columns(&[twice]).await.is_err() {
                continue;
            }
            // A client that knows of the column may use it.
            let both = ["n", "twice"].map(|name| {
                let values: ArrayRef = Arc::new(Int64Array::from(vec![-10]));
                (name, values, true)
            });
            let both = RecordBatch::try_from_iter_with_nullable(both).unwrap();
            let written = changer.append(upload(&both)).await.unwrap();
            assert_eq!(
                count(&changer, "twice = -10", Some(written.version)).await,
                1
            );
            made += 1;
            while changer.drop_columns(&["twice".into()]).await.is_err() {}
        }
        made
    });
    for client in clients {
        client.await.unwrap();
    }
    stopped.store(true, Ordering::Relaxed);
    let changes = changes.await.unwrap();
    let stored = (1 + CLIENTS * EACH) as u64 * 3 + changes;
    assert_eq!(count(&table, "n IS NOT NULL", None).await, stored);
    assert_eq!(count(&table, "true", None).await, stored);
}

fn new_column(name: &str, expression: &str) -> NewColumn {
    NewColumn::Expression {
        name: name.into(),
        expression: expression.into(),
    }
}

/// Columns `n` and `m`.
fn two(range: std::ops::Range<i64>) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    RecordBatch::try_from_iter([("n", numbers.clone()), ("m", numbers)]).unwrap()
}

/// However slow the client is that sends the rows.
#[tokio::test(flavor = "multi_thread")]
async fn an_overwrite_blocks_no_other_write_until_its_upload_has_ended() {
    for durability in [Durability::Os, Durability::Synced] {
        let place = Place::with(durability);
        let table = ten(&place).await;
        let rows = numbers(100..100_100);
        let (long, read) = Long::of(&rows);
        let replacing = tokio::spawn({
            let table = table.clone();
            async move { table.overwrite(read).await }
        });
        long.begin().await;
        table.append(upload_numbers(10..20)).await.unwrap();
        table.delete("n < 5").await.unwrap();
        assert_eq!(count(&table, "true", None).await, 15);
        long.end();
        let replaced = replacing.await.unwrap().unwrap();
        assert_eq!(count(&table, "true", None).await, replaced.num_rows);
        assert_eq!(count(&table, "n < 100", None).await, 0);
        table.append(upload_numbers(0..1)).await.unwrap();
        assert_eq!(count(&table, "n < 100", None).await, 1);
    }
}

/// Files name columns by numbers, and a column of another type has another number.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_were_written_for_other_columns_are_not_committed() {
    for alteration in ["cast", "replace", "declare"] {
        let place = Place::with(Durability::Os);
        let table = ten(&place).await;
        table
            .add_columns(&[new_column("m", "n + 1")])
            .await
            .unwrap();
        let (long, read) = Long::of(&two(0..100_000));
        let appending = tokio::spawn({
            let table = table.clone();
            async move { table.append(read).await }
        });
        long.begin().await;
        match alteration {
            "cast" => {
                let cast = Alteration {
                    path: "m".into(),
                    rename: None,
                    nullable: None,
                    data_type: Some("{\"type\":\"int32\"}".into()),
                };
                table.alter_columns(&[cast]).await.unwrap();
            }
            _ => {
                table.drop_columns(&["m".into()]).await.unwrap();
                let other = match alteration {
                    "replace" => new_column("o", "n * 2"),
                    _ => {
                        NewColumn::null("o", r#""int64""#, Default::default(), Vec::new()).unwrap()
                    }
                };
                table.add_columns(&[other]).await.unwrap();
            }
        }
        long.end();
        let refused = appending.await.unwrap().unwrap_err();
        assert_eq!(refused.code(), Code::ConcurrentModification, "{alteration}");
        assert_eq!(count(&table, "n >= 0", None).await, 10, "{alteration}");
    }
}
