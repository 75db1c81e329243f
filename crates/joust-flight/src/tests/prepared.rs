use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow_flight::sql::{CommandPreparedStatementQuery, ProstMessageExt};
use arrow_flight::{FlightDescriptor, Ticket};
use prost::Message;
use tonic::Code;

use super::fake::{Started, fetch, start, texts, until};

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

/// Runs a prepared change with rows of parameters.
async fn change(started: &Started, sql: &str, values: &[i64]) -> Result<i64, String> {
    let mut client = started.client("alice").await;
    let mut prepared = client.prepare(sql.to_string(), None).await.unwrap();
    prepared.set_parameters(row(values)).unwrap();
    let changed = prepared.execute_update().await;
    changed.map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_insert_takes_all_rows_at_once() {
    let started = start().await;
    let values: Vec<i64> = (0..1_000).collect();
    assert_eq!(change(&started, "INSERT", &values).await, Ok(1_000));
    assert_eq!(*started.seen.changes.lock().unwrap(), [1_000]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_change_runs_for_each_row_in_order() {
    let started = start().await;
    assert_eq!(change(&started, "DELETE", &[1, 2, 3]).await, Ok(3));
    assert_eq!(*started.seen.changes.lock().unwrap(), [1, 1, 1]);

    let error = change(&started, "DELETE", &[1, 2, -3, 4])
        .await
        .unwrap_err();
    assert!(
        error.contains(
            "row 3 of 4 of the parameters failed, rows 1 to 2 were applied: it is negative"
        ),
        "{error}"
    );
    assert_eq!(started.seen.changes.lock().unwrap().len(), 5);
    until(|| !started.seen.reports.lock().unwrap().is_empty()).await;
    let is_logged = || {
        let reports = started.seen.reports.lock().unwrap();
        reports
            .iter()
            .any(|report| report.cause.as_deref() == Some("a cause"))
    };
    until(is_logged).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_row_of_parameters_nothing_runs() {
    let started = start().await;
    for sql in ["INSERT", "DELETE"] {
        assert_eq!(change(&started, sql, &[]).await, Ok(0));
    }
    assert!(started.seen.changes.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rows_of_parameters_are_bounded() {
    let started = start().await;
    let error = change(&started, "INSERT", &vec![0; 100_001]).await;
    assert!(error.unwrap_err().contains("more than 100000 rows"));

    let mut client = started.client("alice").await;
    let mut prepared = client.prepare("INSERT".to_string(), None).await.unwrap();
    let long = "x".repeat(1 << 20);
    let values = vec![long.as_str(); 17];
    prepared.set_parameters(texts(&[("1", &values)])).unwrap();
    let error = prepared.execute_update().await.unwrap_err().to_string();
    assert!(error.contains("more than 16 MiB"), "{error}");
    // What was held is free again.
    for _ in 0..20 {
        let values = vec![0; 100_000];
        assert_eq!(change(&started, "INSERT", &values).await, Ok(100_000));
    }
    assert!(
        started
            .seen
            .changes
            .lock()
            .unwrap()
            .iter()
            .all(|rows| *rows == 100_000)
    );
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
