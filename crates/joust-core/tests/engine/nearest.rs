//! Searches by vector in memory find what Lance finds, to the bit.
//!
//! One table is opened by two engines: one keeps rows, the other keeps none and so asks Lance for all.
//! Whatever is done to the table in between, both give the same rows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Field};
use arrow::ipc::writer::StreamWriter;
use joust_core::ipc::Format;
use joust_core::query::QueryOptions;
use joust_core::table::Update;
use joust_core::{Engine, EngineOptions, Table, ipc};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const DIMENSION: usize = 8;

/// The same table, as an engine has it that keeps rows and as one has it that does not.
struct Pair {
    keeping: Table,
    asking: Table,
    _directory: tempfile::TempDir,
}

impl Pair {
    async fn new(rows: std::ops::Range<i64>, row_cache_bytes: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let location = format!("{}/t.lance", directory.path().display());
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
            _directory: directory,
        };
        pair.asking.create(batch(rows), false).await.unwrap();
        pair
    }

    /// Builds the index on the vectors; one that needs no rows to learn from if there are too few.
    async fn index(&self, kind: &str, metric: &str) {
        if !self.has_built(kind, metric).await {
            assert!(self.has_built("IVF_FLAT", metric).await);
        }
    }

    async fn has_built(&self, kind: &str, metric: &str) -> bool {
        let spec = serde_json::json!({
            "column": "vector", "index_type": kind, "distance_type": metric, "num_partitions": 4,
            "num_sub_vectors": 4, "num_bits": 8, "sample_rate": 2, "replace": true, "name": "v",
        });
        let spec = spec.to_string();
        let built = self.asking.create_index(&spec, Arc::new(|_| {})).await;
        built.is_ok()
    }

    /// Both answers to a query, which must be equal. Asked several times: what is kept comes in by use.
    async fn check(&self, query: &serde_json::Value) -> Vec<u8> {
        let body = serde_json::to_vec(query).unwrap();
        let expected = answer(&self.asking, &body).await;
        for _ in 0..3 {
            let own = answer(&self.keeping, &body).await;
            let (own, expected) = (decode(&own), decode(&expected));
            if own != expected {
                let plan = self.plan(query).await;
                panic!("{query}\nLance: {expected:?}\nown: {own:?}\n{plan}");
            }
        }
        expected
    }

    async fn plan(&self, query: &serde_json::Value) -> String {
        let body = serde_json::json!({ "query": query });
        let body = serde_json::to_vec(&body).unwrap();
        self.keeping.explain_plan(&body, options()).await.unwrap()
    }
}

fn options() -> QueryOptions {
    QueryOptions {
        id: vec!["t".into()],
        format: Format::File,
        not_before: None,
        min_version: None,
    }
}

async fn answer(table: &Table, body: &[u8]) -> Vec<u8> {
    let mut answer = table.query(body, options()).await.unwrap();
    let mut bytes = answer.first().await.unwrap();
    while let Some(part) = answer.next().await.unwrap() {
        bytes.extend(part);
    }
    bytes
}

/// All rows of an answer; how many come at once is no matter.
fn decode(bytes: &[u8]) -> RecordBatch {
    let reader =
        arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    arrow::compute::concat_batches(&schema, &batches).unwrap()
}

/// Rows that are known by their number: `id`, a text, a group, and a vector of its own.
fn batch(rows: std::ops::Range<i64>) -> ipc::UploadReader {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone()));
    let groups: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone().map(|n| n % 7)));
    let names = rows
        .clone()
        .map(|n| (n % 11 != 0).then(|| format!("name {n}")));
    let names: ArrayRef = Arc::new(StringArray::from_iter(names));
    let numbers = rows.flat_map(|n| (0..DIMENSION as i64).map(move |d| number(n, d)));
    let numbers: ArrayRef = Arc::new(Float32Array::from_iter_values(numbers));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
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
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let (push, read) = Engine::new(EngineOptions::default()).upload(|| {});
    push.push(writer.into_inner().unwrap().into());
    push.finish();
    read
}

