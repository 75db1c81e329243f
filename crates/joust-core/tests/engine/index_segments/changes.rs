//! Rows, columns and indexes that other writers replace while workers build segments.

use std::sync::Arc;

use joust_core::jobs::remote::{Part, RemoteWork};
use joust_core::table::NewColumn;
use joust_core::work::{CancellationToken, Progress};
use joust_core::{Code, WorkContext};
use serde_json::{Value, json};

use super::worker::{self, directories, uuids};
use super::{FRAGMENT, Place, build, matching, nothing, reached, rows, spec, unindexed};
use crate::orders::next_order;

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_of_an_earlier_run_is_not_needed_at_a_later_version() {
    let place = Place::new().await;
    let table = &place.table;
    let spec = spec("n", "BTREE");
    let context = WorkContext::default();
    let before = RemoteWork::new(0);
    let first = async {
        let (_, order) = next_order(&before, 0).await;
        worker::part(&order, &order.tasks[0]).await
    };
    let part = tokio::select! {
        _ = table.build_index(&spec, Some(&before), &context) => unreachable!(),
        part = first => part,
    };
    table.append(rows(4 * FRAGMENT)).await.unwrap();
    let after = RemoteWork::new(0);
    let continued = async {
        next_order(&after, 0).await;
        assert!(!after.deliver(part).await.unwrap());
        worker::work(after.clone(), nothing).await;
    };
    let built = tokio::select! {
        built = table.build_index(&spec, Some(&after), &context) => built.unwrap(),
        () = continued => unreachable!(),
    };
    assert_eq!(built.remote_segments, 5);
    assert_eq!(unindexed(table).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overwrite_has_a_model_of_its_own_rows() {
    let place = Place::new().await;
    let table = &place.table;
    let remote = RemoteWork::new(0);
    let overwritten = async {
        let (number, order) = next_order(&remote, 0).await;
        table.overwrite(rows(1000)).await.unwrap();
        table.append(rows(1000 + FRAGMENT)).await.unwrap();
        for task in &order.tasks {
            let part = worker::part(&order, task).await;
            assert!(remote.deliver(part).await.unwrap());
        }
        let (_, next) = next_order(&remote, number).await;
        assert_ne!(next.details["model"], order.details["model"]);
        worker::work(remote.clone(), nothing).await;
    };
    let (spec, context) = (spec("vector", "IVF_FLAT"), WorkContext::default());
    let built = tokio::select! {
        built = table.build_index(&spec, Some(&remote), &context) => built.unwrap(),
        () = overwritten => unreachable!(),
    };
    assert_eq!(built.remote_segments, 2);
    let all: Vec<i64> = (1000..1000 + 2 * FRAGMENT).collect();
    assert_eq!(reached(table).await, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_of_a_table_that_lost_all_rows_stays() {
    for (column, kind) in [("n", "BTREE"), ("vector", "IVF_HNSW_FLAT")] {
        let place = Place::new().await;
        let table = &place.table;
        let spec = spec(column, kind);
        build(table, &spec, nothing).await.unwrap();
        let delete = async |_| {
            table.delete("n >= 0").await.unwrap();
        };
        let built = build(table, &spec, delete).await.unwrap();
        assert_eq!(built.remote_segments, 0, "{kind}");
        assert_eq!(uuids(table).await.len(), 1, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_was_dropped_or_replaced_fails_the_build() {
    for (is_replaced, message) in [(false, "no column"), (true, "was replaced")] {
        let place = Place::new().await;
        let table = &place.table;
        let change = async |_| {
            table.drop_columns(&["kind".to_string()]).await.unwrap();
            if is_replaced {
                let column = NewColumn::Expression {
                    name: "kind".into(),
                    expression: "n".into(),
                };
                table.add_columns(&[column]).await.unwrap();
            }
        };
        let failed = build(table, &spec("kind", "BITMAP"), change).await;
        let error = failed.unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert!(uuids(table).await.is_empty());
        build(table, &spec("n", "BTREE"), nothing).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_was_dropped_before_the_commit_fails_the_build() {
    let place = Place::new().await;
    let dropping = place.table.clone();
    let on_progress = move |progress: Progress| {
        if progress.stage == "merge_segments" {
            let columns = ["kind".to_string()];
            let dropped = dropping.drop_columns(&columns);
            let runtime = tokio::runtime::Handle::current();
            tokio::task::block_in_place(|| runtime.block_on(dropped)).unwrap();
        }
    };
    let context = WorkContext::new(Arc::new(on_progress), CancellationToken::new());
    let (spec, remote) = (spec("kind", "BITMAP"), RemoteWork::new(0));
    let failed = tokio::select! {
        built = place.table.build_index(&spec, Some(&remote), &context) => built,
        () = worker::work(remote.clone(), nothing) => unreachable!(),
    };
    let error = failed.unwrap_err();
    assert_eq!(error.code(), Code::TableColumnNotFound, "{error}");
    assert!(uuids(&place.table).await.is_empty());
    while !directories(&place.location).is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_directory_of_an_index_that_was_committed_meanwhile_stays() {
    let place = Place::new().await;
    let table = &place.table;
    let remote = RemoteWork::new(0);
    let context = WorkContext::default();
    let misled = async {
        let (_, order) = next_order(&remote, 0).await;
        let other = json!({ "column": "n", "index_type": "BTREE", "name": "other" }).to_string();
        table.create_index(&other, &context).await.unwrap();
        let other = uuids(table).await.remove(0);
        let directory = format!("{}/_indices/{other}", place.location);
        let files = std::fs::read_dir(directory).unwrap().map(|file| {
            let file = file.unwrap();
            json!({
                "path": file.file_name().to_str().unwrap(),
                "size": file.metadata().unwrap().len(),
            })
        });
        let files: Value = files.collect();
        for (index, task) in order.tasks.iter().enumerate() {
            let mut part: Part = worker::part(&order, task).await;
            if index == 0 {
                part.result["uuid"] = other.clone().into();
                part.result["files"] = files.clone();
            }
            assert!(remote.deliver(part).await.unwrap());
        }
        worker::work(remote.clone(), nothing).await;
    };
    let spec = spec("n", "BTREE");
    tokio::select! {
        built = table.build_index(&spec, Some(&remote), &context) => built.unwrap(),
        () = misled => unreachable!(),
    };
    let named = uuids(table).await;
    assert_eq!(named.len(), 2);
    let found = directories(&place.location);
    assert!(named.iter().all(|one| found.contains(one)));
    assert_eq!(matching(table, "n = 3").await, [3]);
}
