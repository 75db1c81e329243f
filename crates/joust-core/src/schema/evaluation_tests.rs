use std::sync::Arc;

use arrow::array::{
    ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow::datatypes::Float32Type;
use lance::dataset::WriteParams;

use super::*;

const LONG: usize = 20_000;
const TEXTS: i64 = 10_000;

/// A table of numbers, vectors and texts of this size in bytes, in memory.
async fn table(bytes: usize) -> Dataset {
    of(TEXTS, bytes).await
}

async fn few(rows: i64) -> Dataset {
    of(rows, 10).await
}

async fn of(rows: i64, bytes: usize) -> Dataset {
    let numbers = Int64Array::from_iter_values(0..rows);
    // Random, so that files hardly compress them.
    let mut state = 7_u64;
    let mut text = || {
        let letter = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'!' + (state >> 33) as u8 % 90)
        };
        (0..bytes).map(letter).collect::<String>()
    };
    let texts = StringArray::from_iter_values((0..rows).map(|_| text()));
    let vectors = (0..rows).map(|n| Some((0..64).map(move |at| Some((n * at) as f32))));
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 64);
    let columns: [(&str, ArrayRef); 3] = [
        ("n", Arc::new(numbers)),
        ("s", Arc::new(texts)),
        ("v", Arc::new(vectors)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let schema = batch.schema();
    let rows = RecordBatchIterator::new([Ok(batch)], schema);
    Dataset::write(rows, "memory://t.lance", Some(WriteParams::default()))
        .await
        .unwrap()
}

fn expressions(sql: &[&str]) -> Vec<Expression> {
    sql.iter()
        .map(|sql| Expression::new(sql).unwrap())
        .collect()
}

fn change(table: &Dataset, sql: &str) -> Option<Evaluation> {
    Evaluation::of_change(table, &expressions(&[sql]), u64::MAX, 0)
}

fn threads() -> usize {
    get_num_compute_intensive_cpus()
}

#[tokio::test]
async fn comparisons_need_no_memory_for_values() {
    let table = table(10).await;
    for sql in [
        "n = 1",
        "s = 'a' AND n > 2 OR s IS NULL",
        "n + 1 < abs(n)",
        "s LIKE 'a%'",
    ] {
        assert_eq!(
            Evaluation::of_scan(&table, &expressions(&[sql])),
            None,
            "{sql}"
        );
    }
    let list: Vec<String> = (0..5_000).map(|n| format!("'{n:020}'")).collect();
    let sql = format!("s IN ({})", list.join(", "));
    assert_eq!(change(&table, &sql), None);
}

#[tokio::test]
async fn memory_for_texts_grows_with_the_length_of_their_column() {
    let table = table(LONG).await;
    let made = |sql| change(&table, sql).unwrap();
    let once = made("upper(s)");
    let rows = (8_192 * threads()).min(TEXTS as usize);
    assert_eq!((once.rows, once.in_flight), (8_192, rows));
    // The estimate assumes that files are compressed.
    let column = LONG * rows * 4;
    let about = |bytes: usize, times: usize| {
        (times * column * 9 / 10..times * column * 12 / 10).contains(&bytes)
    };
    assert!(about(once.bytes, 1), "{once:?}");
    assert!(about(made("repeat(s, 60) = ''").bytes, 60));
    // `s || s` is in memory while the third is appended.
    assert!(about(made("s || s || s").bytes, 2 + 3));
    // The second is computed after the first is freed.
    assert!(about(
        made("length(repeat(s, 3)) + length(repeat(s, 3))").bytes,
        3
    ));
    // Both are in memory for the comparison.
    assert!(about(made("repeat(s, 3) = repeat(s, 4)").bytes, 7));
}

#[tokio::test]
async fn only_what_surely_grows_is_refused() {
    let table = table(LONG).await;
    let least = |sql| change(&table, sql).unwrap().least_bytes;
    for sql in [
        "upper(s)",
        "left(s, 10)",
        "coalesce(s, '')",
        "s || s || s",
        "cast(s AS binary)",
    ] {
        assert!(least(sql) < 1 << 20, "{sql}: {}", least(sql));
    }
    let rows = (8_192 * threads()).min(TEXTS as usize);
    assert!(least("repeat(s, 60) = ''") >= 60 * LONG * rows * 9 / 10);
    let long = format!("s || '{}'", "x".repeat(8_000));
    assert!(least(&long) >= 8_000 * rows);
}

#[tokio::test]
async fn a_change_of_few_rows_makes_little() {
    let table = table(LONG).await;
    let long = format!("'{}'", "x".repeat(60_000));
    let made = Evaluation::of_change(&table, &expressions(&[&long]), 3, 0).unwrap();
    assert_eq!((made.in_flight, made.bytes), (3, 3 * 60_000));
    // The row of a merge counts, too.
    let merged = "length(repeat(source.t, 50)) > 1";
    let made = Evaluation::of_change(&table, &expressions(&[merged]), 100, 1 << 20).unwrap();
    assert!(made.bytes >= (100 * 50) << 20, "{made:?}");
}

#[tokio::test]
async fn a_column_that_is_not_read_costs_nothing() {
    let table = table(LONG).await;
    let made = |sql| change(&table, sql).unwrap();
    let number = made("cast(n AS string) || 'x'").bytes;
    assert!(number < made("upper(s)").bytes / 50, "{number}");
    // An unknown column counts as any of them.
    let any = made("upper(source.anything)").bytes;
    assert!(any >= made("upper(s)").bytes);
}

#[tokio::test]
async fn texts_that_are_written_out_count_for_each_row() {
    let table = table(10).await;
    let long = "x".repeat(8_000);
    for sql in [
        format!("s || '{long}'"),
        format!("strpos(s, '{long}') > 0"),
        format!("'{long}'"),
        format!("array_position(['{long}', s], s) = 1"),
    ] {
        let made = change(&table, &sql).unwrap();
        assert!(
            made.bytes >= 8_000 * 8_192 * threads(),
            "{}: {made:?}",
            &sql[..20]
        );
    }
}

#[tokio::test]
async fn a_scan_has_batches_that_stay_small() {
    let table = table(LONG).await;
    let scan = |sql| Evaluation::of_scan(&table, &expressions(&[sql])).unwrap();
    assert!(scan("repeat(s, 60)").rows < 4);
    // Batches of a few rows would cost more than their results.
    assert_eq!(scan("upper(s)").rows, 256);
    assert_eq!(scan("s || s || s").rows, 64);
    assert_eq!(scan("cast(n AS string) || 'x'").rows, 8_192);
}

#[tokio::test]
async fn a_change_counts_at_most_the_rows_of_the_table() {
    let table = table(10).await;
    let made = change(&table, "upper(s)").unwrap();
    assert_eq!(made.rows, 8_192);
    let few = few(40).await;
    let made = change(&few, "upper(s)").unwrap();
    assert_eq!(made.rows, 40);
}

#[tokio::test]
async fn many_calls_make_batches_short() {
    let table = table(10).await;
    let rows = |sql: &str| Evaluation::of_scan(&table, &expressions(&[sql])).map(|one| one.rows);
    let nested = |count: usize| format!("{}n{} > 1", "abs(".repeat(count), ")".repeat(count));
    assert_eq!(rows(&nested(8)), None);
    assert_eq!(rows(&nested(16)), Some(4_096));
    assert_eq!(rows(&nested(32)), Some(2_048));
    let wide = vec![nested(32); 40].join(" AND ");
    assert_eq!(rows(&wide), Some(64));
    let compared = vec!["n + 1 = 2"; 500].join(" OR ");
    assert_eq!(rows(&compared), None);
    // Lance chooses the batches of a change.
    assert_eq!(change(&table, &nested(32)), None);
    assert!(!takes_long([nested(8).as_str()]));
    assert!(takes_long([nested(9).as_str()]));
    assert!(takes_long(vec![nested(1).as_str(); 9]));
    assert!(!takes_long(["n = ", ""]));
}
