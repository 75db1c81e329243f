use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow_flight::sql::{ActionCancelQueryRequest, CommandStatementQuery, ProstMessageExt};
use arrow_flight::{CancelFlightInfoRequest, CancelStatus, Criteria, FlightDescriptor, Ticket};
use futures::StreamExt;
use prost::Message;
use tonic::Code;

use super::fake::{fetch, request, rows, settled, start, until};

fn descriptor(sql: &str) -> FlightDescriptor {
    let query = CommandStatementQuery {
        query: sql.to_string(),
        transaction_id: None,
    };
    FlightDescriptor::new_cmd(query.as_any().encode_to_vec())
}

async fn ticket(started: &super::fake::Started, sql: &str) -> Ticket {
    let mut client = started.raw().await;
    let info = client.get_flight_info(request(descriptor(sql))).await;
    let info = info.unwrap().into_inner();
    info.endpoint[0].ticket.clone().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_gives_its_rows() {
    let started = start().await;
    let mut client = started.client("alice").await;
    let info = client.execute("ROWS 3".to_string(), None).await.unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(count, 3 << 17);
    until(|| started.server.stats().active == 0).await;
    assert!(started.server.stats().sent > 3 << 20);
    assert_eq!(started.server.stats().failed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_gives_the_complete_info() {
    let started = start().await;
    let mut client = started.raw().await;
    let poll = client
        .poll_flight_info(request(descriptor("SELECT 1")))
        .await;
    let poll = poll.unwrap().into_inner();
    assert!(poll.flight_descriptor.is_none());
    assert_eq!(poll.info.unwrap().endpoint.len(), 1);
    let schema = client.get_schema(request(descriptor("SELECT 1"))).await;
    assert!(!schema.unwrap().into_inner().schema.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_has_its_message_and_is_reported() {
    let started = start().await;
    let mut client = started.raw().await;
    let info = client.get_flight_info(request(descriptor("NONE"))).await;
    let status = info.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(status.message(), "no statement `NONE`");
    until(|| !started.seen.reports.lock().unwrap().is_empty()).await;
    let report = started.seen.reports.lock().unwrap()[0].clone();
    assert_eq!(report.operation, "GetFlightInfo");
    assert_eq!(
        (report.code, report.caller.as_str()),
        (Code::NotFound, "alice")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_wait_for_their_reader_and_end_with_it() {
    let started = start().await;
    let ticket = ticket(&started, "ROWS 1000").await;
    let mut client = started.raw().await;
    let mut messages = client.do_get(request(ticket)).await.unwrap().into_inner();
    messages.next().await.unwrap().unwrap();
    let seen = &started.seen;
    let produced = settled(|| seen.batches.load(Ordering::SeqCst)).await;
    assert!(produced < 30, "{produced} batches were read ahead");
    assert_eq!(started.server.stats().streams, 1);
    drop(messages);
    until(|| seen.streams.load(Ordering::SeqCst) == 0).await;
    until(|| started.server.stats().active == 0).await;
    assert_eq!(started.server.stats().streams, 0);
    let reports = seen.reports.lock().unwrap();
    let report = reports.iter().find(|report| report.operation == "DoGet");
    assert_eq!(report.unwrap().code, Code::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_loses_its_rows() {
    let started = start().await;
    let ticket = ticket(&started, "ROWS 1000").await;
    let mut client = started.raw().await;
    let mut messages = client.do_get(request(ticket)).await.unwrap().into_inner();
    messages.next().await.unwrap().unwrap();
    let seen = &started.seen;
    settled(|| seen.batches.load(Ordering::SeqCst)).await;
    let later = Instant::now() + Duration::from_secs(299);
    started.server.streams.close_idle(later);
    assert_eq!(seen.streams.load(Ordering::SeqCst), 1);
    started
        .server
        .streams
        .close_idle(later + Duration::from_secs(3));
    assert_eq!(seen.streams.load(Ordering::SeqCst), 0);
    let status = loop {
        match messages.next().await.unwrap() {
            Ok(_) => {}
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::DeadlineExceeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cancels_its_own_statements() {
    let started = start().await;
    let mut client = started.raw().await;
    let info = client
        .get_flight_info(request(descriptor("ROWS 1000")))
        .await;
    let info = info.unwrap().into_inner();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let mut messages = client.do_get(request(ticket)).await.unwrap().into_inner();
    messages.next().await.unwrap().unwrap();

    let cancel = |key: &str| {
        let action = arrow_flight::Action::new(
            "CancelFlightInfo",
            CancelFlightInfoRequest::new(info.clone()).encode_to_vec(),
        );
        let mut request = tonic::Request::new(action);
        let bearer = format!("Bearer {key}").parse().unwrap();
        request.metadata_mut().insert("authorization", bearer);
        request
    };
    for (key, wanted) in [
        ("bob", CancelStatus::NotCancellable),
        ("alice", CancelStatus::Cancelled),
        ("alice", CancelStatus::NotCancellable),
    ] {
        let mut results = started
            .raw()
            .await
            .do_action(cancel(key))
            .await
            .unwrap()
            .into_inner();
        let body = results.next().await.unwrap().unwrap().body;
        let result = arrow_flight::CancelFlightInfoResult::decode(body).unwrap();
        assert_eq!(result.status, wanted as i32, "{key}");
    }
    assert_eq!(started.seen.streams.load(Ordering::SeqCst), 0);
    let status = loop {
        match messages.next().await.unwrap() {
            Ok(_) => {}
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::Cancelled);

    let former = ActionCancelQueryRequest {
        info: info.encode_to_vec().into(),
    };
    let action = arrow_flight::Action::new("CancelQuery", former.as_any().encode_to_vec());
    assert!(started.raw().await.do_action(request(action)).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_have_counts() {
    let started = start().await;
    let mut client = started.client("alice").await;
    assert_eq!(
        client
            .execute_update("CHANGE".to_string(), None)
            .await
            .unwrap(),
        3
    );
    assert!(
        client
            .execute_update("SELECT 1".to_string(), None)
            .await
            .is_err()
    );
    let query = descriptor("CHANGE").cmd;
    let messages = started
        .raw()
        .await
        .do_get(request(Ticket::new(query)))
        .await;
    let batches = rows(messages.unwrap().into_inner()).await.unwrap();
    assert_eq!(batches[0].schema().field(0).name(), "count");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_finishes_its_streams() {
    let started = start().await;
    let ticket = ticket(&started, "ROWS 50").await;
    let mut client = started.raw().await;
    let messages = client.do_get(request(ticket)).await.unwrap().into_inner();
    started.server.drain();
    assert!(!started.server.is_idle());
    let batches = rows(messages).await.unwrap();
    assert_eq!(batches.len(), 50);
    drop(client);
    until(|| started.server.is_idle()).await;
    let address = format!("http://127.0.0.1:{}", started.server.port());
    let endpoint = tonic::transport::Channel::from_shared(address).unwrap();
    assert!(endpoint.connect().await.is_err());
    assert!(started.server.close());
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_and_unreadable_calls_are_refused() {
    let started = start().await;
    let mut client = started.client("alice").await;
    let error = client.begin_transaction().await.unwrap_err().to_string();
    assert!(error.contains("BeginTransaction"), "{error}");
    let mut client = started.raw().await;
    let list = client.list_flights(request(Criteria::default())).await;
    assert_eq!(list.err().unwrap().code(), Code::Unimplemented);
    let unreadable = client.do_get(request(Ticket::new("x"))).await;
    assert_eq!(unreadable.err().unwrap().code(), Code::InvalidArgument);
}
