//! Listens, and stops.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use arrow_flight::flight_service_server::FlightServiceServer;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::AbortHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{self, Identity, ServerTlsConfig};

use crate::access::{Access, Gate};
use crate::backend::Backend;
use crate::calls::Calls;
use crate::client::{Client, ConnectionLimits, Patience};
use crate::connection::{Connection, Place};
use crate::service::Service;
use crate::streams::Streams;

/// Connections. Further clients wait in the listener's queue.
pub const MOST_CONNECTIONS: usize = 1_024;
/// Concurrent calls of a connection.
const MOST_STREAMS: u32 = 128;
/// Bytes of a client's message: a statement, or a row of parameters.
const MOST_MESSAGE: usize = 4 << 20;
const TLS_HANDSHAKE: Duration = Duration::from_secs(10);
/// A connection without traffic is checked after this time, and closed if its client does not answer.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_ANSWER: Duration = Duration::from_secs(20);
/// Interval of the checks for clients that have stopped reading.
const TICK: Duration = Duration::from_secs(10);
/// How long a stopping server waits for clients that have no call and do not close their connections: longer than such a
/// connection lingers.
const LAST_CONNECTIONS: Duration = Duration::from_secs(3);

/// A certificate chain and its private key, PEM.
#[derive(Clone)]
pub struct Certificate {
    pub chain: Vec<u8>,
    pub key: Vec<u8>,
}

/// How to listen.
pub struct Options {
    pub host: String,
    /// 0: the system chooses one.
    pub port: u16,
    pub certificate: Option<Certificate>,
    /// The longest silence of a statement that works.
    pub heartbeat: Duration,
    pub patience: Patience,
}

impl Options {
    /// Proxies close silent streams after 60 s, LanceDB's SDK after 300 s.
    pub const HEARTBEAT: Duration = Duration::from_secs(10);
}

/// Counts since the start, and the current state.
#[derive(Debug, Clone, Copy)]
pub struct Stats {
    pub calls: u64,
    pub failed: u64,
    pub active: usize,
    pub streams: usize,
    pub connections: usize,
    /// Bytes of rows.
    pub sent: u64,
}

/// A server that listens.
pub struct Server {
    address: SocketAddr,
    calls: Arc<Calls>,
    pub(crate) streams: Arc<Streams>,
    connections: Arc<AtomicUsize>,
    service: Access<FlightServiceServer<Service>>,
    /// The serving loop gets its connections from the acceptor.
    acceptor: mpsc::Sender<Serving>,
    drain: watch::Sender<bool>,
    draining_since: Mutex<Option<Instant>>,
    is_secure: bool,
    ticker: AbortHandle,
}

/// The sender of new connections to a serving loop.
type Serving = mpsc::Sender<io::Result<Connection>>;

