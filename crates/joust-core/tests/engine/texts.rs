//! Searches of texts through Lance's own index, after rows were deleted and compacted away.
//!
//! With stable row ids such an index keeps the rows, which match better here than all that are left.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{Float32Type, Int64Type};
use joust_core::ipc::Format;
use joust_core::query::QueryOptions;
use joust_core::table::Update;
use joust_core::{Engine, EngineOptions, Table, WorkContext, ipc};
use serde_json::{Value, json};

use crate::sent::upload;

/// The rows that stay: every third one. All others match better.
fn stays(id: i64) -> bool {
    id % 3 == 0
}

fn rows(ids: std::ops::Range<i64>) -> ipc::UploadReader {
    let title = |id| match stays(id) {
        true => format!("apple pie of the garden number {id}, with cream"),
        false => "apple pie".to_string(),
    };
    let body = |id| match id % 2 {
        0 => "sour cherry juice",
        _ => "sweet apple juice",
    };
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(ids.clone()));
    let groups: ArrayRef = Arc::new(Int64Array::from_iter_values(ids.clone().map(|id| id % 4)));
    let titles: ArrayRef = Arc::new(StringArray::from_iter_values(ids.clone().map(title)));
    let bodies: ArrayRef = Arc::new(StringArray::from_iter_values(ids.clone().map(body)));
    let vectors = ids.map(|id| Some([Some(id as f32), Some(1.0)]));
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2);
    let batch = RecordBatch::try_from_iter([
        ("id", numbers),
        ("group", groups),
        ("title", titles),
        ("body", bodies),
        ("vector", Arc::new(vectors) as ArrayRef),
    ])
    .unwrap();
    upload(&batch)
}

/// Sixty rows of which twenty are left, and the directory they are in.
async fn table() -> (Table, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    table.create(rows(0..30), false).await.unwrap();
    table.append(rows(30..60)).await.unwrap();
    for (column, kind) in [
        ("title", "INVERTED"),
        ("body", "INVERTED"),
        ("group", "BTREE"),
    ] {
        let spec = json!({
            "column": column, "index_type": kind, "with_position": true, "stem": false,
        });
        let spec = spec.to_string();
        table
            .create_index(&spec, &WorkContext::default())
            .await
            .unwrap();
    }
    table.delete("id % 3 != 0").await.unwrap();
    let work = WorkContext::default();
    let compacted = table.compact(&Default::default(), &work).await.unwrap();
    assert!(compacted.published_version.is_some());
    (table, directory)
}

/// The ids of the rows that a query finds, in no order; what it says when it fails.
async fn found(table: &Table, query: &Value) -> Result<Vec<i64>, String> {
    let options = QueryOptions {
        id: vec!["t".into()],
        format: Format::File,
        not_before: None,
        min_version: None,
        timeout: None,
    };
    let said = |error: joust_core::Error| format!("{error:?}");
    let body = serde_json::to_vec(query).unwrap();
    let mut answer = table.query(&body, options).await.map_err(said)?;
    let mut bytes = answer.first().await.map_err(said)?;
    while let Some(part) = answer.next().await.map_err(said)? {
        bytes.extend(part);
    }
    let reader = arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None);
    let batches = reader.unwrap().map(Result::unwrap);
    Ok(batches
        .flat_map(|batch| {
            let ids = batch.column_by_name("id").unwrap();
            assert_eq!(ids.null_count(), 0);
            ids.as_primitive::<Int64Type>().values().to_vec()
        })
        .collect())
}

/// What is searched for, and which of the rows that stay match.
type Search = (Value, fn(i64) -> bool);

fn searches() -> Vec<Search> {
    let title = || json!({ "match": { "column": "title", "terms": "apple", "fuzziness": 0 } });
    let pie = || json!({ "match": { "column": "title", "terms": "pie", "fuzziness": 0 } });
    let cherry = || json!({ "match": { "column": "body", "terms": "cherry", "fuzziness": 0 } });
    let any: fn(i64) -> bool = |_| true;
    let odd: fn(i64) -> bool = |id| id % 2 == 1;
    let words = json!({ "query": "apple", "columns": ["title", "body"] });
    vec![
        (title(), any),
        (
            // Lance corrects a word in the index only, which the later rows are not in.
            json!({ "match": { "column": "title", "terms": "aple", "fuzziness": 1 } }),
            |id| id < 60,
        ),
        (
            json!({ "phrase": { "column": "title", "terms": "apple pie" } }),
            any,
        ),
        (
            json!({ "boolean": { "must": [title()], "should": [pie()] } }),
            any,
        ),
        (
            json!({ "boolean": { "must": [title()], "must_not": [cherry()] } }),
            odd,
        ),
        (json!({ "boolean": { "should": [title(), cherry()] } }), any),
        (
            json!({ "boolean": { "must": [
                title(), { "phrase": { "column": "body", "terms": "sweet apple" } },
            ] } }),
            odd,
        ),
        (
            json!({ "boost": { "positive": title(), "negative": pie(), "negative_boost": 0.5 } }),
            any,
        ),
        (
            json!({ "boost": { "positive": title(), "negative": cherry(), "negative_boost": 0.5 } }),
            any,
        ),
        (json!({ "multi_match": words }), any),
        (json!({ "combined_fields": words }), any),
    ]
}

