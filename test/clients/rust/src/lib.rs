//! What the tests of LanceDB's SDK share. The server is at `JOUST_URL`; its key is in `JOUST_KEY`, and `JOUST_SQL_PORT`
//! is the port of Flight SQL.

use std::env::var;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use futures::TryStreamExt;
use lancedb::Connection;
use lancedb::connection::ConnectBuilder;
use lancedb::remote::{ClientConfig, TimeoutConfig};

/// A connection to the root of the server.
pub async fn connect() -> Connection {
    connect_to("db://joust").await
}

pub async fn connect_to(uri: &str) -> Connection {
    builder(uri).execute().await.unwrap()
}

/// A connection that gives up a statement that is silent for this long.
pub async fn connect_with_read_timeout(timeout: Duration) -> Connection {
    let config = ClientConfig {
        timeout_config: TimeoutConfig {
            read_timeout: Some(timeout),
            ..TimeoutConfig::default()
        },
        ..ClientConfig::default()
    };
    let builder = builder("db://joust").client_config(config);
    builder.execute().await.unwrap()
}

fn builder(uri: &str) -> ConnectBuilder {
    lancedb::connect(uri)
        .api_key(&key())
        .region("local")
        .host_override(&url())
        .sql_host_override(&sql_url())
}

pub fn url() -> String {
    var("JOUST_URL").unwrap()
}

pub fn key() -> String {
    var("JOUST_KEY").unwrap()
}

pub fn sql_url() -> String {
    format!("grpc://127.0.0.1:{}", var("JOUST_SQL_PORT").unwrap())
}

/// Rows `from..from + count` with the columns `id`, `name` and `price`, which is twice the id.
pub fn items(from: i64, count: i64) -> RecordBatch {
    let ids = || from..from + count;
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("name", DataType::Utf8, true),
        Field::new("price", DataType::Float64, true),
    ]);
    let names: Vec<String> = ids().map(|id| format!("item {id}")).collect();
    let prices = ids().map(|id| id as f64 * 2.0);
    RecordBatch::try_new(
        Arc::new(schema),
        vec![
            Arc::new(Int64Array::from_iter_values(ids())),
            Arc::new(StringArray::from(names)),
            Arc::new(Float64Array::from_iter_values(prices)),
        ],
    )
    .unwrap()
}

/// The first column of a statement's rows, which are integers.
pub async fn integers(
    connection: &Connection,
    sql: &str,
    parameters: Option<RecordBatch>,
) -> lancedb::Result<Vec<i64>> {
    let mut statement = connection.execute_query_async(sql);
    if let Some(parameters) = parameters {
        statement = statement.parameters(parameters);
    }
    let rows = statement.execute().await?.reader().await?;
    let batches: Vec<RecordBatch> = rows.try_collect().await?;
    Ok(batches
        .iter()
        .flat_map(|batch| {
            let column = batch.column(0).as_any().downcast_ref::<Int64Array>();
            column.unwrap().values().to_vec()
        })
        .collect())
}

/// Waits until a condition is true, for 30 s at most.
pub async fn eventually(what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    for _ in 0..300 {
        if is_true().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("after 30 s not: {what}");
}
