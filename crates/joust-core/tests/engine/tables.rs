//! What a table handle guarantees while other writers change the table.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchIterator};
use joust_core::ipc::Format;
use joust_core::query::QueryOptions;
use joust_core::table::ReadOptions;
use joust_core::{Code, Engine, EngineOptions, Result, Table};
use lance::Dataset;
use lance::dataset::{WriteMode, WriteParams};

use crate::place::Place;
use crate::sent::{numbers, stream, upload, upload_bytes, upload_numbers};

impl Place {
    /// A writer that this engine knows nothing of.
    async fn foreign_write(&self, range: std::ops::Range<i64>, mode: WriteMode) {
        let batch = numbers(range);
        let schema = batch.schema();
        let reader = RecordBatchIterator::new([Ok(batch)], schema);
        let params = WriteParams {
            mode,
            ..WriteParams::default()
        };
        Dataset::write(reader, &self.location("t"), Some(params))
            .await
            .unwrap();
    }
}

async fn count(table: &Table, predicate: Option<&str>) -> Result<u64> {
    table.count_rows(predicate, ReadOptions::default()).await
}

async fn query(table: &Table, body: &str) -> Result<Vec<u8>> {
    let options = QueryOptions {
        id: vec!["t".into()],
        format: Format::File,
        not_before: None,
        min_version: None,
        timeout: None,
    };
    table.query(body.as_bytes(), options).await?.first().await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_creations_at_the_same_time_one_succeeds() {
    let place = Place::new();
    let other = place.beside();
    for round in 0..200_u64 {
        let name = format!("t{round}");
        let (one, two) = (place.table(&name), other.table(&name));
        // Lance looks for the table twice, and the second creation has to begin between its looks.
        let later = async {
            tokio::time::sleep(Duration::from_micros(round * 25)).await;
            two.create(upload_numbers(0..20), false).await
        };
        let (one, two) = tokio::join!(one.create(upload_numbers(0..10), false), later);
        let (written, error, rows) = match (one, two) {
            (Ok(written), Err(error)) => (written, error, 10),
            (Err(error), Ok(written)) => (written, error, 20),
            both => panic!("round {round}: {both:?}"),
        };
        assert_eq!(written.version, 1);
        assert_eq!(error.code(), Code::TableAlreadyExists);
        let table = place.beside().table(&name);
        assert_eq!(count(&table, None).await.unwrap(), rows);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_is_seen_by_the_next_read() {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();
    for round in 1..20 {
        let written = table.append(upload_numbers(0..1)).await.unwrap();
        assert_eq!(written.version, round + 1);
        assert_eq!(count(&table, None).await.unwrap(), 10 + round);
        assert!(
            table.peek().is_some(),
            "a local table's state is known without waiting"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_write_is_seen_by_the_next_read_however_quickly_it_follows() {
    let place = Place::new();
    place.foreign_write(0..1, WriteMode::Create).await;
    let table = place.table("t");
    for expected in 1..40 {
        assert_eq!(count(&table, None).await.unwrap(), expected);
        place.foreign_write(0..1, WriteMode::Append).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_made_anew_at_the_same_place_is_another_table() {
    let place = Place::new();
    let table = place.table("t");
    for rows in [5, 3, 9] {
        let batch = numbers(100..100 + rows);
        table.create(upload(&batch), false).await.unwrap();
        table.delete("n = 100").await.unwrap();
        let expected = rows as u64 - 1;
        assert_eq!(count(&table, None).await.unwrap(), expected);
        assert_eq!(count(&table, Some("n > 0")).await.unwrap(), expected);
        query(&table, r#"{"k":5,"filter":"n > 101","with_row_id":true}"#)
            .await
            .unwrap();
        place
            .engine
            .remove_table(&place.location("t"), Default::default())
            .await
            .unwrap();
        assert_eq!(
            count(&table, None).await.unwrap_err().code(),
            Code::TableNotFound
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_table_that_replaces_ours_is_noticed() {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();
    assert_eq!(count(&table, Some("n >= 0")).await.unwrap(), 10);
    std::fs::remove_dir_all(place.location("t")).unwrap();
    place.foreign_write(0..3, WriteMode::Create).await;
    assert_eq!(count(&table, Some("n >= 0")).await.unwrap(), 3);
}

/// Also where it has fewer versions than ours had.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_table_of_fewer_versions_is_noticed_and_written_to() {
    let place = Place::new();
    let table = place.table("t");
    let rows = || upload_numbers(0..10);
    table.create(rows(), false).await.unwrap();
    for _ in 0..4 {
        table.append(rows()).await.unwrap();
    }
    // Moved, so that what takes its place can't be taken for it by chance.
    let aside = format!("{}/aside", place.directory.path().display());
    std::fs::rename(place.location("t"), aside).unwrap();
    place.foreign_write(0..3, WriteMode::Create).await;
    assert_eq!(count(&table, Some("n >= 0")).await.unwrap(), 3);
    assert_eq!(table.append(rows()).await.unwrap().version, 2);
    assert_eq!(count(&table, Some("n >= 0")).await.unwrap(), 13);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_breaks_off_commits_nothing() {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();

    let mut bytes = stream(&[numbers(0..100_000)]);
    bytes.truncate(bytes.len() / 2);
    let (push, read) = Engine::new(EngineOptions::default()).upload();
    push.push(&bytes);
    push.abort();
    let aborted = table.append(read).await.unwrap_err();
    assert_eq!(aborted.code(), Code::InvalidInput);
    assert!(aborted.message().contains("ended early"), "{aborted}");

    let cut = table.append(upload_bytes(&bytes)).await.unwrap_err();
    assert_eq!(cut.code(), Code::InvalidInput);
    assert!(cut.message().contains("ends inside a message"), "{cut}");

    assert_eq!(count(&table, None).await.unwrap(), 10);
    assert_eq!(
        table
            .stats(ReadOptions::default())
            .await
            .unwrap()
            .num_fragments,
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_another_schema_are_refused_as_such() {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();
    let words: ArrayRef = Arc::new(arrow::array::StringArray::from(vec!["a"]));
    let other = RecordBatch::try_from_iter([("word", words)]).unwrap();
    let error = table.append(upload(&other)).await.unwrap_err();
    assert_eq!(error.code(), Code::TableSchemaValidationError, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_gets_wrong_is_never_an_internal_error() {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();
    for (body, code) in [
        (r#"{"k":1,"filter":"m = 1"}"#, Code::TableColumnNotFound),
        (r#"{"k":1,"filter":"n ="}"#, Code::InvalidInput),
        (r#"{"k":1,"filter":"n"}"#, Code::InvalidInput),
        (r#"{"k":1,"filter":"1 / (n - n) = 1"}"#, Code::InvalidInput),
        (r#"{"k":1,"filter":"nosuch(n) = 1"}"#, Code::InvalidInput),
        (
            r#"{"k":1,"filter":"cast('x' as int) = n"}"#,
            Code::InvalidInput,
        ),
        (r#"{"k":1,"columns":["m"]}"#, Code::TableColumnNotFound),
        (
            r#"{"k":1,"columns":{"a":"m + 1"}}"#,
            Code::TableColumnNotFound,
        ),
        (r#"{"k":1,"vector":[1,2]}"#, Code::InvalidInput),
        (r#"{"k":1,"version":7}"#, Code::TableVersionNotFound),
        (r#"{"k":1,"branch":"b"}"#, Code::TableBranchNotFound),
        (
            r#"{"k":1,"full_text_query":{"query":"x"}}"#,
            Code::InvalidInput,
        ),
        (r#"{"k":1,"id":["other"]}"#, Code::InvalidInput),
        (r"[]", Code::InvalidInput),
    ] {
        let error = query(&table, body).await.unwrap_err();
        assert_eq!(error.code(), code, "{body}: {error}");
        assert!(!error.message().contains(".rs:"), "{error}");
        assert!(!error.message().contains(&place.location("t")), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_very_long_filter_is_answered() {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();
    let list: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    let filter = format!("n IN ({})", list.join(","));
    assert_eq!(count(&table, Some(&filter)).await.unwrap(), 10);
}