/// Every search, with filters of all kinds, for all rows and for fewer than are gone.
async fn check(table: &Table, ids: std::ops::Range<i64>) {
    type Filter = (Option<&'static str>, fn(i64) -> bool);
    let filters: [Filter; 3] = [
        (None, |_| true),
        (Some("id >= 30"), |id| id >= 30),
        // An index answers it, which holds rows that are gone too.
        (Some("`group` = 1"), |id| id % 4 == 1),
    ];
    let mut failed = Vec::new();
    for (text, matches) in searches() {
        for (filter, passes) in filters {
            let expected = ids.clone().filter(|id| stays(*id) && matches(*id));
            let expected: BTreeSet<i64> = expected.filter(|id| passes(*id)).collect();
            for (k, prefilter) in [(1_000, true), (1_000, false), (3, true)] {
                let query = json!({
                    "k": k, "columns": ["id"], "full_text_query": { "query": text },
                    "filter": filter, "prefilter": prefilter,
                });
                let found = found(table, &query).await;
                let is_right = found.as_ref().is_ok_and(|found| {
                    let different: BTreeSet<i64> = found.iter().copied().collect();
                    different.len() == found.len()
                        && found.len() == expected.len().min(k)
                        && different.is_subset(&expected)
                });
                if !is_right {
                    failed.push(format!("{query}\n{found:?} of {expected:?}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[tokio::test]
async fn rows_that_a_compaction_has_removed_are_not_found_in_the_place_of_others() {
    let (table, _directory) = table().await;
    check(&table, 0..60).await;
    // What no index covers yet is searched beside it.
    table.append(rows(60..66)).await.unwrap();
    table.delete("id IN (61, 62, 64, 65)").await.unwrap();
    check(&table, 0..66).await;
}

#[tokio::test]
async fn the_texts_of_a_hybrid_search_are_those_of_the_table() {
    let (table, _directory) = table().await;
    let query = json!({
        "k": 5, "columns": ["id"], "vector": [59.0, 1.0], "vector_column": "vector",
        "full_text_query": { "query": { "match": { "column": "title", "terms": "apple" } } },
    });
    let found = found(&table, &query).await.unwrap();
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|id| stays(*id)), "{found:?}");
}

/// How many rows are found by a word of their titles.
async fn by_word(table: &Table, word: &str) -> usize {
    let query = json!({
        "k": 1_000, "columns": ["id"],
        "full_text_query": { "query": { "match": { "column": "title", "terms": word, "fuzziness": 0 } } },
    });
    found(table, &query).await.unwrap().len()
}

#[tokio::test]
async fn changed_rows_are_found_by_what_they_say_now() {
    let (table, _directory) = table().await;
    let optimize_indices = || async {
        table
            .optimize_indices(&WorkContext::default())
            .await
            .unwrap()
    };
    table.append(rows(60..90)).await.unwrap();
    optimize_indices().await;
    let before = by_word(&table, "pie").await;
    let change = |predicate: &str, title: &str| Update {
        set: vec![("title".into(), format!("'{title}'"))],
        predicate: Some(predicate.into()),
    };
    // Rows of both parts, all of the second; then some of those once more.
    for (predicate, title, changed) in [
        ("id >= 45 AND id % 3 = 0 OR id >= 60", "plum cake", 35),
        ("id >= 80", "quince jam", 10),
    ] {
        table.update(change(predicate, title)).await.unwrap();
        for _ in 0..2 {
            let (word, _) = title.split_once(' ').unwrap();
            assert_eq!(by_word(&table, word).await, changed);
            assert_eq!(by_word(&table, "pie").await, before - 35);
            optimize_indices().await;
        }
    }
    assert_eq!(by_word(&table, "plum").await, 25);
}
