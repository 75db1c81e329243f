//! JSON that another tool has written, nested so deeply that printing it would end the process.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Int64Array, LargeBinaryArray, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow::datatypes::{DataType, Field, Schema};
use joust_core::ipc::Format;
use joust_core::query::QueryOptions;
use joust_core::table::ReadOptions;
use joust_core::{Code, Result, Table, WorkContext};
use lance::Dataset;
use lance::dataset::WriteParams;
use lance_arrow::json::{encode_json, json_field};
use serde_json::{Value, json};

use crate::place::Place;

const DEPTH: usize = 1_000_000;

/// Arrays of one element around one another, in Lance's own form: see `src/json/stored.rs`.
fn nested(depth: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 * depth);
    for around in (0..depth as u32).rev() {
        bytes.extend((0x8000_0000 | u32::from(around > 0)).to_be_bytes());
        if around > 0 {
            bytes.extend((0x5000_0000 | (8 * around - 4)).to_be_bytes());
        }
    }
    bytes
}

/// A table of two rows, the second of which has such a value.
async fn table(place: &Place) -> Table {
    let fields = vec![
        Field::new("id", DataType::Int64, true),
        Field::new("text", DataType::Utf8, true),
        json_field("j", true),
    ];
    let schema = Arc::new(Schema::new(fields));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["red fox", "blue whale"]));
    let values = [encode_json(r#"{"a": "red"}"#).unwrap(), nested(DEPTH)];
    let values: ArrayRef = Arc::new(LargeBinaryArray::from_iter_values(values));
    let batch = RecordBatch::try_new(schema.clone(), vec![ids, texts, values]).unwrap();
    let batches = RecordBatchIterator::new([Ok(batch)], schema);
    let params = WriteParams {
        enable_stable_row_ids: true,
        ..WriteParams::default()
    };
    Dataset::write(batches, &place.location("t"), Some(params))
        .await
        .unwrap();
    place.table("t")
}

async fn query(table: &Table, body: Value) -> Result<Vec<u8>> {
    let options = QueryOptions {
        id: vec!["t".into()],
        format: Format::File,
        not_before: None,
        min_version: None,
        timeout: None,
    };
    let body = serde_json::to_vec(&body).unwrap();
    table.query(&body, options).await?.first().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_can_not_be_printed_is_an_error_wherever_it_is_read() {
    let place = Place::new();
    let table = table(&place).await;
    let spec = json!({ "column": "text", "index_type": "FTS" }).to_string();
    table
        .create_index(&spec, &WorkContext::default())
        .await
        .unwrap();
    let words = |words: &str| json!({ "string_query": { "query": words } });
    for body in [
        json!({ "k": 10 }),
        json!({ "k": 10, "columns": ["j"] }),
        json!({ "k": 10, "columns": { "x": "j" } }),
        json!({ "k": 10, "order_by": [{ "column_name": "id" }] }),
        json!({ "k": 10, "filter": "id = 2" }),
        json!({ "k": 10, "full_text_query": words("whale") }),
        json!({ "k": 10, "full_text_query": words("whale"), "columns": { "x": "j", "y": "id + 1" } }),
    ] {
        // What is asked for again is kept in memory.
        for _ in 0..3 {
            let error = query(&table, body.clone()).await.unwrap_err();
            assert_eq!(error.code(), Code::InvalidTableState, "{body}: {error}");
            // By the name that the answer gives the column.
            let named = error.message().contains("`j`") || error.message().contains("`x`");
            assert!(named, "{error}");
        }
    }
    for body in [
        json!({ "k": 10, "columns": ["id", "text"] }),
        json!({ "k": 10, "filter": "id = 1" }),
        json!({ "k": 10, "full_text_query": words("fox") }),
        json!({ "k": 10, "full_text_query": words("fox"), "columns": { "x": "j", "y": "id + 1" } }),
    ] {
        query(&table, body).await.unwrap();
    }
    let spec = json!({ "column": "j", "index_type": "FTS" }).to_string();
    let error = table.create_index(&spec, &WorkContext::default()).await;
    assert_eq!(error.unwrap_err().code(), Code::InvalidTableState);
    table.delete("id = 2").await.unwrap();
    query(&table, json!({ "k": 10 })).await.unwrap();
    assert_eq!(
        table
            .count_rows(None, ReadOptions::default())
            .await
            .unwrap(),
        1
    );
}
