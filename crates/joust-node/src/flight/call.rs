//! The events of one call of the Flight SQL server, and the answers of JavaScript.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use joust_core::sql::{Description, Rows, columns_schema};
use joust_flight::{Identified, Status, of_code, with_cause, with_retry_after};
use napi::bindgen_prelude::{Buffer, FnArgs, spawn};
use napi_derive::napi;
use tokio::sync::oneshot;

use super::ingest::{Incoming, Progress};
use crate::engine::Engine;
use crate::sql::{SqlColumn, core_columns};
use crate::sql_rows::{SqlDescription, SqlRows};
use crate::table::millis;
use crate::upload::Upload;

/// An event of a call of the Flight SQL server. Those of one call arrive in order.
#[napi(object)]
#[derive(Default)]
pub struct FlightEvent {
    /// Of the call, unique in the process.
    pub call: f64,
    /// `identify`, `describe`, `execute` and `ingest` have a reply to answer: who is the caller, plan a statement, run it,
    /// write rows into a table. `abort`:
    /// the client does not wait any more. `ended`: the last event of a call.
    #[napi(ts_type = "'identify' | 'describe' | 'execute' | 'ingest' | 'abort' | 'ended'")]
    pub kind: String,
    /// Of `identify`, in lower case; absent ones are missing.
    pub headers: Option<HashMap<String, String>>,
    /// Of `identify`: the address of the client; empty if it is unknown.
    pub remote: Option<String>,
    /// Of `identify`.
    pub request_id: Option<String>,
    /// Of a statement: the header `database`.
    pub database: Option<String>,
    /// Of a statement: the header `namespace-path`, or the schema of the session.
    pub namespace_path: Option<String>,
    /// Of a statement: JSON `{query, parameters}` for `Engine.sqlStatement`, `describeSql` and `sqlRows`.
    pub body: Option<Buffer>,
    /// Of `ingest`.
    pub ingest: Option<FlightIngest>,
    /// Of `ended`.
    pub report: Option<FlightReport>,
}

/// The table of a bulk ingestion.
#[napi(object)]
pub struct FlightIngest {
    pub table: String,
    /// Absent: that of the call.
    pub schema: Option<String>,
    /// Creates a table that does not exist.
    pub creates: bool,
    /// What happens to a table that exists.
    #[napi(ts_type = "'fail' | 'append' | 'replace'")]
    pub existing: String,
}

/// A call that has ended.
#[napi(object)]
pub struct FlightReport {
    /// Such as `DoGet`.
    pub operation: String,
    /// The name of the gRPC code, such as `NotFound`.
    pub status: String,
    pub message: String,
    /// The cause of a failure, for the log.
    pub cause: Option<String>,
    /// The client did not cause the failure.
    pub is_fault: bool,
    pub ms: f64,
    /// Bytes of rows.
    pub bytes: f64,
    pub request_id: String,
    /// The id of the caller; empty if it is unknown.
    pub caller: String,
}

/// What JavaScript answers.
pub enum Answer {
    Identified(Identified),
    Described(Description),
    Rows(SentRows),
    Changed(Option<i64>),
}

/// Rows that the server sends.
pub struct SentRows {
    pub rows: Rows,
    /// The error if they take longer than the call's deadline.
    pub overdue: Option<String>,
}

/// An event on its way to JavaScript.
pub struct Sent {
    pub event: FlightEvent,
    pub body: Option<Vec<u8>>,
    /// The rows of `ingest`.
    pub rows: Option<Incoming>,
    /// Of an event that has a reply.
    pub answer: Option<oneshot::Sender<Result<Answer, Status>>>,
    /// Of a statement that runs.
    pub columns: Option<oneshot::Sender<SchemaRef>>,
}

impl Sent {
    /// Runs on the event loop.
    pub fn into_arguments(self) -> FnArgs<(FlightEvent, Option<FlightReply>)> {
        let mut event = self.event;
        event.body = self.body.map(Buffer::from);
        let rows = self.rows;
        let reply = self.answer.map(|answer| FlightReply {
            answer: Some(answer),
            incoming: rows,
            progress: None,
            columns: self.columns,
        });
        (event, reply).into()
    }
}

