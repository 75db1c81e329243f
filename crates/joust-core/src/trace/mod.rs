//! What the engine reports to the server besides its results: the spans of single calls, and its [log](forward_log).
//!
//! The engine marks its phases with spans of the `tracing` crate, and Lance marks its storage requests with them. A
//! call runs in [`CallTrace::run`]; the [`collector`] records the spans of this call, and [`CallTrace::end`] returns
//! them. Without [`install`], or while no call is traced, a span costs one atomic load.
//!
//! Lance reads data files in background tasks that serve many calls and have no span. The collector therefore finds the
//! calls of such a request by its path: a call has the requests of the tables that it [reads](reads) while it runs.

mod collector;
mod log;
mod spans;

use std::future::Future;
use std::sync::Arc;

use tracing::Instrument;
use tracing_subscriber::layer::SubscriberExt;

use collector::Collector;
pub use log::{LogLine, OnLine, forward_log};
use spans::{ACTIVE, Spans};
pub use spans::{Span, Value};

/// Starts to record the spans of traced calls in this process, if it does not yet.
pub fn install() {
    let subscriber = tracing_subscriber::registry().with(Collector);
    // It fails only if the process has a subscriber.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// A call whose spans are recorded until it ends or is dropped.
#[derive(Debug)]
pub struct CallTrace {
    number: u64,
    spans: Arc<Spans>,
}

impl CallTrace {
    #[allow(clippy::new_without_default)]
    #[must_use]
    pub fn new() -> Self {
        let (number, spans) = ACTIVE.add();
        Self { number, spans }
    }

    /// A number that no other call of this process has.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The span in which the call runs.
    #[must_use]
    pub fn span(&self) -> tracing::Span {
        tracing::info_span!("call", number = self.number)
    }

    /// Runs the call, or a part of it.
    pub fn run<W: Future>(&self, work: W) -> impl Future<Output = W::Output> + use<W> {
        work.instrument(self.span())
    }

    /// The spans in the order of their start. A span that is still open ends now.
    #[must_use]
    pub fn end(self) -> Vec<Span> {
        self.spans.take()
    }
}

impl Drop for CallTrace {
    fn drop(&mut self) {
        ACTIVE.remove(self.number);
    }
}

/// Says that the current call, if it is traced, reads or writes the files below `location`.
pub(crate) fn reads(location: &str) {
    tracing::info!(location);
}

#[cfg(test)]
mod tests;
