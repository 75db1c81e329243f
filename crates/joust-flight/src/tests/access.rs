use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt};
use arrow_flight::{FlightDescriptor, HandshakeRequest};
use futures::{StreamExt, stream};
use prost::Message;
use tonic::{Code, Request};

use super::fake::start;

fn descriptor(sql: String) -> FlightDescriptor {
    let query = CommandStatementQuery {
        query: sql,
        transaction_id: None,
    };
    FlightDescriptor::new_cmd(query.as_any().encode_to_vec())
}

fn with(header: &'static str, value: &str, sql: &str) -> Request<FlightDescriptor> {
    let mut request = Request::new(descriptor(sql.to_string()));
    request
        .metadata_mut()
        .insert(header, value.parse().unwrap());
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn the_backend_gets_the_address_of_the_client() {
    let started = start().await;
    let request = Request::new(descriptor("SELECT 1".to_string()));
    let status = started
        .raw()
        .await
        .get_flight_info(request)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    assert_eq!(*started.seen.remotes.lock().unwrap(), ["127.0.0.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_sent_in_two_ways() {
    let started = start().await;
    for (header, value, valid) in [
        ("authorization", "Bearer alice", true),
        ("x-api-key", "bob", true),
        ("authorization", "Bearer eve", false),
        ("x-api-key", "", false),
    ] {
        let request = with(header, value, "SELECT 1");
        let reply = started.raw().await.get_flight_info(request).await;
        assert_eq!(reply.is_ok(), valid, "{header}: {value}");
        if let Err(status) = reply {
            assert_eq!(status.code(), Code::Unauthenticated);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_a_maximum_size() {
    let started = start().await;
    let long = "x".repeat(5 << 20);
    let request = with("x-api-key", "alice", &long);
    let status = started
        .raw()
        .await
        .get_flight_info(request)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange);
    // A caller without a key does not learn of the limit: its message is not read.
    let request = with("x-api-key", "eve", &long);
    let status = started
        .raw()
        .await
        .get_flight_info(request)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_returns_the_token_of_later_calls() {
    let started = start().await;
    let message = HandshakeRequest::default();
    let mut request = Request::new(stream::iter([message]));
    let bearer = "Bearer alice".parse().unwrap();
    request.metadata_mut().insert("authorization", bearer);
    let response = started.raw().await.handshake(request).await.unwrap();
    let header = response.metadata().get("authorization").unwrap();
    assert_eq!(header.to_str().unwrap(), "Bearer alice");
    let message = response.into_inner().next().await.unwrap().unwrap();
    assert_eq!(&message.payload[..], b"alice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_id_is_the_clients() {
    let started = start().await;
    let mut request = with("x-api-key", "alice", "SELECT 1");
    let id = "3f0c-1".parse().unwrap();
    request.metadata_mut().insert("x-request-id", id);
    started.raw().await.get_flight_info(request).await.unwrap();
    super::fake::until(|| !started.seen.reports.lock().unwrap().is_empty()).await;
    let reports = started.seen.reports.lock().unwrap();
    assert_eq!(reports[0].request_id, "3f0c-1");
    assert_eq!(reports[0].code, Code::Ok);
}
