//! Identifies the caller of each call before any message of it is read.

use std::convert::Infallible;
use std::sync::Arc;
use std::task;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::metadata::MetadataMap;
use tonic::server::NamedService;
use tonic::{Request, Status};

use crate::backend::{Backend, Context, Identified, Incoming, Scope};
use crate::calls::{Calls, Running};
use crate::client::{Client, Patience};
use crate::patient::Patient;
use crate::{ids, session};

/// Callers that are identified concurrently. Others wait; their messages stay in their sockets.
const AT_ONCE: usize = 64;
/// Calls in flight. A call has an open stream and up to one message of its client in memory.
const MOST_CALLS: usize = 1_024;
/// Bytes of a header that the service reads.
const MOST_HEADER: usize = 8_192;
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The headers that the backend gets.
const PASSED: [&str; 13] = [
    "database",
    "authorization",
    "x-api-key",
    FORWARDED_FOR,
    "prefer",
    "x-request-timeout-ms",
    "x-lancedb-database",
    "x-lancedb-min-timestamp",
    "x-lancedb-min-version",
    "x-lancedb-min-read-version",
    "traceparent",
    "tracestate",
    "user-agent",
];

/// A service for identified callers.
#[derive(Clone)]
pub struct Access<S> {
    inner: S,
    gate: Arc<Gate>,
}

pub struct Gate {
    backend: Arc<dyn Backend>,
    calls: Arc<Calls>,
    places: Semaphore,
}

/// A call of an identified caller.
#[derive(Clone)]
pub struct Call {
    pub context: Context,
    /// With this token later calls identify the caller.
    pub token: String,
    pub running: Arc<Running>,
}

impl Gate {
    pub fn new(backend: Arc<dyn Backend>, calls: Arc<Calls>) -> Arc<Self> {
        Arc::new(Self {
            backend,
            calls,
            places: Semaphore::new(AT_ONCE),
        })
    }

    async fn admit(
        &self,
        headers: &MetadataMap,
        client: Option<&Client>,
        running: Arc<Running>,
    ) -> Result<(Call, Option<Instant>), Status> {
        check_client(headers)?;
        if self.calls.active() > MOST_CALLS {
            return Err(Status::resource_exhausted(format!(
                "the server has {MOST_CALLS} calls in flight; try again later"
            )));
        }
        let mut passed = Vec::new();
        for name in PASSED {
            if let Some(value) = header(headers, name)? {
                passed.push((name.to_string(), value));
            }
        }
        let call = running.number();
        let incoming = Incoming {
            call,
            request_id: running.request_id().to_string(),
            remote: client.map(remote_address).unwrap_or_default(),
            headers: passed,
        };
        let place = self.places.acquire().await;
        let identified = self.backend.identify(incoming).await?;
        drop(place);
        let Identified {
            caller,
            token,
            timeout,
        } = identified;
        running.identified(&caller)?;
        if let Some(client) = client {
            client.identified(&caller)?;
        }
        let context = Context {
            call,
            caller,
            scope: scope(headers)?,
        };
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let call = Call {
            context,
            token,
            running,
        };
        Ok((call, deadline))
    }
}

impl<S> Access<S> {
    pub fn new(inner: S, gate: Arc<Gate>) -> Self {
        Self { inner, gate }
    }
}

impl<S: NamedService> NamedService for Access<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Access<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(
        &mut self,
        context: &mut task::Context<'_>,
    ) -> task::Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let mut inner = self.inner.clone();
        let gate = self.gate.clone();
        Box::pin(async move {
            let headers = MetadataMap::from_headers(request.headers().clone());
            let operation = request.uri().path().rsplit('/').next().unwrap_or_default();
            let client = request.extensions().get::<Client>().cloned();
            let open = client.as_ref().map(Client::begin_call);
            let running = gate.calls.start(operation, request_id(&headers), open);
            match gate.admit(&headers, client.as_ref(), running.clone()).await {
                Ok((call, deadline)) => {
                    request.extensions_mut().insert(call);
                    let patience = client
                        .as_ref()
                        .map_or_else(Patience::default, Client::patience);
                    let request =
                        request.map(|body| Body::new(Patient::new(body, patience, deadline)));
                    let response = inner.call(request).await?;
                    match Status::from_header_map(response.headers()) {
                        Some(status) => running.refused(status),
                        None => running.returned(),
                    }
                    Ok(response)
                }
                Err(status) => {
                    running.end(status.clone());
                    Ok(status.into_http())
                }
            }
        })
    }
}

/// The call of a request that passed [`Access`].
pub fn call_of<T>(request: &Request<T>) -> Result<Call, Status> {
    let call = request.extensions().get::<Call>();
    call.cloned()
        .ok_or_else(|| Status::internal("the call has no caller"))
}

/// Refuses browsers, which send `origin`: a page must not use the address of its reader.
fn check_client(headers: &MetadataMap) -> Result<(), Status> {
    if headers.contains_key("origin") {
        return Err(Status::permission_denied(
            "web pages cannot use Flight SQL: send statements to POST /v1/sql",
        ));
    }
    let kind = headers
        .get("content-type")
        .and_then(|kind| kind.to_str().ok());
    match kind {
        Some(kind) if kind.starts_with("application/grpc") => Ok(()),
        _ => Err(Status::invalid_argument(
            "the content-type of a call must be application/grpc",
        )),
    }
}

fn remote_address(client: &Client) -> String {
    client.address().map_or_else(String::new, |address| {
        address.ip().to_canonical().to_string()
    })
}

fn scope(headers: &MetadataMap) -> Result<Scope, Status> {
    let namespace = match header(headers, "namespace-path")? {
        Some(namespace) => namespace,
        None => session::namespace(headers).unwrap_or_default(),
    };
    Ok(Scope {
        database: header(headers, "database")?.unwrap_or_default(),
        namespace,
    })
}

fn header(headers: &MetadataMap, name: &str) -> Result<Option<String>, Status> {
    let values = headers
        .get_all(name)
        .iter()
        .map(|value| value.to_str().ok());
    let text = match values.collect::<Option<Vec<_>>>().as_deref() {
        Some([]) => return Ok(None),
        // Some proxies append a line instead of an address. Several lines are one list (RFC 9110, 5.3).
        Some(values) if name == FORWARDED_FOR => Some(values.join(", ")),
        Some([first, ..]) => Some((*first).to_string()),
        None => None,
    };
    match text {
        Some(text) if text.len() <= MOST_HEADER => Ok(Some(text)),
        _ => Err(Status::invalid_argument(format!(
            "the header `{name}` must be ASCII of at most {MOST_HEADER} bytes"
        ))),
    }
}

/// The id that the client sent if it is well-formed, else a new one.
fn request_id(headers: &MetadataMap) -> String {
    let sent = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    let is_valid = |id: &&str| {
        (1..=128).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
    };
    sent.filter(is_valid).map_or_else(ids::new, str::to_string)
}
