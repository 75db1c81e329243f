use std::time::Duration;

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::{
    CommandStatementQuery, ProstMessageExt, TableExistsOption, TableNotExistOption,
};
use arrow_flight::{FlightData, FlightDescriptor};
use futures::{StreamExt, stream};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::fake::{Started, request, start, start_with};
use super::ingest::command;
use crate::Patience;
use crate::client::{MOST_GUESTS, MOST_OF_CALLER};

const SHORT: Duration = Duration::from_millis(200);

/// What begins a connection of HTTP/2: the preface, and empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

fn select() -> FlightDescriptor {
    let query = CommandStatementQuery {
        query: "SELECT 1".to_string(),
        transaction_id: None,
    };
    FlightDescriptor::new_cmd(query.as_any().encode_to_vec())
}

/// Starts a DoPut whose client sends no message.
fn silent_put(mut client: FlightServiceClient<Channel>) -> JoinHandle<Result<(), Status>> {
    let silent = stream::pending::<FlightData>();
    tokio::spawn(async move { client.do_put(request(silent)).await.map(drop) })
}

async fn active(started: &Started, calls: usize) {
    while started.server.stats().active != calls {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_without_calls_is_closed() {
    let patience = Patience {
        guest: SHORT,
        ..Patience::default()
    };
    let started = start_with(patience).await;
    for begin in [b"".as_slice(), PREFACE] {
        let address = ("127.0.0.1", started.server.port());
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(begin).await.unwrap();
        let mut rest = Vec::new();
        // Reads until the server closes.
        socket.read_to_end(&mut rest).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_of_an_identified_caller_stays_for_longer() {
    let patience = Patience {
        guest: SHORT,
        ..Patience::default()
    };
    let started = start_with(patience).await;
    let mut client = started.raw().await;
    client.get_flight_info(request(select())).await.unwrap();
    tokio::time::sleep(3 * SHORT).await;
    assert_eq!(started.server.stats().connections, 1);
    client.get_flight_info(request(select())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_few_connections_without_an_identified_caller() {
    let started = start().await;
    let address = ("127.0.0.1", started.server.port());
    let mut guests = Vec::new();
    for _ in 0..MOST_GUESTS {
        guests.push(TcpStream::connect(address).await.unwrap());
    }
    while started.server.stats().connections < MOST_GUESTS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut refused = TcpStream::connect(address).await.unwrap();
    assert_eq!(refused.read(&mut [0]).await.unwrap_or_default(), 0);
    guests.pop();
    while started.server.stats().connections == MOST_GUESTS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut client = started.raw().await;
    client.get_flight_info(request(select())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_cannot_hold_all_connections() {
    let started = start().await;
    let mut open = Vec::new();
    for _ in 0..MOST_OF_CALLER {
        let mut client = started.raw().await;
        client.get_flight_info(request(select())).await.unwrap();
        open.push(client);
    }
    assert_eq!(started.server.stats().connections, MOST_OF_CALLER);
    let mut further = started.raw().await;
    let refused = further.get_flight_info(request(select())).await;
    assert_eq!(refused.unwrap_err().code(), Code::ResourceExhausted);
    // Another caller is not affected.
    let mut bob = tonic::Request::new(select());
    bob.metadata_mut()
        .insert("x-api-key", "bob".parse().unwrap());
    started.raw().await.get_flight_info(bob).await.unwrap();
    // The caller gets a connection when one of its others is closed.
    open.pop();
    while further.get_flight_info(request(select())).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_no_message_ends_its_call() {
    let patience = Patience {
        first_message: SHORT,
        ..Patience::default()
    };
    let started = start_with(patience).await;
    let status = silent_put(started.raw().await).await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    active(&started, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_sending_ends_its_call() {
    let patience = Patience {
        message: SHORT,
        ..Patience::default()
    };
    let started = start_with(patience).await;
    // The command is valid and needs rows.
    let ingest = command(TableNotExistOption::Create, TableExistsOption::Append);
    let descriptor = FlightDescriptor::new_cmd(ingest.as_any().encode_to_vec());
    let first = FlightData::new().with_descriptor(descriptor);
    let messages = stream::iter([first]).chain(stream::pending());
    let mut client = started.raw().await;
    let status = client
        .do_put(request(messages))
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_its_client_has_a_deadline() {
    let started = start().await;
    let mut client = started.raw().await;
    let mut silent = request(stream::pending::<FlightData>());
    let metadata = silent.metadata_mut();
    metadata.insert("x-request-timeout-ms", "200".parse().unwrap());
    let status = client.do_put(silent).await.map(drop).unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(status.message().contains("time limit"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_cannot_hold_all_calls() {
    let started = start().await;
    let mut calls = Vec::new();
    for _ in 0..4 {
        let client = started.raw().await;
        calls.extend((0..64).map(|_| silent_put(client.clone())));
    }
    active(&started, 256).await;
    let status = silent_put(started.raw().await).await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    // Another caller is not affected.
    let mut bob = tonic::Request::new(select());
    bob.metadata_mut()
        .insert("x-api-key", "bob".parse().unwrap());
    started.raw().await.get_flight_info(bob).await.unwrap();
    for call in &calls {
        call.abort();
    }
    active(&started, 0).await;
    let mut client = started.raw().await;
    client.get_flight_info(request(select())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_is_refused() {
    let started = start().await;
    let mut sent = request(select());
    let metadata = sent.metadata_mut();
    metadata.insert("origin", "https://example.com".parse().unwrap());
    let status = started.raw().await.get_flight_info(sent).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
}
