//! An engine with one small table, which all inputs read.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, FixedSizeListArray, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray,
};
use arrow::datatypes::{DataType, Field, Float32Type, Int32Type};
use arrow::ipc::writer::StreamWriter;
use joust_core::{Code, Durability, Engine, EngineOptions, Result, Table, WorkContext};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Rows of the table.
pub const ROWS: u64 = 80;
/// The tenant of a row filter, and its rows.
pub const TENANT: &str = "a";
pub const TENANT_ROWS: u64 = 10;

/// Rows that have indexes; the others were appended later.
const INDEXED: i64 = 64;
/// Stack of a thread, bytes: that of an engine thread of a server.
const STACK: usize = 16 << 20;

/// An engine, its threads and its table.
pub struct World {
    runtime: Runtime,
    engine: Engine,
    location: String,
    directory: TempDir,
}

impl World {
    #[must_use]
    pub fn new() -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_stack_size(STACK)
            .enable_all()
            .build()
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let world = Self {
            engine: Engine::new(EngineOptions {
                memory_bytes: 1 << 30,
                durability: Durability::Os,
                query_timeout: Some(Duration::from_secs(10)),
                view_disk_bytes: 64 << 20,
                ..EngineOptions::default()
            }),
            location: format!("{}/t.lance", directory.path().display()),
            directory,
            runtime,
        };
        let (engine, table) = (world.engine.clone(), world.table());
        world
            .run(async move { fill(&engine, &table).await })
            .unwrap();
        world
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    pub(crate) fn table(&self) -> Table {
        self.engine.table(&self.location, Default::default())
    }

    /// Runs work on a thread of the engine, as a server does.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        match self.runtime.block_on(self.runtime.spawn(work)) {
            Ok(outcome) => outcome,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// The value; `None` for an error that a client may cause with its input.
    pub(crate) fn accepted<T>(&self, input: &[u8], result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                assert!(error.code() != Code::Internal, "internal: {error:?}");
                self.check_shown(input, error.message());
                None
            }
        }
    }

    /// A client sees no path of the server.
    pub(crate) fn check_shown(&self, input: &[u8], text: &str) {
        let path = self.directory.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return;
        };
        // libFuzzer learns the name from this comparison, and messages quote the input.
        let is_quoted = || String::from_utf8_lossy(input).contains(name);
        assert!(
            !text.contains(name) || is_quoted(),
            "a path of the server: {text}"
        );
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

async fn fill(engine: &Engine, table: &Table) -> Result<()> {
    let upload = |rows| engine.whole_upload(&stream(&rows_of(rows)));
    table.create(upload(0..INDEXED), false).await?;
    for spec in [
        json!({ "column": "id", "index_type": "BTREE" }),
        json!({ "column": "title", "index_type": "FTS", "with_position": true }),
        json!({ "column": "body", "index_type": "FTS" }),
        json!({
            "column": "vector", "index_type": "IVF_FLAT", "distance_type": "l2",
            "num_partitions": 2, "sample_rate": 2,
        }),
    ] {
        table
            .create_index(&spec.to_string(), &WorkContext::default())
            .await?;
    }
    table
        .append(upload(INDEXED..i64::try_from(ROWS).unwrap()))
        .await?;
    Ok(())
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn rows_of(ids: std::ops::Range<i64>) -> RecordBatch {
    let ids: Vec<i64> = ids.collect();
    let small = |id: &i64| i32::try_from(id % 9 - 4).unwrap();
    let tenants = ids.iter().map(|id| match id % 8 {
        0 => TENANT,
        _ => "b",
    });
    let titles = ids.iter().map(|id| match id % 6 {
        0 => None,
        1 => Some("it's an apple pie".to_string()),
        2 => Some(String::new()),
        _ => Some(format!("the garden number {id}")),
    });
    let bodies = ids.iter().map(|id| format!("sour cherry juice {}", id % 7));
    let vectors = ids.iter().map(|id| Some([Some(*id as f32), Some(1.0)]));
    let tags = ids.iter().map(|id| {
        let tags = (0..small(id)).map(Some);
        (id % 5 != 0).then(|| tags.collect::<Vec<_>>())
    });
    let x: ArrayRef = Arc::new(Int32Array::from_iter_values(ids.iter().map(small)));
    let y: ArrayRef = Arc::new(StringArray::from_iter_values(tenants.clone()));
    let point = StructArray::from(vec![
        (Arc::new(Field::new("x", DataType::Int32, true)), x),
        (Arc::new(Field::new("y", DataType::Utf8, true)), y),
    ]);
    let columns: [(&str, ArrayRef); 11] = [
        ("id", Arc::new(Int64Array::from(ids.clone()))),
        ("tenant", Arc::new(StringArray::from_iter_values(tenants))),
        (
            "small",
            Arc::new(Int32Array::from_iter(
                ids.iter().map(|id| (id % 13 != 0).then(|| small(id))),
            )),
        ),
        (
            "score",
            Arc::new(Float64Array::from_iter_values(
                ids.iter().map(|id| *id as f64 / 4.0),
            )),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from_iter(ids.iter().map(|id| match id % 3 {
                0 => None,
                rest => Some(rest == 1),
            }))),
        ),
        (
            "day",
            Arc::new(Date32Array::from_iter_values(
                ids.iter().map(|id| 20_000 + small(id)),
            )),
        ),
        ("title", Arc::new(StringArray::from_iter(titles))),
        ("body", Arc::new(StringArray::from_iter_values(bodies))),
        (
            "vector",
            Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2)),
        ),
        (
            "tags",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(tags)),
        ),
        ("point", Arc::new(point)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, own)| (name, own, true))).unwrap()
}
