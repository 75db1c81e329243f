//! The recorded spans of traced calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

/// The most spans of one call. A scan of a large table sends thousands of storage requests.
pub const MAX_SPANS: usize = 256;

/// One phase of a call, or one storage request.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub name: &'static str,
    /// The position of the span around it; `None`: the call itself.
    pub parent: Option<usize>,
    pub is_storage_request: bool,
    /// Time from the start of the call to the start of the span.
    pub start: Duration,
    /// `None` while it is open.
    pub duration: Option<Duration>,
    /// No values of requests, and no data.
    pub attributes: Vec<(&'static str, Value)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Number(f64),
}

/// The spans of one call.
#[derive(Debug)]
pub struct Spans {
    started: Instant,
    recorded: Mutex<Recorded>,
    /// Paths, relative to their store, of the tables that the call reads.
    tables: Mutex<Vec<String>>,
}

#[derive(Debug, Default)]
struct Recorded {
    spans: Vec<Span>,
    omitted: usize,
}

impl Spans {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            recorded: Mutex::default(),
            tables: Mutex::default(),
        }
    }

    /// Starts a span; `None` if the call has too many.
    pub fn start(
        &self,
        name: &'static str,
        parent: Option<usize>,
        is_storage_request: bool,
        attributes: Vec<(&'static str, Value)>,
    ) -> Option<usize> {
        let start = self.started.elapsed();
        let mut recorded = self.recorded.lock();
        if recorded.spans.len() == MAX_SPANS {
            recorded.omitted += 1;
            return None;
        }
        recorded.spans.push(Span {
            name,
            parent,
            is_storage_request,
            start,
            duration: None,
            attributes,
        });
        Some(recorded.spans.len() - 1)
    }

    pub fn describe(&self, position: usize, attributes: Vec<(&'static str, Value)>) {
        if let Some(span) = self.recorded.lock().spans.get_mut(position) {
            span.attributes.extend(attributes);
        }
    }

    pub fn finish(&self, position: usize) {
        let now = self.started.elapsed();
        if let Some(span) = self.recorded.lock().spans.get_mut(position) {
            span.duration = Some(now.saturating_sub(span.start));
        }
    }

    pub fn add_table(&self, location: &str) {
        let path = path_in_store(location);
        let mut tables = self.tables.lock();
        if !tables.iter().any(|table| table == path) {
            tables.push(path.to_string());
        }
    }

    fn has_table_of(&self, path: &str) -> bool {
        self.tables.lock().iter().any(|table| {
            path.strip_prefix(table.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The recorded spans; spans that are still open end now. The last one says how many are missing.
    pub fn take(&self) -> Vec<Span> {
        let now = self.started.elapsed();
        let Recorded { mut spans, omitted } = std::mem::take(&mut *self.recorded.lock());
        for span in &mut spans {
            span.duration
                .get_or_insert_with(|| now.saturating_sub(span.start));
        }
        if let (Some(last), true) = (spans.last_mut(), omitted > 0) {
            last.attributes
                .push(("omitted_spans", Value::Number(omitted as f64)));
        }
        spans
    }
}

/// The path that `object_store` uses for a location: without the scheme, the bucket and slashes at its ends.
fn path_in_store(location: &str) -> &str {
    let path = match location.split_once("://") {
        Some(("file" | "file-object-store", path)) => path,
        Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
        None => location,
    };
    path.trim_matches('/')
}

/// The traced calls of the process.
pub static ACTIVE: Active = Active::new();

pub struct Active {
    /// The number of calls, for the check of every span.
    count: AtomicUsize,
    calls: RwLock<Option<HashMap<u64, Arc<Spans>>>>,
}

impl Active {
    const fn new() -> Self {
        Self {
            count: AtomicUsize::new(0),
            calls: RwLock::new(None),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    pub fn add(&self) -> (u64, Arc<Spans>) {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed) as u64;
        let spans = Arc::new(Spans::new());
        let mut calls = self.calls.write();
        calls.get_or_insert_default().insert(number, spans.clone());
        self.count.fetch_add(1, Ordering::Relaxed);
        (number, spans)
    }

    pub fn remove(&self, number: u64) {
        let mut calls = self.calls.write();
        let removed = calls.as_mut().and_then(|calls| calls.remove(&number));
        if removed.is_some() {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub fn get(&self, number: u64) -> Option<Arc<Spans>> {
        self.calls.read().as_ref()?.get(&number).cloned()
    }

    /// The calls that read the table with a file.
    pub fn reading(&self, path: &str) -> Vec<Arc<Spans>> {
        let calls = self.calls.read();
        let calls = calls.iter().flat_map(HashMap::values);
        calls
            .filter(|spans| spans.has_table_of(path))
            .cloned()
            .collect()
    }
}
