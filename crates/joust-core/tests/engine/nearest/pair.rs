//! One table and two engines that must agree.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, Float32Array, Int64Array, RecordBatch,
    StringArray,
};
use arrow::compute::{cast, filter_record_batch};
use arrow::datatypes::{DataType, Field, Float32Type, Int32Type};
use joust_core::ipc::Format;
use joust_core::query::QueryOptions;
use joust_core::{Engine, EngineOptions, Result, Table, WorkContext, ipc};

use crate::sent::upload;

pub const DIMENSION: usize = 8;

/// What the vectors consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    F16,
    F32,
    F64,
    I8,
    /// Bits, eight in a number.
    U8,
}

/// The same table, as an engine has it that keeps rows and as one has it that does not.
pub struct Pair {
    pub keeping: Table,
    pub asking: Table,
    element: Element,
    directory: tempfile::TempDir,
}

impl Pair {
    pub async fn new(rows: std::ops::Range<i64>, row_cache_bytes: usize) -> Self {
        Self::of(Element::F32, rows, row_cache_bytes).await
    }

    pub async fn of(element: Element, rows: std::ops::Range<i64>, row_cache_bytes: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let location = location(&directory);
        let open = |row_cache_bytes| {
            let options = EngineOptions {
                row_cache_bytes: Some(row_cache_bytes),
                ..EngineOptions::default()
            };
            Engine::new(options).table(&location, Default::default())
        };
        let pair = Self {
            keeping: open(row_cache_bytes),
            asking: open(0),
            element,
            directory,
        };
        pair.asking.create(pair.batch(rows), false).await.unwrap();
        pair
    }

    /// The table for an engine that has opened nothing.
    pub fn unknown(&self) -> Table {
        Engine::new(EngineOptions::default()).table(&location(&self.directory), Default::default())
    }

    pub fn batch(&self, rows: std::ops::Range<i64>) -> ipc::UploadReader {
        batch(self.element, rows)
    }

    /// Builds the index on the vectors; one that needs no rows to learn from if there are too few.
    pub async fn index(&self, kind: &str, metric: &str) {
        let metric = match self.element {
            Element::U8 => "hamming",
            _ => metric,
        };
        if !self.has_built(kind, metric).await {
            let built = self.has_built("IVF_FLAT", metric).await;
            // Lance can't search an index on them, so there is none.
            assert_eq!(built, self.element != Element::I8);
        }
    }

    pub async fn compact(&self) {
        let work = WorkContext::default();
        let compacted = self.asking.compact(&Default::default(), &work).await;
        compacted.unwrap();
    }

    pub async fn scalar_index(&self, column: &str, kind: &str) {
        let spec = serde_json::json!({ "column": column, "index_type": kind, "replace": true });
        let spec = spec.to_string();
        let built = self
            .asking
            .create_index(&spec, &WorkContext::default())
            .await;
        built.unwrap();
    }

    async fn has_built(&self, kind: &str, metric: &str) -> bool {
        let spec = serde_json::json!({
            "column": "vector", "index_type": kind, "distance_type": metric, "num_partitions": 4,
            "num_sub_vectors": 4, "num_bits": 8, "sample_rate": 2, "replace": true, "name": "v",
        });
        let spec = spec.to_string();
        let built = self
            .asking
            .create_index(&spec, &WorkContext::default())
            .await;
        built.is_ok()
    }

    /// Both answers to a query, which must be equal. Asked several times: what is kept comes in by use.
    pub async fn check(&self, query: &serde_json::Value) -> Vec<u8> {
        let body = serde_json::to_vec(query).unwrap();
        let expected = answer(&self.asking, &body).await;
        for _ in 0..3 {
            let own = answer(&self.keeping, &body).await;
            let (own, expected) = (decode(&own), decode(&expected));
            // Of rows that are as far away as the last one any may be found; of bits many are.
            let is_tie = || {
                matches!(self.element, Element::U8)
                    && own.num_rows() == expected.num_rows()
                    && nearer(&own) == nearer(&expected)
            };
            if own != expected && !is_tie() {
                let plan = self.plan(query).await;
                panic!("{query}\nLance: {expected:?}\nown: {own:?}\n{plan}");
            }
        }
        expected
    }

