//! After prewarming, the first queries find their data in memory. The tests count requests to storage.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Field};
use serde_json::{Value, json};

use crate::ipc::{Format, UploadReader, sent};
use crate::query::QueryOptions;
use crate::{Engine, EngineOptions, Table, WorkContext};

const ROWS: i64 = 600;
const DIMENSION: i32 = 8;

/// A table with indexes of three kinds, written by another engine that is closed.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    /// A table without rows and indexes.
    async fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Self { directory };
        let table = place.opened(EngineOptions::default());
        table.create(rows_up_to(0), false).await.unwrap();
        place
    }

    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Self { directory };
        let table = place.opened(EngineOptions::default());
        table.create(rows_up_to(ROWS), false).await.unwrap();
        for spec in [
            json!({ "column": "vector", "index_type": "IVF_FLAT", "num_partitions": 4 }),
            json!({ "column": "id", "index_type": "BTREE" }),
            json!({ "column": "name", "index_type": "FTS" }),
        ] {
            let spec = spec.to_string();
            table
                .create_index(&spec, &WorkContext::default())
                .await
                .unwrap();
        }
        place
    }

    /// The table in a process that has just started.
    fn opened(&self, options: EngineOptions) -> Table {
        let location = format!("{}/t.lance", self.directory.path().display());
        Engine::new(options).table(&location, Default::default())
    }
}

fn rows_up_to(count: i64) -> UploadReader {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
    let names = (0..count).map(|n| format!("name {}", n % 50));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    let numbers = (0..count * i64::from(DIMENSION)).map(|n| (n * 7_919 % 1_009) as f32);
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let numbers: ArrayRef = Arc::new(Float32Array::from_iter_values(numbers));
    let vectors = FixedSizeListArray::try_new(item, DIMENSION, numbers, None).unwrap();
    let columns = [("id", ids), ("name", names), ("vector", Arc::new(vectors))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    sent(Engine::new(EngineOptions::default()).memory(), &batch)
}

async fn answer(table: &Table, query: &Value) -> Vec<u8> {
    let options = QueryOptions {
        id: Vec::new(),
        format: Format::File,
        not_before: None,
        min_version: None,
        timeout: None,
    };
    let body = query.to_string();
    let mut answer = table.query(body.as_bytes(), options).await.unwrap();
    answer.first().await.unwrap()
}

/// Storage requests of a query on an open table.
async fn reads(table: &Table, query: &Value) -> u64 {
    let dataset = table.newest().await.unwrap();
    let store = dataset.object_store(None).await.unwrap();
    store.io_stats_incremental();
    answer(table, query).await;
    store.io_stats_incremental().read_iops
}

fn queries() -> [Value; 5] {
    let vector: Vec<f32> = (0..DIMENSION).map(|place| place as f32).collect();
    [
        json!({ "vector": vector, "k": 10, "nprobes": 4, "columns": ["id", "name"] }),
        json!({ "vector": vector, "k": 10, "nprobes": 4, "refine_factor": 4 }),
        json!({ "vector": vector, "k": 10, "bypass_vector_index": true }),
        json!({ "k": 10, "full_text_query": { "query": "17" }, "columns": ["name"] }),
        json!({ "k": 10, "vector": [], "filter": "id IN (3, 599)" }),
    ]
}

#[tokio::test]
async fn first_queries_of_a_prewarmed_table_read_nothing() {
    let place = Place::new().await;
    for query in queries() {
        let cold = place.opened(EngineOptions::default());
        assert!(reads(&cold, &query).await > 0, "{query}");
        let warm = place.opened(EngineOptions::default());
        let ready = warm.prewarm().await.unwrap();
        assert_eq!(ready.indexes, ["id_idx", "name_idx", "vector_idx"]);
        assert_eq!(ready.columns, ["id", "name", "vector"]);
        assert_eq!(reads(&warm, &query).await, 0, "{query}");
    }
}

#[tokio::test]
async fn an_index_that_is_not_trained_yet_is_left_out() {
    let place = Place::empty().await;
    for spec in [
        json!({ "column": "vector", "index_type": "IVF_PQ", "num_sub_vectors": 4 }),
        json!({ "column": "id", "index_type": "BTREE" }),
    ] {
        let table = place.opened(EngineOptions::default());
        let work = WorkContext::default();
        table.create_index(&spec.to_string(), &work).await.unwrap();
    }
    let prewarmed = place.opened(EngineOptions::default()).prewarm().await;
    assert!(
        !prewarmed
            .unwrap()
            .indexes
            .contains(&"vector_idx".to_string())
    );
    let table = place.opened(EngineOptions::default());
    table.append(rows_up_to(10)).await.unwrap();
    table
        .optimize_indices(&WorkContext::default())
        .await
        .unwrap();
    let prewarmed = place.opened(EngineOptions::default()).prewarm().await;
    let prewarmed = prewarmed.unwrap();
    assert_eq!(prewarmed.indexes, ["id_idx"]);
    assert!(prewarmed.columns.contains(&"vector".to_string()));
}

#[tokio::test]
async fn columns_that_do_not_fit_are_not_prewarmed_and_answers_stay_right() {
    let place = Place::new().await;
    for row_cache in [0, 20_000] {
        let small = place.opened(EngineOptions {
            row_cache_bytes: Some(row_cache),
            ..EngineOptions::default()
        });
        let ready = small.prewarm().await.unwrap();
        assert_eq!(ready.indexes, ["id_idx", "name_idx", "vector_idx"]);
        let kept: &[&str] = if row_cache == 0 { &[] } else { &["id"] };
        assert_eq!(ready.columns, kept);
        let cold = place.opened(EngineOptions::default());
        for query in queries() {
            assert!(
                answer(&small, &query).await == answer(&cold, &query).await,
                "{query}"
            );
        }
    }
}

#[tokio::test]
async fn a_prewarmed_column_is_evicted_for_one_that_queries_read() {
    let place = Place::new().await;
    // Space for the numbers and the names, or for the vectors.
    let table = place.opened(EngineOptions {
        row_cache_bytes: Some(44_000),
        ..EngineOptions::default()
    });
    let ready = table.prewarm().await.unwrap();
    assert!(!ready.columns.contains(&"vector".to_string()));
    let vector: Vec<f32> = vec![0.5; 8];
    let flat = json!({ "vector": vector, "k": 3, "bypass_vector_index": true, "columns": ["id"] });
    let mut last = 0;
    for _ in 0..6 {
        last = reads(&table, &flat).await;
    }
    assert_eq!(last, 0);
}
