//! Row filters on tables that other programs have written: with and without stable row ids.

use std::sync::Arc;

use arrow::array::RecordBatchIterator;
use arrow::array::{ArrayRef, AsArray, FixedSizeListArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Float32Type, Int64Type};
use joust_core::ipc::Format;
use joust_core::query::QueryOptions;
use joust_core::table::{Merge, ReadOptions, Update};
use joust_core::{Code, Engine, EngineOptions, RowFilter, Table, WorkContext};
use lance::Dataset;
use lance::dataset::{WriteMode, WriteParams};
use serde_json::{Value, json};

use crate::sent::upload;

/// Tenants `a`, `b` and none in turn.
fn rows(ids: std::ops::Range<i64>) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(ids.clone()));
    let tenants = ids
        .clone()
        .map(|id| [Some("a"), Some("b"), None][(id % 3) as usize]);
    let tenants: ArrayRef = Arc::new(StringArray::from_iter(tenants));
    let texts = ids.clone().map(|id| format!("word{id} common"));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let vectors = ids.map(|id| Some([Some(id as f32), Some(1.0)]));
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2);
    RecordBatch::try_from_iter_with_nullable([
        ("id", numbers, true),
        ("tenant", tenants, true),
        ("text", texts, true),
        ("vector", Arc::new(vectors) as ArrayRef, true),
    ])
    .unwrap()
}

/// Thirty rows in three fragments, in which every fifth row is deleted.
async fn table(directory: &tempfile::TempDir, stable: bool) -> Table {
    let location = format!("{}/t.lance", directory.path().display());
    for (number, ids) in [0..10, 10..20, 20..30].into_iter().enumerate() {
        let batch = rows(ids);
        let schema = batch.schema();
        let params = WriteParams {
            enable_stable_row_ids: stable,
            mode: match number {
                0 => WriteMode::Create,
                _ => WriteMode::Append,
            },
            ..WriteParams::default()
        };
        let batches = RecordBatchIterator::new([Ok(batch)], schema);
        Dataset::write(batches, &location, Some(params))
            .await
            .unwrap();
    }
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    table.delete("id % 5 = 0").await.unwrap();
    table
}

fn of_tenant(table: &Table) -> Table {
    table.with_rows(RowFilter::any(&["tenant = 'a'".to_string()]).unwrap())
}

fn options() -> QueryOptions {
    QueryOptions {
        id: vec!["t".into()],
        format: Format::File,
        not_before: None,
        min_version: None,
        timeout: None,
    }
}

async fn ids(table: &Table, query: &Value) -> Vec<i64> {
    let body = serde_json::to_vec(query).unwrap();
    let mut answer = table.query(&body, options()).await.unwrap();
    let mut bytes = answer.first().await.unwrap();
    while let Some(part) = answer.next().await.unwrap() {
        bytes.extend(part);
    }
    let reader = arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None);
    let mut ids: Vec<i64> = reader
        .unwrap()
        .flat_map(|batch| {
            let batch = batch.unwrap();
            let ids = batch.column_by_name("id").unwrap();
            ids.as_primitive::<Int64Type>().values().to_vec()
        })
        .collect();
    ids.sort_unstable();
    ids
}

/// The rows of tenant `a` that are left.
fn visible() -> Vec<i64> {
    (0..30).filter(|id| id % 3 == 0 && id % 5 != 0).collect()
}

