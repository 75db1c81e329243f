//! A condition has one answer: Lance's, whatever is in memory.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array,
};
use arrow::datatypes::Int64Type;
use arrow::ipc::reader::FileReader;
use futures::TryStreamExt;
use joust_core::ipc::Format;
use joust_core::query::QueryOptions;
use joust_core::table::ReadOptions;
use joust_core::{Engine, EngineOptions, Error, Result, Table};
use lance::Dataset;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::sent::upload;

const ROWS: i64 = 400;

fn rows() -> RecordBatch {
    let ids: Vec<i64> = (0..ROWS - 2).chain([i64::MIN, i64::MAX]).collect();
    let small = ids
        .iter()
        .map(|id| (id % 13 != 0).then_some((*id % 9) as i32 - 4));
    let tiny = ids
        .iter()
        .map(|id| (id % 5 != 0).then_some((*id & 0xff) as u8));
    let texts = ids.iter().map(|id| match id % 6 {
        0 => None,
        1 => Some("it's".to_string()),
        2 => Some(String::new()),
        own => Some(format!("text {own}")),
    });
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from(ids.clone()))),
        ("small", Arc::new(Int32Array::from_iter(small))),
        ("tiny", Arc::new(UInt8Array::from_iter(tiny))),
        ("a text", Arc::new(StringArray::from_iter(texts))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, own)| (name, own, true))).unwrap()
}

/// A comparison of one column, in any spelling, also of values that it can't have.
fn comparison() -> impl Strategy<Value = String> {
    let column = prop::sample::select(vec![
        "id", "ID", "small", "`small`", "tiny", "`a text`", "nope",
    ]);
    let number = prop_oneof![
        4 => (-10_i64..20).prop_map(|number| number.to_string()),
        2 => (-400_i64..400).prop_map(|number| number.to_string()),
        1 => any::<i64>().prop_map(|number| number.to_string()),
        1 => prop::sample::select(vec!["- 3", "007", "2.5", "1e1", "-0", "NULL", "9223372036854775807"])
            .prop_map(str::to_string),
    ];
    let text = prop::sample::select(vec![
        "'it''s'",
        "''",
        "'text 4'",
        "\"text 5\"",
        "'\\'",
        "NULL",
    ]);
    (column, number, text, 0..12_u8, any::<bool>()).prop_map(
        |(column, number, text, form, is_other)| {
            // Now and then of the wrong type.
            let is_text = (column == "`a text`") != (is_other && form == 11);
            let value = if is_text { text.to_string() } else { number };
            match form {
                0 => format!("{column} = {value}"),
                1 => format!("{column}<>{value}"),
                2 => format!("{column} < {value}"),
                3 => format!("{column}<= {value}"),
                4 => format!("{column} >{value}"),
                5 => format!("{column} >= {value}"),
                6 => format!("{column} IN ({value}, {value})"),
                7 => format!("{column} not in ({value})"),
                8 => format!("{column} BETWEEN {value} AND {value}"),
                9 => format!("{column} IS NOT NULL"),
                10 => format!("{column} == {value}"),
                _ => format!("{value} = {column}"),
            }
        },
    )
}

fn condition() -> impl Strategy<Value = String> {
    comparison().prop_recursive(3, 8, 3, |inner| {
        (prop::collection::vec(inner, 1..4), 0..4_u8).prop_map(|(parts, form)| match form {
            0 => format!("({})", parts.join(" or ")),
            1 => format!("NOT ({})", parts.join(" AND ")),
            2 => format!("(\n{} )", parts.join(" AND ")),
            _ => parts.join(" and "),
        })
    })
}

async fn ids(table: &Table, filter: &str) -> Result<Vec<i64>> {
    let body = serde_json::json!({ "k": 10_000, "filter": filter, "columns": ["id"] });
    let options = QueryOptions {
        id: vec!["t".into()],
        format: Format::File,
        not_before: None,
        min_version: None,
        timeout: None,
    };
    let mut answer = table.query(body.to_string().as_bytes(), options).await?;
    let mut bytes = answer.first().await?;
    while let Some(part) = answer.next().await? {
        bytes.extend(part);
    }
    let reader = FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    Ok(reader.flat_map(|batch| of(&batch.unwrap())).collect())
}

fn of(batch: &RecordBatch) -> Vec<i64> {
    let ids = batch.column_by_name("id").unwrap();
    ids.as_primitive::<Int64Type>().values().to_vec()
}

/// The answer of Lance to a text that joust has not checked.
async fn lances(dataset: &Dataset, filter: &str) -> Option<Vec<i64>> {
    let mut scanner = dataset.scan();
    scanner.filter(filter).ok()?.project(&["id"]).ok()?;
    let batches = scanner.try_into_stream().await.ok()?;
    let batches: Vec<RecordBatch> = batches.try_collect().await.ok()?;
    Some(batches.iter().flat_map(of).collect())
}

#[test]
fn a_condition_has_lances_answer_whatever_is_in_memory() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(16 << 20)
        .enable_all()
        .build()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    let open = |row_cache_bytes| {
        let options = EngineOptions {
            row_cache_bytes: Some(row_cache_bytes),
            ..EngineOptions::default()
        };
        Engine::new(options).table(&location, Default::default())
    };
    let (warm, cold) = (open(64 << 20), open(0));
    runtime
        .block_on(warm.create(upload(&rows()), false))
        .unwrap();
    let dataset = runtime.block_on(Dataset::open(&location)).unwrap();
    let mut runner = TestRunner::new(Config {
        cases: 400,
        ..Config::default()
    });
    let checked = runner.run(&condition(), |filter| {
        runtime.block_on(async {
            let expected = lances(&dataset, &filter).await;
            let cold = ids(&cold, &filter).await;
            let count = warm.count_rows(Some(&filter), ReadOptions::default()).await;
            let number = expected.as_ref().map(|ids| ids.len() as u64);
            prop_assert_eq!(count.ok(), number, "{}", filter);
            for _ in 0..3 {
                let warm = ids(&warm, &filter).await;
                let code = |found: &Result<Vec<i64>>| found.as_ref().err().map(Error::code);
                prop_assert_eq!(code(&warm), code(&cold), "{}", filter);
                prop_assert_eq!(warm.ok(), expected.clone(), "{}", filter);
            }
            prop_assert_eq!(cold.ok(), expected, "{}", filter);
            Ok(())
        })
    });
    checked.unwrap();
}

#[test]
fn the_least_number_is_found() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = crate::place::Place::new();
    let table = place.table("t");
    runtime.block_on(async {
        table.create(upload(&rows()), false).await.unwrap();
        for _ in 0..3 {
            for filter in [
                "id = -9223372036854775808",
                "id <= - 9223372036854775808",
                "id IN (-9223372036854775808, -7)",
                "small < 100 AND id BETWEEN -9223372036854775808 AND -1",
            ] {
                assert_eq!(ids(&table, filter).await.unwrap(), [i64::MIN], "{filter}");
            }
        }
    });
}