/// Spread over -1 to 1, the same for ever.
fn number(row: i64, place: i64) -> f32 {
    let mixed = (row * 2_654_435_761 + place * 40_503).wrapping_mul(1_103_515_245) & 0x7fff_ffff;
    (mixed % 20_011) as f32 / 10_005.0 - 1.0
}

/// What happens to the table.
#[derive(Debug, Clone)]
enum Change {
    Append(i64),
    Delete(i64),
    Update(i64),
    Index(&'static str, &'static str),
    CatchUp,
    Compact,
}

#[derive(Debug, Clone)]
struct Asked {
    seed: i64,
    k: u64,
    offset: u64,
    nprobes: Option<u32>,
    refine: Option<u32>,
    filter: Option<&'static str>,
    metric: Option<&'static str>,
    bounds: (Option<f32>, Option<f32>),
    bypass: bool,
    fast: bool,
    columns: Option<Vec<&'static str>>,
    with_row_id: bool,
    prefilter: bool,
    back: u64,
}

impl Asked {
    fn body(&self, newest: u64) -> serde_json::Value {
        let vector: Vec<f32> = (0..DIMENSION as i64)
            .map(|place| number(self.seed, place) + 0.001)
            .collect();
        let mut body = serde_json::json!({
            "k": self.k, "offset": self.offset, "vector": vector, "with_row_id": self.with_row_id,
            "bypass_vector_index": self.bypass, "fast_search": self.fast,
            "prefilter": self.prefilter, "version": newest.saturating_sub(self.back).max(1),
        });
        let mut set = |name: &str, value: serde_json::Value| body[name] = value;
        if let Some(nprobes) = self.nprobes {
            set("nprobes", nprobes.into());
        }
        if let Some(refine) = self.refine {
            set("refine_factor", refine.into());
        }
        if let Some(filter) = self.filter {
            set("filter", filter.into());
        }
        if let Some(metric) = self.metric {
            set("distance_type", metric.into());
        }
        if let Some(columns) = &self.columns {
            set("columns", serde_json::json!(columns));
        }
        if let (Some(lower), _) = self.bounds {
            set("lower_bound", lower.into());
        }
        if let (_, Some(upper)) = self.bounds {
            set("upper_bound", upper.into());
        }
        body
    }
}

impl Asked {
    /// A query by a filter alone, and by keys when the seed says so.
    fn read(&self, newest: u64) -> serde_json::Value {
        let seed = self.seed;
        let filter = match (self.filter, seed % 4) {
            (Some(filter), 0) => filter.to_string(),
            (_, 0) => "id >= 0".to_string(),
            (_, 1) => format!("id = {seed}"),
            (_, 2) => format!("name IN ('name {seed}', 'changed', 'none')"),
            (_, _) => format!("id IN ({seed}, 7, {}, {seed})", seed / 2),
        };
        let mut body = serde_json::json!({
            "k": self.k, "offset": self.offset, "with_row_id": self.with_row_id, "filter": filter,
            "version": newest.saturating_sub(self.back).max(1),
        });
        if let Some(columns) = &self.columns {
            let own: Vec<_> = columns
                .iter()
                .filter(|name| **name != "_distance")
                .collect();
            body["columns"] = serde_json::json!(own);
        }
        body
    }
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (1..80_i64).prop_map(Change::Append),
        3 => (2..9_i64).prop_map(Change::Delete),
        3 => (2..9_i64).prop_map(Change::Update),
        3 => (
            prop::sample::select(vec!["IVF_FLAT", "IVF_PQ", "IVF_SQ", "IVF_HNSW_SQ", "IVF_RQ"]),
            prop::sample::select(vec!["l2", "cosine", "dot"]),
        )
            .prop_map(|(kind, metric)| Change::Index(kind, metric)),
        1 => Just(Change::CatchUp),
        1 => Just(Change::Compact),
    ]
}