    pub async fn plan(&self, query: &serde_json::Value) -> String {
        let body = serde_json::json!({ "query": query });
        let body = serde_json::to_vec(&body).unwrap();
        self.keeping.explain_plan(&body, options()).await.unwrap()
    }
}

fn location(directory: &tempfile::TempDir) -> String {
    format!("{}/t.lance", directory.path().display())
}

pub fn options() -> QueryOptions {
    QueryOptions {
        id: vec!["t".into()],
        format: Format::File,
        not_before: None,
        min_version: None,
        timeout: None,
    }
}

pub async fn answer(table: &Table, body: &[u8]) -> Vec<u8> {
    answer_with(table, body, options()).await.unwrap()
}

pub async fn answer_with(table: &Table, body: &[u8], options: QueryOptions) -> Result<Vec<u8>> {
    let mut answer = table.query(body, options).await?;
    let mut bytes = answer.first().await?;
    while let Some(part) = answer.next().await? {
        bytes.extend(part);
    }
    Ok(bytes)
}

/// All rows of an answer; how many come at once is no matter.
pub fn decode(bytes: &[u8]) -> RecordBatch {
    let reader =
        arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    arrow::compute::concat_batches(&schema, &batches).unwrap()
}

/// The rows that are nearer than the farthest of their query.
fn nearer(found: &RecordBatch) -> RecordBatch {
    let distances = found.column_by_name("_distance").unwrap();
    let distances = distances.as_primitive::<Float32Type>().values();
    let queries = found.column_by_name("query_index");
    let query = |row| queries.map_or(0, |all| all.as_primitive::<Int32Type>().value(row));
    let mut farthest = HashMap::new();
    for (row, distance) in distances.iter().enumerate() {
        let known = farthest.entry(query(row)).or_insert(*distance);
        *known = distance.max(*known);
    }
    let rows = distances.iter().enumerate();
    let is_nearer = rows.map(|(row, distance)| *distance < farthest[&query(row)]);
    filter_record_batch(found, &is_nearer.collect::<Vec<_>>().into()).unwrap()
}

/// Rows that are known by their number: `id`, a text, a group, and a vector of its own.
pub fn batch(element: Element, rows: std::ops::Range<i64>) -> ipc::UploadReader {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone()));
    let groups: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone().map(|n| n % 7)));
    let names = rows
        .clone()
        .map(|n| (n % 11 != 0).then(|| format!("name {n}")));
    let names: ArrayRef = Arc::new(StringArray::from_iter(names));
    let numbers = rows.flat_map(|n| (0..DIMENSION as i64).map(move |d| number(n, d)));
    let numbers = numbers.map(|number| element.of(number));
    let numbers: ArrayRef = Arc::new(Float32Array::from_iter_values(numbers));
    let numbers = cast(&numbers, &element.data_type()).unwrap();
    let item = Arc::new(Field::new("item", numbers.data_type().clone(), true));
    let vectors = FixedSizeListArray::try_new(item, DIMENSION as i32, numbers, None).unwrap();
    let columns = [
        ("id", ids),
        ("group", groups),
        ("name", names),
        ("vector", Arc::new(vectors) as ArrayRef),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    upload(&batch)
}

/// Spread over -1 to 1, the same for ever.
pub fn number(row: i64, place: i64) -> f32 {
    let mixed = (row * 2_654_435_761 + place * 40_503).wrapping_mul(1_103_515_245) & 0x7fff_ffff;
    (mixed % 20_011) as f32 / 10_005.0 - 1.0
}

impl Element {
    pub fn data_type(self) -> DataType {
        match self {
            Self::F16 => DataType::Float16,
            Self::F32 => DataType::Float32,
            Self::F64 => DataType::Float64,
            Self::I8 => DataType::Int8,
            Self::U8 => DataType::UInt8,
        }
    }

    /// A number from -1 to 1 as a value of such vectors.
    pub fn of(self, number: f32) -> f32 {
        match self {
            Self::I8 => (number * 127.0).round().clamp(-128.0, 127.0),
            Self::U8 => ((number + 1.0) * 127.5).round().clamp(0.0, 255.0),
            _ => number,
        }
    }
}
