//! Values by row ids, in tables that other tools have made.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, RecordBatch};
use joust_core::Code;
use joust_core::table::ReadOptions;
use lance::dataset::{InsertBuilder, WriteParams};

use crate::place::Place;

/// The id of a row of a table without stable row ids.
fn id(fragment: u64, offset: u64) -> u64 {
    fragment << 32 | offset
}

#[tokio::test]
async fn rows_that_do_not_exist_are_reported_in_any_order() {
    let place = Place::new();
    let values: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"a", b"bc", b""]));
    let batch = RecordBatch::try_from_iter([("value", values)]).unwrap();
    let params = WriteParams {
        enable_stable_row_ids: false,
        ..WriteParams::default()
    };
    InsertBuilder::new(place.location("t").as_str())
        .with_params(&params)
        .execute(vec![batch])
        .await
        .unwrap();
    let table = place.table("t");
    let read = ReadOptions::default;
    let two = [id(0, 1), id(0, 0)];
    table.fetch_blobs("value", &two, read()).await.unwrap();
    for missing in [
        vec![id(9, 1), id(8, 0)],
        vec![id(8, 0), id(9, 1)],
        vec![id(1, 0), id(0, 2)],
        vec![id(0, 4), id(0, 3)],
        vec![id(0, 3)],
        vec![u64::MAX, 0],
    ] {
        let error = table.fetch_blobs("value", &missing, read()).await;
        let error = error.unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput, "{missing:?}");
        assert!(error.message().contains("do not exist"), "{missing:?}");
    }
}