fn asked() -> impl Strategy<Value = Asked> {
    let wide = (
        0..400_i64,
        1..30_u64,
        0..5_u64,
        prop::option::of(1..6_u32),
        prop::option::of(1..4_u32),
        prop::sample::select(vec![
            None,
            None,
            Some("`group` = 3"),
            Some("id < 5"),
            Some("name is null"),
            Some("id > 100000"),
        ]),
    );
    let narrow = (
        prop::sample::select(vec![
            None,
            None,
            None,
            Some("l2"),
            Some("cosine"),
            Some("dot"),
        ]),
        (
            prop::option::weighted(0.2, -1.0..2.0_f32),
            prop::option::weighted(0.2, 0.0..4.0_f32),
        ),
        prop::bool::weighted(0.25),
        prop::bool::weighted(0.15),
        prop::sample::select(vec![
            None,
            Some(vec!["id", "name"]),
            Some(vec!["vector", "_distance", "id"]),
            Some(vec!["name"]),
        ]),
        any::<bool>(),
        prop::bool::weighted(0.9),
        prop::sample::select(vec![0, 0, 0, 1, 2]),
    );
    (wide, narrow).prop_map(|(wide, narrow)| {
        let (seed, k, offset, nprobes, refine, filter) = wide;
        let (metric, bounds, bypass, fast, columns, with_row_id, prefilter, back) = narrow;
        Asked {
            seed,
            k,
            offset,
            nprobes,
            refine,
            filter,
            metric,
            bounds,
            bypass,
            fast,
            columns,
            with_row_id,
            prefilter,
            back,
        }
    })
}

async fn apply(pair: &Pair, change: &Change, rows: &mut i64) {
    let table = &pair.asking;
    match change {
        Change::Append(count) => {
            table.append(batch(*rows..*rows + count)).await.unwrap();
            *rows += count;
        }
        Change::Delete(every) => {
            table.delete(&format!("id % {every} = 1")).await.unwrap();
        }
        Change::Update(every) => {
            let update = Update {
                set: vec![("name".into(), "'changed'".into())],
                predicate: Some(format!("id % {every} = 2")),
            };
            table.update(update).await.unwrap();
        }
        Change::Index(kind, metric) => pair.index(kind, metric).await,
        Change::CatchUp => {
            table.catch_up(Arc::new(|_| {})).await.unwrap();
        }
        Change::Compact => {
            let work = joust_core::Work::new(Arc::new(|_| {}));
            table.compact(&Default::default(), &work).await.unwrap();
            // Lance's own search finds rows that the compaction removed, until the index is new.
            pair.index("IVF_PQ", "l2").await;
        }
    }
}

