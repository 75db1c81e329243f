//! The messages of LanceDB's SDK 0.41, built by hand.

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::{FlightData, FlightDescriptor, Ticket};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use prost::Message;
use std::sync::Arc;

use super::fake::{request, rows, start};

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct CommandStatementQuery {
    #[prost(string, tag = "1")]
    query: String,
}

/// The ticket of a submission.
#[derive(Clone, PartialEq, Message)]
struct Submission {
    #[prost(bytes = "vec", tag = "2")]
    command: Vec<u8>,
}

fn command(sql: &str) -> Vec<u8> {
    let query = CommandStatementQuery {
        query: sql.to_string(),
    };
    Any {
        type_url: "type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery".to_string(),
        value: query.encode_to_vec(),
    }
    .encode_to_vec()
}

fn ticket(sql: &str) -> tonic::Request<Ticket> {
    let submission = Submission {
        command: command(sql),
    };
    let mut request = request(Ticket::new(submission.encode_to_vec()));
    let metadata = request.metadata_mut();
    metadata.insert("lancedb-sql-protocol", "adaptive-v1".parse().unwrap());
    metadata.insert("namespace-path", "a$b".parse().unwrap());
    metadata.insert("database", "db".parse().unwrap());
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_gives_the_rows_without_a_handshake() {
    let started = start().await;
    let response = started.raw().await.do_get(ticket("SCOPE")).await.unwrap();
    assert!(response.metadata().get("lancedb-sql-protocol").is_none());
    let batches = rows(response.into_inner()).await.unwrap();
    assert_eq!(batches[0].column(0).as_string::<i32>().value(0), "db");
    assert_eq!(batches[0].column(1).as_string::<i32>().value(0), "a$b");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_comes_in_place_of_the_response() {
    let started = start().await;
    let status = started
        .raw()
        .await
        .do_get(ticket("NONE"))
        .await
        .unwrap_err();
    assert_eq!(status.message(), "no statement `NONE`");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_without_rows_has_a_schema() {
    let started = start().await;
    let response = started.raw().await.do_get(ticket("ROWS 0")).await.unwrap();
    let messages: Vec<FlightData> = response.into_inner().try_collect().await.unwrap();
    assert_eq!(messages.len(), 1);
    assert!(!messages[0].data_header.is_empty());
}

async fn exchange(rows: &[i64]) -> Result<Vec<RecordBatch>, tonic::Status> {
    let started = start().await;
    let column: ArrayRef = Arc::new(Int64Array::from(rows.to_vec()));
    let batch = RecordBatch::try_from_iter([("limit", column)]).unwrap();
    let descriptor = FlightDescriptor::new_cmd(Bytes::from(command("PARAMETERS")));
    let messages: Vec<FlightData> = FlightDataEncoderBuilder::new()
        .with_flight_descriptor(Some(descriptor))
        .build(stream::iter([Ok(batch)]))
        .try_collect()
        .await
        .unwrap();
    let messages = request(stream::iter(messages).boxed());
    let response = started.raw().await.do_exchange(messages).await?;
    super::fake::rows(response.into_inner()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_come_with_the_statement() {
    let batches = exchange(&[41]).await.unwrap();
    let column = batches[0].column_by_name("limit").unwrap();
    assert_eq!(column.as_primitive::<Int64Type>().values(), &[41]);
    let status = exchange(&[1, 2]).await.unwrap_err();
    assert!(status.message().contains("more than one row"), "{status}");
}