impl Server {
    /// Listens. Call it inside of a tokio runtime.
    ///
    /// # Errors
    /// The system refuses the address, or the certificate is unusable.
    pub async fn listen(backend: Arc<dyn Backend>, options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind((options.host.as_str(), options.port)).await?;
        let address = listener.local_addr()?;
        let calls = Calls::new(backend.clone());
        let streams = Streams::new(options.heartbeat);
        let service = Service::new(backend.clone(), streams.clone()).map_err(io::Error::other)?;
        let service = FlightServiceServer::new(service).max_decoding_message_size(MOST_MESSAGE);
        let gate = Gate::new(backend, calls.clone());
        let connections = Arc::<AtomicUsize>::default();
        let (acceptor, serving) = mpsc::channel(1);
        let (drain, drained) = watch::channel(false);
        let ticker = tokio::spawn(close_idle(streams.clone()));
        let server = Self {
            address,
            calls,
            streams,
            connections: connections.clone(),
            service: Access::new(service, gate),
            acceptor,
            drain,
            draining_since: Mutex::default(),
            is_secure: options.certificate.is_some(),
            ticker: ticker.abort_handle(),
        };
        let first = server.serve(options.certificate)?;
        let acceptor = Acceptor {
            listener,
            open: connections,
            limits: ConnectionLimits::new(options.patience),
        };
        tokio::spawn(acceptor.run(first, serving, drained));
        Ok(server)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Uses another certificate for new connections. Open ones finish their calls; their clients then connect again.
    ///
    /// # Errors
    /// The certificate is unusable: the former one stays in use.
    pub async fn reload(&self, certificate: Certificate) -> io::Result<()> {
        if !self.is_secure {
            return Ok(());
        }
        let serving = self.serve(Some(certificate))?;
        // Fails only after the end of the acceptor.
        let _ = self.acceptor.send(serving).await;
        Ok(())
    }

    /// Refuses new connections, and asks the clients of open ones to close them.
    pub fn drain(&self) {
        self.drain.send_replace(true);
        let mut since = self.draining_since();
        *since = since.or_else(|| Some(Instant::now()));
    }

    /// No call is in flight, and the clients of a draining server have closed their connections or had time for it.
    pub fn is_idle(&self) -> bool {
        let had_time = |since: Instant| since.elapsed() > LAST_CONNECTIONS;
        let stats = self.stats();
        stats.active == 0 && (stats.connections == 0 || self.draining_since().is_some_and(had_time))
    }

    /// Ends all streams of rows. Returns whether no call was in flight.
    pub fn close(&self) -> bool {
        self.drain();
        self.ticker.abort();
        let was_idle = self.calls.active() == 0;
        self.streams.close_all();
        was_idle
    }

    pub fn stats(&self) -> Stats {
        Stats {
            calls: self.calls.started(),
            failed: self.calls.failed(),
            active: self.calls.active(),
            streams: self.streams.len(),
            connections: self.connections.load(Ordering::Relaxed),
            sent: self.calls.sent(),
        }
    }

    /// Serves connections until their sender is dropped; then open ones finish their calls.
    fn serve(&self, certificate: Option<Certificate>) -> io::Result<Serving> {
        let mut server = transport::Server::builder()
            .max_concurrent_streams(MOST_STREAMS)
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(KEEPALIVE_ANSWER));
        if let Some(certificate) = certificate {
            install_crypto_provider();
            let identity = Identity::from_pem(certificate.chain, certificate.key);
            let tls = ServerTlsConfig::new()
                .identity(identity)
                .timeout(TLS_HANDSHAKE);
            server = server.tls_config(tls).map_err(io::Error::other)?;
        }
        let (sender, connections) = mpsc::channel(1);
        let mut drained = self.drain.subscribe();
        let service = self.service.clone();
        tokio::spawn(async move {
            let signal = async move { drain(&mut drained).await };
            let connections = ReceiverStream::new(connections);
            // Fails only if a connection cannot be served, which the transport does not report here.
            let _ = server
                .add_service(service)
                .serve_with_incoming_shutdown(connections, signal)
                .await;
        });
        Ok(sender)
    }

    fn draining_since(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.draining_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes new connections to the newest serving loop.
struct Acceptor {
    listener: TcpListener,
    /// Counts the connections.
    open: Arc<AtomicUsize>,
    limits: ConnectionLimits,
}

impl Acceptor {
    async fn run(
        self,
        mut serving: Serving,
        mut next: mpsc::Receiver<Serving>,
        mut drained: watch::Receiver<bool>,
    ) {
        let Self {
            listener,
            open,
            limits,
        } = self;
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let accepted = async {
                let permit = places.clone().acquire_owned().await;
                (permit, listener.accept().await)
            };
            tokio::select! {
                () = drain(&mut drained) => return,
                newer = next.recv() => match newer {
                    Some(newer) => serving = newer,
                    None => return,
                },
                (permit, accepted) = accepted => match (permit, accepted) {
                    (Ok(permit), Ok((stream, address))) => {
                        // A refused connection is closed.
                        let Some(guest) = limits.guests.enter(address.ip()) else { continue };
                        let client = Client::new(Some(address), &limits, guest);
                        let place = Place::take(permit, &open);
                        if serving.send(Ok(Connection::new(stream, client, place))).await.is_err() {
                            return;
                        }
                    }
                    // The process has no file descriptor left, for example.
                    (Ok(_), Err(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
                    (Err(_), _) => return,
                },
            }
        }
    }
}

/// Ends when the server drains or is dropped.
async fn drain(drained: &mut watch::Receiver<bool>) {
    let _ = drained.wait_for(|drained| *drained).await;
}

async fn close_idle(streams: Arc<Streams>) {
    let mut interval = tokio::time::interval(TICK);
    loop {
        interval.tick().await;
        streams.close_idle(Instant::now());
    }
}

/// rustls is built with two providers, so it cannot choose one itself.
fn install_crypto_provider() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails if the process has one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