/// Takes one answer; later ones have no effect.
#[napi]
pub struct FlightReply {
    incoming: Option<Incoming>,
    /// Of the rows that were taken from `incoming`.
    progress: Option<Arc<Progress>>,
    answer: Option<oneshot::Sender<Result<Answer, Status>>>,
    columns: Option<oneshot::Sender<SchemaRef>>,
}

#[napi]
impl FlightReply {
    /// The id of the caller, the token with which its later calls identify it, and the time that the call has left, ms.
    #[napi]
    pub fn identified(&mut self, caller: String, token: String, timeout_ms: Option<f64>) {
        self.send(Ok(Answer::Identified(Identified {
            caller,
            token,
            timeout: timeout_ms.map(millis),
        })));
    }

    #[napi]
    pub fn described(&mut self, description: &SqlDescription) {
        self.send(Ok(Answer::Described(description.inner.clone())));
    }

    /// A statement with parameters of any type, whose result has columns of text.
    #[napi]
    pub fn described_as(&mut self, columns: Vec<String>, parameters: u32) {
        let fields = columns
            .into_iter()
            .map(|name| Field::new(name, DataType::Utf8, false));
        self.send(Ok(Answer::Described(Description {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            parameters: vec![None; parameters as usize],
        })));
    }

    /// Takes the rows: the server sends them. `overdue`: the error if they take longer than the call's deadline.
    #[napi]
    pub fn rows(&mut self, rows: &mut SqlRows, overdue: Option<String>) {
        self.send(match rows.inner.take() {
            Some(rows) => Ok(Answer::Rows(SentRows { rows, overdue })),
            None => Err(Status::internal("the rows were taken before")),
        });
    }

    /// The rows of `ingest`, for one write. If the call ends early, or if the rows have more bytes than `most`, the write
    /// fails and leaves nothing.
    #[napi]
    pub fn upload(&mut self, engine: &Engine, most: Option<f64>) -> napi::Result<Upload> {
        let incoming = self.incoming.take();
        let incoming =
            incoming.ok_or_else(|| napi::Error::from_reason("the call has no rows to upload"))?;
        let upload = Upload::new(engine);
        self.progress = Some(incoming.progress.clone());
        let most = most.map(|most| most as u64);
        spawn(incoming.send(upload.sender(), most));
        Ok(upload)
    }

    /// The bytes of the rows of `ingest` so far.
    #[napi(getter)]
    pub fn uploaded_bytes(&self) -> f64 {
        let progress = self.progress.as_ref();
        progress.map_or(0, |progress| progress.bytes()) as f64
    }

    /// A statement will change something, and its result will have these columns. Their values are ignored.
    #[napi]
    pub fn begins(&mut self, columns: Vec<SqlColumn>) {
        if let Some(sender) = self.columns.take() {
            // The client may have cancelled the call.
            let _ = sender.send(columns_schema(&core_columns(columns)));
        }
    }

    /// A statement without rows has run. `count`: changed rows, if known.
    #[napi]
    pub fn changed(&mut self, count: Option<f64>) {
        self.send(Ok(Answer::Changed(count.map(|count| count as i64))));
    }

    /// `code`: of the Lance namespace interface. `http`: the status that HTTP has for it. `cause`: for the log.
    /// `retry_after`: how long the client has to wait before it tries again, s.
    #[napi]
    pub fn fail(
        &mut self,
        code: u32,
        http: u32,
        message: String,
        cause: Option<String>,
        retry_after: Option<u32>,
    ) {
        let status = match http {
            429 => Status::resource_exhausted(message),
            504 => Status::deadline_exceeded(message),
            _ => of_code(code, message),
        };
        let status = match retry_after {
            Some(seconds) => with_retry_after(status, seconds),
            None => status,
        };
        self.send(Err(match cause {
            Some(cause) => with_cause(status, cause),
            None => status,
        }));
    }

    fn send(&mut self, answer: Result<Answer, Status>) {
        if let Some(sender) = self.answer.take() {
            // The client may have cancelled the call.
            let _ = sender.send(answer);
        }
    }
}
