use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow_flight::sql::{CommandPreparedStatementQuery, ProstMessageExt};
use arrow_flight::{FlightDescriptor, Ticket};
use prost::Message;
use tonic::Code;

use super::fake::{fetch, start};

fn row(values: &[i64]) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    RecordBatch::try_from_iter([("1", column)]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_is_bound_and_run_repeatedly() {
    let started = start().await;
    let mut client = started.client("alice").await;
    let mut prepared = client
        .prepare("PARAMETERS".to_string(), None)
        .await
        .unwrap();
    assert_eq!(prepared.parameter_schema().unwrap().field(0).name(), "$1");
    assert_eq!(prepared.dataset_schema().unwrap().field(0).name(), "n");
    for value in [5, 6] {
        prepared.set_parameters(row(&[value])).unwrap();
        let info = prepared.execute().await.unwrap();
        let batches = fetch(&mut client, info).await.unwrap();
        let column = batches[0].column(0).as_primitive::<Int64Type>().clone();
        assert_eq!(column.values(), &[value]);
    }
    prepared.set_parameters(row(&[1, 2])).unwrap();
    let error = prepared.execute().await.unwrap_err().to_string();
    assert!(error.contains("more than one row"), "{error}");
    prepared.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_is_prepared_too() {
    let started = start().await;
    let mut client = started.client("alice").await;
    let mut prepared = client.prepare("CHANGE".to_string(), None).await.unwrap();
    assert_eq!(prepared.execute_update().await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_callers_do_not_reach_a_statement() {
    let started = start().await;
    let mut alice = started.client("alice").await;
    let mut prepared = alice.prepare("PARAMETERS".to_string(), None).await.unwrap();
    prepared.set_parameters(row(&[5])).unwrap();
    let info = prepared.execute().await.unwrap();
    let ticket: Ticket = info.endpoint[0].ticket.clone().unwrap();
    let any = arrow_flight::sql::Any::decode(ticket.ticket.clone()).unwrap();
    let handle: CommandPreparedStatementQuery = any.unpack().unwrap().unwrap();

    let bearer = |key: &str| format!("Bearer {key}").parse().unwrap();
    for (key, found) in [("bob", false), ("alice", true)] {
        let mut request = tonic::Request::new(ticket.clone());
        request.metadata_mut().insert("authorization", bearer(key));
        let reply = started.raw().await.do_get(request).await;
        assert_eq!(reply.is_ok(), found, "{key}");
        let descriptor = FlightDescriptor::new_cmd(handle.as_any().encode_to_vec());
        let mut request = tonic::Request::new(descriptor);
        request.metadata_mut().insert("authorization", bearer(key));
        let reply = started.raw().await.get_flight_info(request).await;
        assert_eq!(reply.is_ok(), found, "{key}");
        if let Err(status) = reply {
            assert_eq!(status.code(), Code::NotFound);
        }
    }
}
