//! Statements that take long.

use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow_flight::sql::{
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, Any,
    CommandPreparedStatementUpdate, CommandStatementQuery, ProstMessageExt,
};
use arrow_flight::{
    Action, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightData,
    FlightDescriptor, FlightEndpoint, FlightInfo, Ticket,
};
use futures::{StreamExt, stream};
use prost::Message;
use tonic::{Code, Status, Streaming};

use super::fake::{Started, request, rows, start, until};

fn descriptor(sql: &str) -> FlightDescriptor {
    let query = CommandStatementQuery {
        query: sql.to_string(),
        transaction_id: None,
    };
    FlightDescriptor::new_cmd(query.as_any().encode_to_vec())
}

async fn info(started: &Started, sql: &str) -> FlightInfo {
    let mut client = started.raw().await;
    let info = client.get_flight_info(request(descriptor(sql))).await;
    info.unwrap().into_inner()
}

async fn get(started: &Started, ticket: Ticket) -> Result<Streaming<FlightData>, Status> {
    let answer = started.raw().await.do_get(request(ticket)).await;
    answer.map(tonic::Response::into_inner)
}

fn ticket_of(info: &FlightInfo) -> Ticket {
    info.endpoint[0].ticket.clone().unwrap()
}

async fn act(started: &Started, action: Action) -> bytes::Bytes {
    let answer = started.raw().await.do_action(request(action)).await;
    let first = answer.unwrap().into_inner().next().await;
    first.unwrap().unwrap().body
}

async fn cancel(started: &Started, info: &FlightInfo) -> CancelStatus {
    let body = CancelFlightInfoRequest::new(info.clone()).encode_to_vec();
    let body = act(started, Action::new("CancelFlightInfo", body)).await;
    CancelFlightInfoResult::decode(body).unwrap().status()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_change_sends_its_columns_and_empty_batches() {
    let started = start().await;
    let info = info(&started, "SLOW CHANGE 350").await;
    let messages = get(&started, ticket_of(&info)).await.unwrap();
    let batches = rows(messages).await.unwrap();
    let sizes: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    let (last, heartbeats) = sizes.split_last().unwrap();
    assert_eq!(*last, 1);
    assert!(!heartbeats.is_empty() && heartbeats.iter().all(|rows| *rows == 0));
    assert_eq!(batches[0].schema().field(0).name(), "count");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_change_that_fails_ends_its_stream() {
    let started = start().await;
    let info = info(&started, "SLOW FAILURE 250").await;
    let messages = get(&started, ticket_of(&info)).await.unwrap();
    let status = rows(messages).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.message(), "the change failed");
    until(|| started.server.stats().failed == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_fails_soon_fails_its_call() {
    let started = start().await;
    let info = info(&started, "SLOW FAILURE 0").await;
    let failed = get(&started, ticket_of(&info)).await.unwrap_err();
    assert_eq!(failed.message(), "the change failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_is_cancelled_before_it_has_an_answer() {
    // What a change has done is not known.
    for (sql, wanted) in [
        ("SLOW PLAN 60000", CancelStatus::Cancelled),
        ("SLOW CHANGE 60000", CancelStatus::Cancelling),
    ] {
        let started = start().await;
        let info = info(&started, sql).await;
        let waiting = async {
            let messages = get(&started, ticket_of(&info)).await?;
            rows(messages).await
        };
        let cancelling = async {
            until(|| started.seen.streams.load(Ordering::SeqCst) == 1).await;
            // The columns of the change have been sent, if it is one.
            tokio::time::sleep(Duration::from_millis(150)).await;
            assert_eq!(cancel(&started, &info).await, wanted);
        };
        let (answer, ()) = tokio::join!(waiting, cancelling);
        assert_eq!(answer.unwrap_err().code(), Code::Cancelled);
        until(|| started.seen.streams.load(Ordering::SeqCst) == 0).await;
        assert_eq!(cancel(&started, &info).await, CancelStatus::NotCancellable);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_a_prepared_statement_is_cancelled_by_its_handle() {
    let started = start().await;
    let create = ActionCreatePreparedStatementRequest {
        query: "SLOW CHANGE 60000".to_string(),
        transaction_id: None,
    };
    let action = Action::new("CreatePreparedStatement", create.as_any().encode_to_vec());
    let body = act(&started, action).await;
    let created: ActionCreatePreparedStatementResult =
        Any::decode(body).unwrap().unpack().unwrap().unwrap();
    let update = CommandPreparedStatementUpdate {
        prepared_statement_handle: created.prepared_statement_handle,
    };
    let command = update.as_any().encode_to_vec();
    let message = FlightData {
        flight_descriptor: Some(FlightDescriptor::new_cmd(command.clone())),
        ..FlightData::default()
    };
    let query = arrow_flight::sql::CommandPreparedStatementQuery {
        prepared_statement_handle: update.prepared_statement_handle,
    };
    let ticket = Ticket::new(query.as_any().encode_to_vec());
    let info = FlightInfo::new().with_endpoint(FlightEndpoint::new().with_ticket(ticket));
    let mut client = started.raw().await;
    let waiting = client.do_put(request(stream::iter([message])));
    let cancelling = async {
        until(|| started.seen.streams.load(Ordering::SeqCst) == 1).await;
        assert_ne!(cancel(&started, &info).await, CancelStatus::NotCancellable);
    };
    let (answer, ()) = tokio::join!(waiting, cancelling);
    assert_eq!(answer.unwrap_err().code(), Code::Cancelled);
    until(|| started.seen.streams.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_does_not_ask_to_repeat_a_change() {
    // Clients repeat a call that is UNAVAILABLE.
    for (sql, wanted) in [
        ("SLOW PLAN 60000", Code::Unavailable),
        ("SLOW CHANGE 60000", Code::Unknown),
    ] {
        let started = start().await;
        let info = info(&started, sql).await;
        let waiting = async {
            let messages = get(&started, ticket_of(&info)).await?;
            rows(messages).await
        };
        let closing = async {
            until(|| started.seen.streams.load(Ordering::SeqCst) == 1).await;
            tokio::time::sleep(Duration::from_millis(150)).await;
            started.server.close();
        };
        let (answer, ()) = tokio::join!(waiting, closing);
        let status = answer.unwrap_err();
        assert_eq!(status.code(), wanted, "{status}");
        let may_be_done = status.message().contains("may have changed data");
        assert_eq!(may_be_done, wanted == Code::Unknown, "{status}");
    }
}
