//! Indexes whose segments workers build.

mod changes;
mod refusals;
mod worker;

use std::sync::Arc;
use std::time::SystemTime;

use arrow::array::{
    ArrayRef, AsArray, FixedSizeListArray, Float32Array, Int64Array, ListBuilder, RecordBatch,
    StringArray, StringBuilder,
};
use arrow::datatypes::{DataType, Field, Int64Type};
use joust_core::index::IndexDescription;
use joust_core::ipc::UploadReader;
use joust_core::jobs::index_build::BuiltIndex;
use joust_core::jobs::remote::RemoteWork;
use joust_core::table::{Attempt, ReadOptions, Update};
use joust_core::{Code, Engine, EngineOptions, Result, Table, WorkContext};
use serde_json::{Value, json};

use crate::nearest::pair::{answer, decode};
use crate::orders::next_order;
use crate::sent::upload;
use worker::{directories, uuids, work};

const FRAGMENT: i64 = 50;
const DIMENSION: i32 = 4;

struct Place {
    table: Table,
    location: String,
    _directory: tempfile::TempDir,
}

impl Place {
    /// Four fragments.
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let location = format!("{}/t.lance", directory.path().display());
        let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
        table.create(rows(0), false).await.unwrap();
        for fragment in 1..4 {
            table.append(rows(fragment * FRAGMENT)).await.unwrap();
        }
        Self {
            table,
            location,
            _directory: directory,
        }
    }
}

fn rows(first: i64) -> UploadReader {
    let ids = first..first + FRAGMENT;
    let mut tags = ListBuilder::new(StringBuilder::new());
    for n in ids.clone() {
        tags.append_value([Some(format!("t{}", n % 9)), Some(format!("t{}", n % 4))]);
    }
    let vectors = Float32Array::from_iter_values(
        ids.clone()
            .flat_map(|n| (0..DIMENSION).map(move |d| (n as f32 + d as f32).sin())),
    );
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let columns: [(&str, ArrayRef); 5] = [
        ("n", Arc::new(Int64Array::from_iter_values(ids.clone()))),
        (
            "kind",
            Arc::new(Int64Array::from_iter_values(ids.clone().map(|n| n % 5))),
        ),
        (
            "name",
            Arc::new(StringArray::from_iter_values(
                ids.map(|n| format!("name {n}")),
            )),
        ),
        ("tags", Arc::new(tags.finish())),
        (
            "vector",
            Arc::new(FixedSizeListArray::new(
                item,
                DIMENSION,
                Arc::new(vectors),
                None,
            )),
        ),
    ];
    upload(&RecordBatch::try_from_iter(columns).unwrap())
}

fn spec(column: &str, kind: &str) -> String {
    let mut spec = json!({ "column": column, "index_type": kind, "name": "i", "replace": true });
    if kind.starts_with("IVF") && kind != "IVF_SQ" {
        spec["num_partitions"] = 2.into();
        spec["sample_rate"] = 16.into();
    }
    spec.to_string()
}

/// Builds with workers. `between` runs with the number of each order, before its last task.
async fn build<F>(table: &Table, spec: &str, between: impl Fn(u64) -> F) -> Result<BuiltIndex>
where
    F: Future<Output = ()>,
{
    let remote = RemoteWork::new(0);
    let context = WorkContext::default();
    tokio::select! {
        built = table.build_index(spec, Some(&remote), &context) => built,
        () = work(remote.clone(), between) => unreachable!(),
    }
}

async fn nothing(_: u64) {}

/// The `n` of the rows that a query finds.
async fn found(table: &Table, query: Value) -> Vec<i64> {
    let answer = decode(&answer(table, &serde_json::to_vec(&query).unwrap()).await);
    let mut found = answer["n"].as_primitive::<Int64Type>().values().to_vec();
    found.sort_unstable();
    found
}

async fn matching(table: &Table, filter: &str) -> Vec<i64> {
    found(
        table,
        json!({ "k": 10_000, "filter": filter, "columns": ["n"] }),
    )
    .await
}

