//! Columns that another tool has called as searches call their own values, in answers from memory and in
//! Lance's.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, Float32Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray,
};
use arrow::datatypes::{Float32Type, Int64Type};
use joust_core::ipc::Format;
use joust_core::query::QueryOptions;
use joust_core::{Engine, EngineOptions, Table, WorkContext};
use lance::Dataset;
use lance::dataset::WriteParams;
use serde_json::{Value, json};

const ROWS: i64 = 40;
const NAMES: [&str; 3] = ["_distance", "_score", "_relevance_score"];

/// What a row of the table has in the column of a name.
fn value(name: &str, id: i64) -> f32 {
    let place = NAMES.iter().position(|own| *own == name).unwrap();
    1_000.0 * (place + 1) as f32 + id as f32
}

async fn write(location: &str) {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let texts = (0..ROWS).map(|id| format!("word{} all", id % 3));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let vectors = (0..ROWS).map(|id| Some([Some(id as f32 / 8.0), Some(1.0)]));
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2);
    let mut columns: Vec<(&str, ArrayRef)> =
        vec![("id", ids), ("text", texts), ("vector", Arc::new(vectors))];
    for name in NAMES {
        let values = (0..ROWS).map(|id| value(name, id));
        columns.push((name, Arc::new(Float32Array::from_iter_values(values))));
    }
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let schema = batch.schema();
    let batches = RecordBatchIterator::new([Ok(batch)], schema);
    let params = WriteParams {
        enable_stable_row_ids: true,
        ..WriteParams::default()
    };
    Dataset::write(batches, location, Some(params))
        .await
        .unwrap();
}

async fn rows(table: &Table, query: &Value) -> RecordBatch {
    let options = QueryOptions {
        id: vec!["t".into()],
        format: Format::File,
        not_before: None,
        min_version: None,
        timeout: None,
    };
    let body = serde_json::to_vec(query).unwrap();
    let bytes = table
        .query(&body, options)
        .await
        .unwrap()
        .first()
        .await
        .unwrap();
    let reader = arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None);
    let mut batches: Vec<RecordBatch> = reader.unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1, "{query}");
    batches.remove(0)
}

/// Whether a column has the table's values.
fn is_tables(rows: &RecordBatch, name: &str) -> bool {
    let ids = rows["id"].as_primitive::<Int64Type>();
    let values = rows[name].as_primitive::<Float32Type>();
    (0..rows.num_rows())
        .all(|row| values.is_valid(row) && values.value(row) == value(name, ids.value(row)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_hides_only_behind_the_value_that_a_search_knows() {
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    write(&location).await;
    let engine = |row_cache_bytes| {
        let options = EngineOptions {
            row_cache_bytes,
            ..EngineOptions::default()
        };
        Engine::new(options).table(&location, Default::default())
    };
    // Lance answers all but searches for texts of the second.
    let tables = [engine(None), engine(Some(0))];
    let spec = json!({ "column": "text", "index_type": "FTS" }).to_string();
    tables[0]
        .create_index(&spec, &WorkContext::default())
        .await
        .unwrap();

    let words = json!({ "string_query": { "query": "word1" } });
    let vector = json!([0.0, 1.0]);
    let named: Vec<&str> = ["id"].into_iter().chain(NAMES).collect();
    for columns in [Value::Null, json!(named)] {
        for (query, hidden) in [
            (
                json!({ "k": ROWS, "filter": "id >= 5 AND id < 30" }),
                &[][..],
            ),
            (json!({ "k": ROWS, "vector": vector }), &["_distance"]),
            (json!({ "k": ROWS, "full_text_query": words }), &["_score"]),
            (
                json!({ "k": ROWS, "vector": vector, "full_text_query": words }),
                &NAMES,
            ),
        ] {
            let mut query = query;
            query["columns"] = columns.clone();
            let mut answers = Vec::new();
            for table in &tables {
                for _ in 0..12 {
                    answers.push(rows(table, &query).await);
                }
            }
            let first = &answers[0];
            assert!(first.num_rows() > 5, "{query}");
            for name in NAMES {
                assert_eq!(
                    !is_tables(first, name),
                    hidden.contains(&name),
                    "{name}: {query}"
                );
            }
            for answer in &answers {
                assert_eq!(answer, first, "{query}");
            }
        }
    }
}
