//! A worker that computes rows of views with Lance and DataFusion in this process, as the Python packages do on Ray.

#![allow(clippy::panic)]

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{Schema, SchemaRef, UInt64Type};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::TableReference;
use futures::TryStreamExt;
use joust_core::Result;
use joust_core::jobs::remote::{Order, Part, RemoteWork, Task};
use joust_core::jobs::view_refresh::Refreshed;
use lance::Dataset;
use lance::datafusion::LanceTableProvider;
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
    let view = Arc::new(open(&order.location, order.version).await);
    let result = match order.kind {
        "view" => fragment_rows(order, task, view).await,
        "view_query" => all_rows(order, view).await,
        other => panic!("an order for {other}"),
    };
    Part {
        key: task.key.clone(),
        result,
    }
}

/// The rows that come from one fragment of the source.
async fn fragment_rows(order: &Order, task: &Task, view: Arc<Dataset>) -> Value {
    let source = open_source(&order.details["source"]).await;
    let fragment = task.details["fragment"].as_u64().unwrap();
    let fragment = source.get_fragment(fragment as usize).unwrap();
    let mut selected = vec![0_u8; fragment.metadata().physical_rows.unwrap().div_ceil(8)];
    let columns: Vec<(String, String)> =
        serde_json::from_value(order.details["columns"].clone()).unwrap();
    let mut scanner = source.scan();
    scanner.project_with_transform(&columns).unwrap();
    scanner.with_row_id();
    scanner.with_row_address();
    scanner.with_fragments(vec![fragment.metadata().clone()]);
    scanner.scan_in_order(true);
    scanner.use_scalar_index(false);
    if let Some(condition) = condition(&order.details) {
        scanner.filter(&condition).unwrap();
    }
    let scanned = scanner.try_into_stream().await.unwrap();
    let mut rows: Vec<RecordBatch> = scanned.try_collect().await.unwrap();
    if let (Some(sql), Some(schema)) = (order.details["sql"].as_str(), schema_of(&rows)) {
        let context = session(order);
        let table = MemTable::try_new(schema, vec![rows]).unwrap();
        let name = TableReference::full("", "", "source_rows");
        context.register_table(name, Arc::new(table)).unwrap();
        rows = collect(&context, sql).await;
    }
    for batch in &rows {
        let addresses = batch.column_by_name(ROW_ADDR).unwrap();
        for address in addresses.as_primitive::<UInt64Type>().values() {
            let offset = (address & 0xffff_ffff) as usize;
            selected[offset / 8] |= 1 << (offset % 8);
        }
    }
    json!({
        "files": write(view, rows).await,
        "selected": STANDARD.encode(selected),
        "called": 0,
        "failed": 0,
        "failures": [],
    })
}

/// All rows of the query.
async fn all_rows(order: &Order, view: Arc<Dataset>) -> Value {
    let context = session(order);
    for source in order.details["sources"].as_array().unwrap() {
        let table = LanceTableProvider::new(Arc::new(open_source(source).await), false, false);
        let name = source["name"].as_array().unwrap();
        let name = name.last().unwrap().as_str().unwrap();
        let name = TableReference::full("", "", name);
        context.register_table(name, Arc::new(table)).unwrap();
    }
    let rows = collect(&context, order.details["sql"].as_str().unwrap()).await;
    json!({ "files": write(view, rows).await })
}

/// A session of DataFusion with nothing of joust.
fn session(order: &Order) -> SessionContext {
    let mut config = SessionConfig::new();
    let options = order.details["datafusion"]["options"].as_object().unwrap();
    for (name, value) in options {
        let value = value.as_str().unwrap();
        config.options_mut().set(name, value).unwrap();
    }
    SessionContext::new_with_config(config.with_target_partitions(1))
}

async fn collect(context: &SessionContext, sql: &str) -> Vec<RecordBatch> {
    context.sql(sql).await.unwrap().collect().await.unwrap()
}

fn schema_of(rows: &[RecordBatch]) -> Option<SchemaRef> {
    rows.first().map(RecordBatch::schema)
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

/// The names of new files with the columns of the table in these rows.
async fn write(table: Arc<Dataset>, rows: Vec<RecordBatch>) -> Vec<String> {
    let schema = Arc::new(Schema::from(table.schema()));
    let rows = rows.into_iter().filter(|batch| batch.num_rows() > 0);
    let rows = rows.map(|batch| {
        let columns = schema.fields().iter().map(|field| {
            let column = batch.column_by_name(field.name()).unwrap();
            cast(column, field.data_type()).unwrap()
        });
        RecordBatch::try_new(schema.clone(), columns.collect()).unwrap()
    });
    let rows: Vec<RecordBatch> = rows.collect();
    if rows.is_empty() {
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

async fn open_source(source: &Value) -> Dataset {
    let version = source["version"].as_u64().unwrap();
    open(source["location"].as_str().unwrap(), version).await
}

async fn open(location: &str, version: u64) -> Dataset {
    let builder = DatasetBuilder::from_uri(location).with_version(version);
    builder.load().await.unwrap()
}
