//! A worker that computes rows of views with Lance in this process, as pylance does on Ray.

#![allow(clippy::panic)]

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{Schema, UInt64Type};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::TryStreamExt;
use joust_core::Result;
use joust_core::jobs::remote::{Order, Part, RemoteWork, Task};
use joust_core::jobs::view_refresh::Refreshed;
use lance::Dataset;
use lance::dataset::builder::DatasetBuilder;
use lance::dataset::transaction::Operation;
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use lance_core::ROW_ADDR;
use serde_json::{Value, json};

use super::View;
use crate::orders::next_order;
use crate::place::Place;

/// Refreshes a view with a worker. Also returns whether it had work.
pub async fn refresh(view: &View, place: &Place, full: bool) -> (Result<Refreshed>, bool) {
    let remote = RemoteWork::new(0);
    let worker = tokio::spawn(work(remote.clone()));
    let begun = remote.begin();
    let refreshed = view.refresh_with(place, full, Some(remote.clone())).await;
    drop(begun);
    worker.abort();
    (refreshed, remote.ordered().await)
}

/// Does all tasks of all orders.
async fn work(remote: RemoteWork) {
    let mut number = 0;
    loop {
        let order;
        (number, order) = next_order(&remote, number).await;
        for task in &order.tasks {
            let part = part(&order, task).await;
            remote.deliver(part).await.unwrap();
        }
    }
}

pub async fn part(order: &Order, task: &Task) -> Part {
    let source = &order.details["source"];
    let version = source["version"].as_u64().unwrap();
    let source = open(source["location"].as_str().unwrap(), version).await;
    let fragment = task.details["fragment"].as_u64().unwrap();
    let fragment = source.get_fragment(fragment as usize).unwrap();
    let mut selected = vec![0_u8; fragment.metadata().physical_rows.unwrap().div_ceil(8)];
    let columns: Vec<(String, String)> =
        serde_json::from_value(order.details["columns"].clone()).unwrap();
    let mut scanner = source.scan();
    scanner.project_with_transform(&columns).unwrap();
    scanner.with_row_address();
    scanner.with_fragments(vec![fragment.metadata().clone()]);
    scanner.scan_in_order(true);
    scanner.use_scalar_index(false);
    if let Some(condition) = condition(&order.details) {
        scanner.filter(&condition).unwrap();
    }
    let view = Arc::new(open(&order.location, order.version).await);
    let schema = Arc::new(Schema::from(view.schema()));
    let mut rows = Vec::new();
    let mut batches = scanner.try_into_stream().await.unwrap();
    while let Some(batch) = batches.try_next().await.unwrap() {
        let addresses = batch.column_by_name(ROW_ADDR).unwrap();
        for address in addresses.as_primitive::<UInt64Type>().values() {
            let offset = (address & 0xffff_ffff) as usize;
            selected[offset / 8] |= 1 << (offset % 8);
        }
        let columns = schema.fields().iter().map(|field| {
            let column = batch.column_by_name(field.name()).unwrap();
            cast(column, field.data_type()).unwrap()
        });
        rows.push(RecordBatch::try_new(schema.clone(), columns.collect()).unwrap());
    }
    Part {
        key: task.key.clone(),
        result: json!({
            "files": write(view, rows).await,
            "selected": STANDARD.encode(selected),
            "called": 0,
            "failed": 0,
            "failures": [],
        }),
    }
}

fn condition(details: &Value) -> Option<String> {
    let after = details["after"].as_u64().map(|version| {
        format!("_row_created_at_version > {version} OR _row_last_updated_at_version > {version}")
    });
    let filter = details["filter"].as_str().map(str::to_string);
    let conditions: Vec<String> = after.into_iter().chain(filter).collect();
    let conditions = conditions.iter().map(|one| format!("({one})"));
    conditions.reduce(|all, one| format!("{all} AND {one}"))
}

/// The names of new files with these rows.
async fn write(table: Arc<Dataset>, rows: Vec<RecordBatch>) -> Vec<String> {
    if rows.iter().all(|batch| batch.num_rows() == 0) {
        return Vec::new();
    }
    let params = WriteParams {
        mode: WriteMode::Append,
        ..WriteParams::default()
    };
    let written = InsertBuilder::new(table)
        .with_params(&params)
        .execute_uncommitted(rows)
        .await
        .unwrap();
    let Operation::Append { fragments } = written.operation else {
        panic!("another operation than an append");
    };
    let files = fragments.iter().flat_map(|fragment| &fragment.files);
    files.map(|file| file.path.clone()).collect()
}

async fn open(location: &str, version: u64) -> Dataset {
    let builder = DatasetBuilder::from_uri(location).with_version(version);
    builder.load().await.unwrap()
}
