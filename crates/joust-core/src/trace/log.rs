//! Warnings and errors of the engine and its libraries, for the log of the server.

use std::fmt::Debug;
use std::sync::OnceLock;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata};

/// One warning or error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub is_error: bool,
    /// The Rust module that logged it.
    pub module: String,
    pub message: String,
    /// The other values of the line, in their order.
    pub values: Vec<(&'static str, String)>,
}

/// Called on the thread that logs.
pub type OnLine = Box<dyn Fn(LogLine) + Send + Sync>;

static ON_LINE: OnceLock<OnLine> = OnceLock::new();

/// Sends warnings and errors to `on_line` from now on. Only the first call of a process has an effect.
pub fn forward_log(on_line: OnLine) {
    let _ = ON_LINE.set(on_line);
    super::install();
    // Decides again about places that logged before.
    tracing::callsite::rebuild_interest_cache();
}

/// Whether an event is a line of the log.
pub fn is_line(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && *metadata.level() <= Level::WARN && ON_LINE.get().is_some()
}

/// Forwards an event if it is a line of the log.
pub fn forward(event: &Event<'_>) {
    let metadata = event.metadata();
    let Some(on_line) = ON_LINE.get().filter(|_| is_line(metadata)) else {
        return;
    };
    let mut line = LogLine {
        is_error: *metadata.level() == Level::ERROR,
        module: metadata.target().to_string(),
        message: String::new(),
        values: Vec::new(),
    };
    event.record(&mut line);
    on_line(line);
}

impl Visit for LogLine {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message = value.to_string(),
            name => self.values.push((name, value.to_string())),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
