//! Traces of calls: the phases of the engine and its storage requests, for the spans of the server.

#![cfg_attr(test, allow(dead_code))]

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use joust_core::trace::{self, CallTrace, Value};
use napi::bindgen_prelude::Either;
use napi_derive::napi;

/// The calls that are traced now.
static RUNNING: LazyLock<Mutex<HashMap<u64, CallTrace>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// The span of the call that this thread starts now.
    static STARTING: RefCell<tracing::Span> =
        const { RefCell::new(tracing::Span::none()) };
}

/// One phase of a call of the engine, or one of its storage requests.
#[napi(object, object_from_js = false)]
pub struct EngineSpan {
    pub name: String,
    /// The position of the span around it, in the same list; absent: the call itself.
    pub parent: Option<u32>,
    pub is_storage_request: bool,
    /// Time from the start of the call to the start of the span, ms.
    pub start_ms: f64,
    pub duration_ms: f64,
    #[napi(ts_type = "Record<string, string | number>")]
    pub attributes: HashMap<String, Either<String, f64>>,
}

/// Starts the trace of the call of the engine that this thread makes next. `endTraceStart` must follow directly after
/// that call, and `takeTrace` when its promise settles. Returns the number of the trace.
#[napi]
pub fn start_trace() -> f64 {
    trace::install();
    let trace = CallTrace::new();
    let number = trace.number();
    STARTING.set(trace.span());
    running().insert(number, trace);
    number as f64
}

/// The next call of this thread is not part of the trace.
#[napi]
pub fn end_trace_start() {
    STARTING.set(tracing::Span::none());
}

/// Ends a trace. Returns its spans in the order of their start.
#[napi]
pub fn take_trace(number: f64) -> Vec<EngineSpan> {
    let trace = running().remove(&(number as u64));
    let spans = trace.map(CallTrace::end).unwrap_or_default();
    spans.into_iter().map(EngineSpan::from).collect()
}

/// The span of the call that this thread starts now; none if it is not traced.
pub fn starting() -> tracing::Span {
    STARTING.with_borrow(tracing::Span::clone)
}

impl From<trace::Span> for EngineSpan {
    fn from(span: trace::Span) -> Self {
        let millis = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        let attributes = span.attributes.into_iter().map(|(name, value)| {
            let value = match value {
                Value::Text(text) => Either::A(text),
                Value::Number(number) => Either::B(number),
            };
            (name.to_string(), value)
        });
        Self {
            name: span.name.to_string(),
            parent: span.parent.and_then(|parent| u32::try_from(parent).ok()),
            is_storage_request: span.is_storage_request,
            start_ms: millis(span.start),
            duration_ms: millis(span.duration.unwrap_or_default()),
            attributes: attributes.collect(),
        }
    }
}

fn running() -> MutexGuard<'static, HashMap<u64, CallTrace>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
