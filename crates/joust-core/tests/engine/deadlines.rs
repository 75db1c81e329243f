//! The time that a request has left ends its work in the engine.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, BinaryArray, RecordBatch};
use joust_core::ipc::Format;
use joust_core::jobs::view_refresh::{NewView, Source};
use joust_core::query::{ChangeOptions, QueryOptions};
use joust_core::table::{ReadOptions, Row};
use joust_core::{Code, Result};

use crate::nearest::pair::{DIMENSION, Pair, answer, answer_with, decode, options};
use crate::place::Place;
use crate::sent::{upload, upload_numbers};

/// Work is polled once, and dropped if it waits.
const NO_TIME: Option<Duration> = Some(Duration::ZERO);

/// Attempts work without time until one attempt ends early, and returns the number of that attempt. Other threads do a
/// part of the work. On a busy host they can be done before its first poll looks at them, and the work rightly succeeds.
/// So each attempt needs an engine or a table that has nothing cached.
async fn ends_early<T>(work: impl AsyncFn(usize) -> Result<T>) -> usize {
    for attempt in 0..1_000 {
        if let Err(error) = work(attempt).await {
            assert_eq!(error.code(), Code::ServiceUnavailable, "{error}");
            return attempt;
        }
    }
    panic!("no work without time ended early");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_of_branches_ends() {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();
    table.create_branch("b", None).await.unwrap();
    let found = table.difference("b", Some(Duration::from_secs(60))).await;
    assert_eq!(found.unwrap().rows_on_branch, 10);
    ends_early(async |_| place.beside().table("t").difference("b", NO_TIME).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_value_ends() {
    let place = Place::new();
    let table = place.table("t");
    let values: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"abc"]));
    let rows = RecordBatch::try_from_iter([("value", values)]).unwrap();
    table.create(upload(&rows), false).await.unwrap();
    let value = |timeout| table.blob("value", Row::Id(0), ReadOptions::default(), timeout);
    let blob = value(Some(Duration::from_secs(60))).await.unwrap();
    assert_eq!(blob.read(1..3).await.unwrap(), "bc");
    ends_early(async |_| {
        let table = place.beside().table("t");
        let value = table.blob("value", Row::Id(0), ReadOptions::default(), NO_TIME);
        value.await
    })
    .await;
}

/// The deadlines lie in all steps of a search: opening of the table and the index, search, reading of the rows.
#[tokio::test(flavor = "multi_thread")]
async fn a_vector_search_ends_or_is_complete() {
    for kind in ["", "IVF_PQ", "IVF_HNSW_SQ"] {
        let pair = Pair::new(0..300, 0).await;
        if !kind.is_empty() {
            pair.index(kind, "l2").await;
        }
        let vector = [0.5; DIMENSION];
        let query = serde_json::json!({ "k": 5, "vector": vector, "nprobes": 4 });
        let body = serde_json::to_vec(&query).unwrap();
        let expected = decode(&answer(&pair.asking, &body).await);
        assert_eq!(expected.num_rows(), 5);
        let search = async |timeout| -> Result<()> {
            let options = QueryOptions {
                timeout,
                ..options()
            };
            let bytes = answer_with(&pair.unknown(), &body, options).await?;
            assert_eq!(decode(&bytes), expected, "{kind}");
            Ok(())
        };
        ends_early(async |_| search(NO_TIME).await).await;
        for number in 1_u64.. {
            match search(Some(Duration::from_micros(number * number * 20))).await {
                Ok(()) => break,
                Err(error) => assert_eq!(error.code(), Code::ServiceUnavailable, "{kind}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_planning_of_a_view_ends_and_leaves_nothing() {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();
    let new = NewView {
        sql: "SELECT n FROM t".into(),
        sources: vec![Source {
            name: vec!["t".into()],
            table: vec!["t".into()],
            location: place.location("t"),
            storage_options: Default::default(),
            version: None,
        }],
        schema: None,
        auto_refresh: None,
        function: None,
    };
    let view = |attempt: usize| place.table(&format!("v{attempt}"));
    let attempt = ends_early(async |attempt| view(attempt).create_view(&new, NO_TIME).await).await;
    let ended = view(attempt);
    assert_eq!(ended.view().await.unwrap_err().code(), Code::TableNotFound);
    assert_eq!(ended.create_view(&new, None).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_for_a_change_ends() {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();
    let options = ChangeOptions {
        from: 1,
        to: None,
        columns: None,
        wait: Duration::from_secs(3_600),
        format: Format::Stream,
        not_before: None,
        min_version: None,
        timeout: Some(Duration::from_millis(50)),
    };
    let error = table.changes(options).await.map(drop).unwrap_err();
    assert_eq!(error.code(), Code::ServiceUnavailable);
}