/// All rows that the index reaches, through all partitions.
async fn reached(table: &Table) -> Vec<i64> {
    let query = json!({
        "vector": [0.1, 0.2, 0.3, 0.4], "k": 10_000, "columns": ["n"], "nprobes": 2,
        "fast_search": true,
    });
    found(table, query).await
}

async fn unindexed(table: &Table) -> u64 {
    let found = table.list_indices(ReadOptions::default()).await.unwrap();
    assert_eq!(found.len(), 1);
    found[0].num_unindexed_rows
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_in_segments_equals_one_of_this_process() {
    for (column, kind, filter) in [
        ("n", "BTREE", "n >= 45 AND n < 120"),
        ("kind", "BITMAP", "kind = 3"),
        ("tags", "LABEL_LIST", "array_has_any(tags, ['t7'])"),
        ("n", "ZONEMAP", "n > 130"),
        ("n", "BLOOM_FILTER", "n = 77"),
        ("name", "NGRAM", "contains(name, 'ame 1')"),
        ("vector", "IVF_FLAT", "n >= 0"),
    ] {
        let place = Place::new().await;
        let spec = spec(column, kind);
        let expected = matching(&place.table, filter).await;
        assert!(!expected.is_empty());
        place
            .table
            .create_index(&spec, &WorkContext::default())
            .await
            .unwrap();
        let list = async || {
            place
                .table
                .list_indices(ReadOptions::default())
                .await
                .unwrap()
        };
        let local = list().await.remove(0);
        let built = build(&place.table, &spec, nothing).await.unwrap();
        assert_eq!(built.remote_segments, 4, "{kind}");
        let remote = list().await.remove(0);
        assert_ne!(remote.uuid, local.uuid);
        let shown = |index: &IndexDescription| {
            let mut index = index.clone();
            (index.uuid, index.created_at_millis, index.size_bytes) = Default::default();
            // The order of its members is not fixed.
            let details: Value = serde_json::from_str(&index.details.take().unwrap()).unwrap();
            format!("{index:?} {details}")
        };
        assert_eq!(shown(&remote), shown(&local));
        assert!(remote.size_bytes > Some(0));
        assert_eq!(matching(&place.table, filter).await, expected, "{kind}");
        if kind == "IVF_FLAT" {
            let all: Vec<i64> = (0..4 * FRAGMENT).collect();
            assert_eq!(reached(&place.table).await, all);
        }
        // Beside the index that was replaced, there is no other directory.
        assert_eq!(directories(&place.location).len(), 2, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_appended_deleted_and_updated_meanwhile_are_right() {
    for (column, kind) in [("n", "BTREE"), ("vector", "IVF_FLAT")] {
        let place = Place::new().await;
        let table = &place.table;
        let change = async |order| {
            assert_eq!(order, 1, "{kind}");
            table.append(rows(4 * FRAGMENT)).await.unwrap();
            table.delete("n IN (3, 60)").await.unwrap();
            let set = vec![("n".into(), "n + 1000".into())];
            let predicate = Some("n = 70".into());
            table.update(Update { set, predicate }).await.unwrap();
        };
        build(table, &spec(column, kind), change).await.unwrap();
        assert_eq!(unindexed(table).await, FRAGMENT as u64 + 1);
        let mut expected: Vec<i64> = (0..5 * FRAGMENT).collect();
        expected.retain(|n| ![3, 60, 70].contains(n));
        expected.push(1070);
        assert_eq!(matching(table, "n >= 0").await, expected);
        if kind == "IVF_FLAT" {
            expected.retain(|n| *n < 4 * FRAGMENT);
            assert_eq!(reached(table).await, expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn segments_of_rewritten_fragments_are_built_again() {
    for (column, kind) in [("n", "BTREE"), ("vector", "IVF_FLAT")] {
        let place = Place::new().await;
        let table = &place.table;
        let orders = std::sync::atomic::AtomicU64::new(0);
        let compact = async |order| {
            orders.store(order, std::sync::atomic::Ordering::Relaxed);
            if order == 1 {
                let work = WorkContext::default();
                table.compact(&Default::default(), &work).await.unwrap();
                table.append(rows(4 * FRAGMENT)).await.unwrap();
            }
        };
        build(table, &spec(column, kind), compact).await.unwrap();
        assert_eq!(orders.into_inner(), 2);
        assert_eq!(unindexed(table).await, 0);
        let all: Vec<i64> = (0..5 * FRAGMENT).collect();
        assert_eq!(matching(table, "n >= 0").await, all);
        if kind == "IVF_FLAT" {
            assert_eq!(reached(table).await, all);
        }
        assert_eq!(directories(&place.location), uuids(table).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_a_restore_brings_back_are_indexed() {
    let place = Place::new().await;
    let table = &place.table;
    let before = table
        .describe(ReadOptions::default())
        .await
        .unwrap()
        .version;
    table.delete("n IN (3, 60)").await.unwrap();
    let restore = async |order| {
        if order == 1 {
            table.restore(before).await.unwrap();
            // Other rows of the fragment are deleted later than those.
            table.delete("n = 61").await.unwrap();
        }
    };
    build(table, &spec("n", "BTREE"), restore).await.unwrap();
    assert_eq!(matching(table, "n IN (3, 60, 61)").await, [3, 60]);
    assert_eq!(unindexed(table).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_build_removes_its_segments() {
    let place = Place::new().await;
    let spec = spec("n", "BTREE");
    let remote = RemoteWork::new(0);
    let context = WorkContext::default();
    let delivered = async {
        let (_, order) = next_order(&remote, 0).await;
        for task in &order.tasks[1..] {
            let part = worker::part(&order, task).await;
            assert!(remote.deliver(part).await.unwrap());
        }
    };
    tokio::select! {
        _ = place.table.build_index(&spec, Some(&remote), &context) => unreachable!(),
        () = delivered => {}
    }
    while !directories(&place.location).is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(remote.order().map(|(number, _)| number), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_has_its_own_index() {
    let place = Place::new().await;
    place.table.create_branch("b", None).await.unwrap();
    let branch = place.table.on_branch(Some("b"));
    branch.append(rows(4 * FRAGMENT)).await.unwrap();
    let built = build(&branch, &spec("vector", "IVF_FLAT"), nothing)
        .await
        .unwrap();
    assert_eq!(built.remote_segments, 5);
    let all: Vec<i64> = (0..5 * FRAGMENT).collect();
    assert_eq!(reached(&branch).await, all);
    assert!(uuids(&place.table).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn small_tables_and_other_kinds_stay_in_this_process() {
    let place = Place::new().await;
    let context = WorkContext::default();
    for (column, kind, min_bytes) in [
        ("n", "BTREE", 1 << 30),
        ("name", "FTS", 0),
        ("vector", "IVF_SQ", 0),
        ("name", "FM", 0),
    ] {
        let spec = json!({ "column": column, "index_type": kind, "name": kind }).to_string();
        let remote = RemoteWork::new(min_bytes);
        let built = place
            .table
            .build_index(&spec, Some(&remote), &context)
            .await;
        assert_eq!(built.unwrap().remote_segments, 0, "{kind}");
    }
    assert_eq!(uuids(&place.table).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_was_stopped_in_its_commit_is_not_done_again() {
    let place = Place::new().await;
    let table = place.table.for_request(Attempt {
        id: "job".into(),
        since: Some(SystemTime::now()),
    });
    build(&table, &spec("n", "BTREE"), nothing).await.unwrap();
    let first = uuids(&table).await;
    let again = build(&table, &spec("n", "BTREE"), nothing).await.unwrap();
    assert_eq!(again.remote_segments, 0);
    assert_eq!(uuids(&table).await, first);
    // Without `replace`, another build of that name is refused.
    let spec = json!({ "column": "n", "index_type": "BTREE", "name": "i" }).to_string();
    let error = build(&place.table, &spec, nothing).await.unwrap_err();
    assert_eq!(error.code(), Code::TableIndexAlreadyExists);
}