fn model(row_cache_bytes: usize, cases: u32) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let steps = prop::collection::vec((change(), prop::collection::vec(asked(), 1..4)), 1..6);
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 40,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&steps, |steps| {
            runtime.block_on(async {
                let pair = Pair::new(0..300, row_cache_bytes).await;
                let mut rows = 300;
                for (change, asked) in &steps {
                    apply(&pair, change, &mut rows).await;
                    let newest = pair
                        .asking
                        .describe(Default::default())
                        .await
                        .unwrap()
                        .version;
                    for asked in asked {
                        pair.check(&asked.body(newest)).await;
                        pair.check(&asked.read(newest)).await;
                    }
                }
            });
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_is_kept_whole_is_found_as_lance_finds_it() {
    model(64 << 20, 24);
}

#[test]
fn what_does_not_fit_is_found_as_lance_finds_it() {
    model(24 << 10, 12);
}

#[tokio::test]
async fn a_plan_tells_who_answers() {
    let pair = Pair::new(0..300, 64 << 20).await;
    let query = serde_json::json!({ "k": 3, "vector": vec![0.5; DIMENSION], "columns": ["id"] });
    // The first reading of a column is Lance's, the second brings it in.
    assert!(pair.plan(&query).await.contains("KNNVectorDistance"));
    let plan = pair.plan(&query).await;
    assert!(plan.contains("all vectors of `vector` in memory"), "{plan}");
    pair.index("IVF_PQ", "l2").await;
    let plan = pair.plan(&query).await;
    assert!(plan.contains("index `v` on `vector`"), "{plan}");
    let sorted = serde_json::json!({
        "k": 3, "vector": vec![0.5; DIMENSION], "order_by": [{ "column_name": "id" }],
    });
    assert!(pair.plan(&sorted).await.contains("ANNSubIndex"));
    let body = serde_json::to_vec(&query).unwrap();
    let analyzed = pair.keeping.analyze_plan(&body, options()).await.unwrap();
    assert!(
        analyzed.contains("vector: output_rows=3, time="),
        "{analyzed}"
    );
}

/// Whatever is written meanwhile, an answer is what Lance finds in the version that it names.
#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_of_their_version_while_others_write() {
    for row_cache_bytes in [24 << 10, 64 << 20] {
        let pair = Arc::new(Pair::new(0..300, row_cache_bytes).await);
        pair.index("IVF_FLAT", "l2").await;
        let writer = {
            let pair = pair.clone();
            tokio::spawn(async move {
                for step in 0..12_i64 {
                    let table = &pair.keeping;
                    table
                        .append(batch(300 + step * 10..310 + step * 10))
                        .await
                        .unwrap();
                    table.delete(&format!("id % 13 = {step}")).await.unwrap();
                }
            })
        };
        let readers = (0..4_i64).map(|reader| {
            let pair = pair.clone();
            tokio::spawn(async move {
                for step in 0..30_i64 {
                    let vector: Vec<f32> = (0..DIMENSION as i64)
                        .map(|place| number(reader * 31 + step, place))
                        .collect();
                    let mut query = match step % 3 {
                        0 => serde_json::json!({ "k": 5, "filter": format!("id in (1, 13, {step})") }),
                        1 => serde_json::json!({ "k": 5, "filter": "`group` = 2" }),
                        _ => serde_json::json!({ "k": 5, "vector": vector, "nprobes": 2 }),
                    };
                    query["columns"] = serde_json::json!(["id", "name", "vector"]);
                    let body = serde_json::to_vec(&query).unwrap();
                    let mut own = pair.keeping.query(&body, options()).await.unwrap();
                    let bytes = own.first().await.unwrap();
                    query["version"] = own.version().into();
                    let body = serde_json::to_vec(&query).unwrap();
                    let expected = answer(&pair.asking, &body).await;
                    assert_eq!(decode(&bytes), decode(&expected), "{query}");
                }
            })
        });
        for reader in readers.collect::<Vec<_>>() {
            reader.await.unwrap();
        }
        writer.await.unwrap();
    }
}

#[tokio::test]
async fn rows_that_a_compaction_removed_are_not_found() {
    let pair = Pair::new(0..300, 64 << 20).await;
    pair.index("IVF_FLAT", "l2").await;
    pair.asking.delete("id < 150").await.unwrap();
    let work = joust_core::Work::new(Arc::new(|_| {}));
    pair.asking
        .compact(&Default::default(), &work)
        .await
        .unwrap();
    for seed in 0..150 {
        let vector: Vec<f32> = (0..DIMENSION as i64)
            .map(|place| number(seed, place))
            .collect();
        let query = serde_json::json!({ "k": 10, "vector": vector, "nprobes": 4 });
        let body = serde_json::to_vec(&query).unwrap();
        let found = decode(&answer(&pair.keeping, &body).await);
        assert_eq!(found.num_rows(), 10);
    }
}

/// It is moved several times on its way to a thread: what is seldom needed is boxed.
#[tokio::test]
async fn the_future_of_a_query_is_small() {
    let pair = Pair::new(0..3, 64 << 20).await;
    let future = pair.keeping.query(b"{}", options());
    assert!(size_of_val(&future) < 16 << 10, "{}", size_of_val(&future));
}