async fn check_reads(table: &Table, expected: &[i64]) {
    let own = of_tenant(table);
    let all = json!({ "k": 100, "columns": ["id"] });
    assert_eq!(ids(&own, &all).await, expected);
    let condition = json!({ "k": 100, "filter": "id > 10 OR id IS NULL", "columns": ["id"] });
    let above: Vec<i64> = expected.iter().copied().filter(|id| *id > 10).collect();
    assert_eq!(ids(&own, &condition).await, above);
    let near = json!({ "k": 3, "vector": [0.0, 1.0], "nprobes": 8, "columns": ["id"] });
    assert_eq!(ids(&own, &near).await, &expected[..3]);
    let text = json!({
        "k": 100, "columns": ["id"],
        "full_text_query": { "string_query": { "query": "common", "columns": ["text"] } },
    });
    assert_eq!(ids(&own, &text).await, expected);
    let count = own.count_rows(None, ReadOptions::default()).await.unwrap();
    assert_eq!(count, expected.len() as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_holds_with_and_without_stable_row_ids() {
    for stable in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let table = table(&directory, stable).await;
        let text = json!({ "column": "text", "index_type": "INVERTED" }).to_string();
        table
            .create_index(&text, &WorkContext::default())
            .await
            .unwrap();
        // Without and with indexes on the other columns, repeatedly: rows come into memory by use.
        for round in 0..2 {
            for _ in 0..3 {
                check_reads(&table, &visible()).await;
            }
            if round == 1 {
                break;
            }
            for spec in [
                json!({ "column": "tenant", "index_type": "BITMAP" }),
                json!({ "column": "vector", "index_type": "IVF_FLAT", "num_partitions": 2 }),
            ] {
                let spec = spec.to_string();
                table
                    .create_index(&spec, &WorkContext::default())
                    .await
                    .unwrap();
            }
        }
        // More deletions, and fragments that move rows: the old addresses are those of other rows.
        table.delete("id = 3").await.unwrap();
        let work = WorkContext::default();
        table.compact(&Default::default(), &work).await.unwrap();
        let left: Vec<i64> = visible().into_iter().filter(|id| *id != 3).collect();
        check_reads(&table, &left).await;
        check_writes(&table, &left).await;
    }
}

async fn check_writes(table: &Table, left: &[i64]) {
    let own = of_tenant(table);
    let hidden =
        json!({ "k": 100, "filter": "tenant IS NULL OR tenant <> 'a'", "columns": ["id"] });
    let before = ids(table, &hidden).await;
    let update = Update {
        set: vec![("text".into(), "'changed'".into())],
        predicate: None,
    };
    assert_eq!(
        own.update(update).await.unwrap().num_updated_rows,
        left.len() as u64
    );
    let merge = Merge {
        on: vec!["id".into()],
        when_matched_update_all: true,
        when_not_matched_insert_all: true,
        ..Merge::default()
    };
    // One row is visible, one is hidden, and one is new.
    let tenants: ArrayRef = Arc::new(StringArray::from(vec!["a"; 3]));
    let source = rows(0..3);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![6, 7, 99]));
    let columns = vec![
        numbers,
        tenants,
        source.column(2).clone(),
        source.column(3).clone(),
    ];
    let source = RecordBatch::try_new(source.schema(), columns).unwrap();
    let merged = own
        .merge_insert(upload(&source), merge.clone())
        .await
        .unwrap();
    assert_eq!((merged.num_updated_rows, merged.num_inserted_rows), (1, 2));
    let refused = own
        .merge_insert(upload(&rows(0..3)), merge)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(own.delete("id > 20").await.unwrap().num_deleted_rows, {
        left.iter().filter(|id| **id > 20).count() as u64 + 1
    });
    assert_eq!(ids(table, &hidden).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_holds_on_a_branch() {
    let directory = tempfile::tempdir().unwrap();
    let table = table(&directory, true).await;
    table.create_branch("side", None).await.unwrap();
    let branch = table.on_branch(Some("side"));
    branch.delete("id < 10").await.unwrap();
    table.delete("id > 20").await.unwrap();
    let of = |range: std::ops::Range<i64>| -> Vec<i64> {
        visible()
            .into_iter()
            .filter(|id| range.contains(id))
            .collect()
    };
    check_reads(&branch, &of(10..30)).await;
    check_reads(&table, &of(0..21)).await;
    let own = of_tenant(&table).on_branch(Some("side"));
    let all = json!({ "k": 100, "columns": ["id"] });
    assert_eq!(ids(&own, &all).await, of(10..30));
    assert_eq!(
        own.delete("true").await.unwrap().num_deleted_rows,
        of(10..30).len() as u64
    );
    assert_eq!(ids(&own, &all).await, Vec::<i64>::new());
    let rest = branch
        .count_rows(None, ReadOptions::default())
        .await
        .unwrap();
    assert_eq!(
        rest,
        (10..30).filter(|id| id % 5 != 0 && id % 3 != 0).count() as u64
    );
    check_reads(&table, &of(0..21)).await;
}
