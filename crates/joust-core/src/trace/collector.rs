//! Records the spans of traced calls, and passes on the lines of the log.

use std::fmt::Debug;
use std::sync::Arc;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::log;
use super::spans::{ACTIVE, Spans, Value};

/// The module of the span around a call, and of the events that name tables.
const CALLS: &str = "joust_core::trace";
/// The prefix of the modules of the engine.
const ENGINE: &str = "joust_";
/// The module of Lance with a span for each storage request.
const STORAGE: &str = "lance_io::object_store::tracing";

pub struct Collector;

/// A span of the engine in the calls to which it belongs. Storage requests of background tasks may have several.
struct Recorded(Vec<Place>);

#[derive(Clone)]
struct Place {
    spans: Arc<Spans>,
    /// `None`: the call itself.
    position: Option<usize>,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collector {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        let is_span = metadata.is_span() && metadata.target().starts_with(ENGINE);
        let is_table = metadata.is_event() && metadata.target() == CALLS;
        let is_storage = metadata.is_span() && metadata.target() == STORAGE;
        match is_span || is_table || is_storage || log::is_line(metadata) {
            true => Interest::sometimes(),
            false => Interest::never(),
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        // The level of Lance's spans.
        Some(LevelFilter::from_level(Level::DEBUG))
    }

    fn enabled(&self, metadata: &Metadata<'_>, context: Context<'_, S>) -> bool {
        if log::is_line(metadata) {
            return true;
        }
        if ACTIVE.is_empty() {
            return false;
        }
        let is_call = metadata.is_span() && metadata.target() == CALLS;
        is_call || metadata.target() == STORAGE || context.lookup_current().is_some()
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let metadata = attributes.metadata();
        let places = match metadata.target() {
            CALLS => fields.number().and_then(call).into_iter().collect(),
            STORAGE => match around(&span) {
                Some(places) => add(places, request_name(metadata.name()), true, &fields),
                None => add(
                    calls_of(fields.path()),
                    request_name(metadata.name()),
                    true,
                    &fields,
                ),
            },
            _ => add(
                around(&span).unwrap_or_default(),
                metadata.name(),
                false,
                &fields,
            ),
        };
        if !places.is_empty() {
            span.extensions_mut().insert(Recorded(places));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(Recorded(places)) = span.extensions().get() {
            for Place { spans, position } in places {
                if let Some(position) = position {
                    spans.describe(*position, fields.0.clone());
                }
            }
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        log::forward(event);
        if event.metadata().target() != CALLS {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let places = context.event_span(event).and_then(|span| recorded(&span));
        if let (Some(location), Some(places)) = (fields.text("location"), places) {
            for Place { spans, .. } in places {
                spans.add_table(location);
            }
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        if let Some(Recorded(places)) = span.extensions().get() {
            for Place { spans, position } in places {
                if let Some(position) = position {
                    spans.finish(*position);
                }
            }
        }
    }
}

fn call(number: u64) -> Option<Place> {
    let spans = ACTIVE.get(number)?;
    Some(Place {
        spans,
        position: None,
    })
}

/// The calls that read the table with a file.
fn calls_of(path: Option<&str>) -> Vec<Place> {
    let calls = path.map(|path| ACTIVE.reading(path)).unwrap_or_default();
    let place = |spans| Place {
        spans,
        position: None,
    };
    calls.into_iter().map(place).collect()
}

/// The places of the nearest recorded span around this one.
fn around<'a, R: LookupSpan<'a>>(span: &SpanRef<'a, R>) -> Option<Vec<Place>> {
    span.scope().skip(1).find_map(|outer| recorded(&outer))
}

fn recorded<'a, R: LookupSpan<'a>>(span: &SpanRef<'a, R>) -> Option<Vec<Place>> {
    let extensions = span.extensions();
    let Recorded(places) = extensions.get::<Recorded>()?;
    Some(places.clone())
}

/// Starts a span in each place.
fn add(
    around: Vec<Place>,
    name: &'static str,
    is_storage_request: bool,
    fields: &Fields,
) -> Vec<Place> {
    let add = |Place { spans, position }: Place| {
        let attributes = fields.0.clone();
        let position = spans.start(name, position, is_storage_request, attributes)?;
        Some(Place {
            spans,
            position: Some(position),
        })
    };
    around.into_iter().filter_map(add).collect()
}

/// The name of a request, from the method of Lance's store.
fn request_name(method: &'static str) -> &'static str {
    match method {
        "get_opts" | "get_ranges" => "GET",
        "put_opts" => "PUT",
        "put_multipart_opts" => "start multipart upload",
        "complete" => "complete multipart upload",
        "abort" => "abort multipart upload",
        "delete_stream" => "DELETE",
        "list" | "list_with_offset" | "list_with_delimiter" => "LIST",
        "copy_opts" => "COPY",
        "rename_opts" => "RENAME",
        other => other,
    }
}

/// The values of a span. Values that only `Debug` prints are left out: they may be data of a client.
#[derive(Default)]
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|(field, value)| match value {
            Value::Text(text) if *field == name => Some(text.as_str()),
            _ => None,
        })
    }

    /// The path of a storage request.
    fn path(&self) -> Option<&str> {
        ["path", "prefix", "from"]
            .into_iter()
            .find_map(|name| self.text(name))
    }

    fn number(&self) -> Option<u64> {
        self.0.iter().find_map(|(field, value)| match value {
            Value::Number(number) if *field == "number" => Some(*number as u64),
            _ => None,
        })
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), Value::Text(value.to_string())));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name(), Value::Number(value as f64)));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.push((field.name(), Value::Number(value as f64)));
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
