//! The calls in flight: when the last part of a call is dropped, its report is complete.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tonic::{Code, Status};

use crate::backend::{Backend, Report};
use crate::client::OpenCall;
use crate::lock::lock;

/// Calls of one caller in flight: the others of the server stay for other callers.
const MOST_OF_CALLER: usize = 256;

/// Counts calls, and reports each to the backend.
pub struct Calls {
    backend: Arc<dyn Backend>,
    active: AtomicUsize,
    /// Of each identified caller with a call in flight.
    of_callers: Mutex<HashMap<String, usize>>,
    started: AtomicU64,
    failed: AtomicU64,
    sent: AtomicU64,
}

impl Calls {
    pub fn new(backend: Arc<dyn Backend>) -> Arc<Self> {
        Arc::new(Self {
            backend,
            active: AtomicUsize::new(0),
            of_callers: Mutex::default(),
            started: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        })
    }

    /// `open`: the call in its connection.
    pub fn start(
        self: &Arc<Self>,
        operation: &str,
        request_id: String,
        open: Option<OpenCall>,
    ) -> Arc<Running> {
        self.active.fetch_add(1, Ordering::Relaxed);
        self.started.fetch_add(1, Ordering::Relaxed);
        Arc::new(Running {
            number: LAST.fetch_add(1, Ordering::Relaxed),
            calls: self.clone(),
            operation: operation.to_string(),
            request_id,
            began: Instant::now(),
            bytes: AtomicU64::new(0),
            _open: open,
            end: Mutex::new(End {
                caller: None,
                status: Status::cancelled("the client has cancelled the call"),
                is_stream: false,
            }),
        })
    }

    /// Calls that have not ended.
    pub fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    pub fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Bytes of rows.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

/// The number of the last call in this process.
static LAST: AtomicU64 = AtomicU64::new(1);

/// A call in flight.
pub struct Running {
    number: u64,
    calls: Arc<Calls>,
    operation: String,
    request_id: String,
    began: Instant,
    bytes: AtomicU64,
    _open: Option<OpenCall>,
    end: Mutex<End>,
}

struct End {
    /// `None`: unknown.
    caller: Option<String>,
    status: Status,
    /// The call ends with its stream.
    is_stream: bool,
}

impl Running {
    /// Unique in the process.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Counts the call for its caller. `RESOURCE_EXHAUSTED` if the caller has too many.
    pub fn identified(&self, caller: &str) -> Result<(), Status> {
        let mut counts = lock(&self.calls.of_callers);
        let count = counts.entry(caller.to_string()).or_default();
        let is_full = *count >= MOST_OF_CALLER;
        if !is_full {
            *count += 1;
        }
        drop(counts);
        if is_full {
            return Err(Status::resource_exhausted(format!(
                "the caller has {MOST_OF_CALLER} calls in flight; wait until one of them has ended"
            )));
        }
        self.update(|end| end.caller = Some(caller.to_string()));
        Ok(())
    }

    /// The reply is a stream that ends later.
    pub fn begin_stream(&self) {
        self.update(|end| end.is_stream = true);
    }

    /// The handler has returned without a failure.
    pub fn returned(&self) {
        self.update(|end| {
            if !end.is_stream {
                end.status = Status::ok("");
            }
        });
    }

    /// The reply is a failure. A handler has recorded its own failures, with their causes.
    pub fn refused(&self, status: Status) {
        self.update(|end| {
            if end.status.code() == Code::Cancelled {
                end.status = status;
            }
        });
    }

    pub fn end(&self, status: Status) {
        self.update(|end| end.status = status);
    }

    pub fn add_bytes(&self, bytes: usize) {
        let bytes = bytes as u64;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.calls.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    fn update(&self, change: impl FnOnce(&mut End)) {
        change(&mut lock(&self.end));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let calls = self.calls.clone();
        calls.active.fetch_sub(1, Ordering::Relaxed);
        let end = self.end.get_mut().unwrap_or_else(PoisonError::into_inner);
        let caller = end.caller.take();
        if let Some(caller) = &caller {
            let mut counts = lock(&calls.of_callers);
            if let Some(count) = counts.get_mut(caller) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(caller);
                }
            }
        }
        let code = end.status.code();
        if !matches!(code, Code::Ok | Code::Cancelled) {
            calls.failed.fetch_add(1, Ordering::Relaxed);
        }
        calls.backend.finished(Report {
            call: self.number,
            operation: std::mem::take(&mut self.operation),
            code,
            message: end.status.message().to_string(),
            cause: std::error::Error::source(&end.status).map(ToString::to_string),
            duration: self.began.elapsed(),
            bytes: *self.bytes.get_mut(),
            request_id: std::mem::take(&mut self.request_id),
            caller: caller.unwrap_or_default(),
        });
    }
}
