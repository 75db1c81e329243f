//! The Flight SQL server as a class.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use joust_core::{Code, Error};
use joust_flight::{Certificate, Options, Patience, Server};
use napi::Env;
use napi::bindgen_prelude::{Buffer, FnArgs, Function, PromiseRaw};
use napi_derive::napi;

use super::backend::JsBackend;
use super::call::{FlightEvent, FlightReply, Sent};
use crate::promise::promise;

/// A certificate chain and its private key, PEM.
#[napi(object)]
pub struct FlightCertificate {
    pub cert: Buffer,
    pub key: Buffer,
}

impl From<FlightCertificate> for Certificate {
    fn from(certificate: FlightCertificate) -> Self {
        Self {
            chain: certificate.cert.to_vec(),
            key: certificate.key.to_vec(),
        }
    }
}

/// How to listen.
#[napi(object)]
pub struct FlightOptions {
    pub host: String,
    /// 0: the system chooses one.
    pub port: u32,
    pub certificate: Option<FlightCertificate>,
}

/// Counts since the start of the process, and the current state.
#[napi(object)]
pub struct FlightStats {
    pub calls: f64,
    pub failed: f64,
    /// Calls in flight.
    pub active: f64,
    /// Streams of rows in flight.
    pub streams: f64,
    pub connections: f64,
    /// Bytes of rows.
    pub sent: f64,
}

/// The server of this process, for the metrics.
static CURRENT: Mutex<Option<Arc<Server>>> = Mutex::new(None);

/// A Flight SQL server.
#[napi]
pub struct FlightServer {
    inner: Arc<Server>,
}

#[napi]
impl FlightServer {
    /// Listens. `onEvent` gets the events of all calls, and the reply of those that have one: it answers with one method
    /// of it. The error of a refused address has the name of the system's error as its message, such as `EADDRINUSE`.
    #[napi(ts_return_type = "Promise<FlightServer>")]
    pub fn listen<'env>(
        env: &'env Env,
        options: FlightOptions,
        #[napi(ts_arg_type = "(event: FlightEvent, reply?: FlightReply) => void")]
        on_event: Function<'_, FnArgs<(FlightEvent, Option<FlightReply>)>, ()>,
    ) -> napi::Result<PromiseRaw<'env, FlightServer>> {
        let tell = on_event
            .build_threadsafe_function::<Sent>()
            .weak::<true>()
            .build_callback(|context| Ok(context.value.into_arguments()))?;
        let backend = Arc::new(JsBackend {
            tell: Arc::new(tell),
        });
        let options = Options {
            host: options.host,
            port: u16::try_from(options.port)
                .map_err(|_| napi::Error::from_reason("a port is at most 65535"))?,
            certificate: options.certificate.map(Certificate::from),
            heartbeat: Options::HEARTBEAT,
            patience: Patience::default(),
        };
        let work = async move {
            let server = Server::listen(backend, options).await.map_err(failed)?;
            Ok(Arc::new(server))
        };
        promise(env, work, |inner| {
            let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
            *current = Some(inner.clone());
            Self { inner }
        })
    }

    #[napi(getter)]
    pub fn port(&self) -> u32 {
        self.inner.port().into()
    }

    /// Uses another certificate for new connections. No effect without TLS.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn reload<'env>(
        &self,
        env: &'env Env,
        certificate: FlightCertificate,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let server = self.inner.clone();
        let certificate = Certificate::from(certificate);
        let work = async move { server.reload(certificate).await.map_err(failed) };
        promise(env, work, |()| ())
    }

    /// Refuses new connections, and asks the clients of open ones to close them.
    #[napi]
    pub fn drain(&self) {
        self.inner.drain();
    }

    /// No call is in flight, and the clients of a draining server have closed their connections or had time for it.
    #[napi]
    pub fn is_idle(&self) -> bool {
        self.inner.is_idle()
    }

    /// Ends all streams of rows. Returns whether no call was in flight.
    #[napi]
    pub fn close(&self) -> bool {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        *current = None;
        self.inner.close()
    }
}

/// The state of the Flight SQL server of this process; null without one.
// Test builds register nothing with Node, so the compiler considers it unused.
#[cfg_attr(test, allow(dead_code))]
#[napi]
pub fn flight_stats() -> Option<FlightStats> {
    let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    let stats = current.as_ref()?.stats();
    Some(FlightStats {
        calls: stats.calls as f64,
        failed: stats.failed as f64,
        active: stats.active as f64,
        streams: stats.streams as f64,
        connections: stats.connections as f64,
        sent: stats.sent as f64,
    })
}

fn failed(error: io::Error) -> Error {
    let name = match error.kind() {
        io::ErrorKind::AddrInUse => "EADDRINUSE",
        io::ErrorKind::PermissionDenied => "EACCES",
        io::ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
        _ => return Error::internal("the Flight SQL server cannot listen", error),
    };
    Error::new(Code::ServiceUnavailable, name)
}
