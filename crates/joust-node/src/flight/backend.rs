//! Asks JavaScript.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures::{FutureExt, StreamExt, stream};
use joust_core::sql::{self, BoundRows, request_body, takes_rows};
use joust_flight::{
    Backend, BatchStream, Code, Context, Described, Execution, Existing, Functions, Identified,
    Incoming, Ingest, Outcome, Report, Statement, Status, of_code, with_cause,
};
use napi::Status as NapiStatus;
use napi::bindgen_prelude::FnArgs;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use tokio::sync::oneshot;

use super::call::{Answer, FlightEvent, FlightIngest, FlightReply, FlightReport, Sent, SentRows};
use super::ingest;

pub type Tell = ThreadsafeFunction<
    Sent,
    (),
    FnArgs<(FlightEvent, Option<FlightReply>)>,
    NapiStatus,
    false,
    true,
>;

/// JavaScript as the backend of the service. One function gets all events, because only then they stay in order.
#[derive(Clone)]
pub struct JsBackend {
    pub tell: Arc<Tell>,
}

impl JsBackend {
    /// Dropping the future before the answer aborts the work in JavaScript.
    async fn ask(&self, event: FlightEvent, question: Question) -> Result<Answer, Status> {
        let (sender, receiver) = oneshot::channel();
        let Question {
            body,
            rows,
            columns,
        } = question;
        let mut abort = Abort {
            call: event.call,
            tell: Some(self.tell.clone()),
        };
        let sent = Sent {
            event,
            body,
            rows,
            answer: Some(sender),
            columns,
        };
        let called = self
            .tell
            .call(sent, ThreadsafeFunctionCallMode::NonBlocking);
        if called != NapiStatus::Ok {
            abort.tell = None;
            return Err(Status::unavailable("the server stops"));
        }
        let answer = receiver.await;
        abort.tell = None;
        answer.unwrap_or_else(|_| Err(Status::internal("the server did not answer the call")))
    }
}

/// What JavaScript gets besides an event.
#[derive(Default)]
struct Question {
    body: Option<Vec<u8>>,
    /// The rows of `ingest`.
    rows: Option<ingest::Incoming>,
    columns: Option<oneshot::Sender<SchemaRef>>,
}

/// A statement for JavaScript.
struct Asked {
    event: FlightEvent,
    body: Vec<u8>,
    /// The body refers to several rows of parameters; they exist until this is dropped.
    _rows: Option<BoundRows>,
}

impl Asked {
    fn new(kind: &str, context: &Context, statement: &Statement) -> Result<Self, Status> {
        let parameters = statement.parameters.as_ref();
        let several = parameters.filter(|_| statement.takes_rows);
        let rows = several.map(BoundRows::hold).transpose().map_err(failed)?;
        let body = match &rows {
            Some(rows) => rows.request_body(&statement.sql),
            None => request_body(&statement.sql, parameters, statement.open).map_err(failed)?,
        };
        Ok(Self {
            event: event_of(kind, context),
            body,
            _rows: rows,
        })
    }
}

fn event_of(kind: &str, context: &Context) -> FlightEvent {
    let present = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    FlightEvent {
        call: context.call as f64,
        kind: kind.to_string(),
        database: present(&context.scope.database),
        namespace_path: present(&context.scope.namespace),
        ..FlightEvent::default()
    }
}

/// Tells JavaScript that an answer is not needed any more, unless `tell` is taken.
struct Abort {
    call: f64,
    tell: Option<Arc<Tell>>,
}

impl Drop for Abort {
    fn drop(&mut self) {
        if let Some(tell) = self.tell.take() {
            send(&tell, "abort", self.call, None);
        }
    }
}

fn send(tell: &Tell, kind: &str, call: f64, report: Option<FlightReport>) {
    let event = FlightEvent {
        call,
        kind: kind.to_string(),
        report,
        ..FlightEvent::default()
    };
    let sent = Sent {
        event,
        body: None,
        rows: None,
        answer: None,
        columns: None,
    };
    tell.call(sent, ThreadsafeFunctionCallMode::NonBlocking);
}

#[async_trait::async_trait]
impl Backend for JsBackend {
    async fn identify(&self, incoming: Incoming) -> Result<Identified, Status> {
        let event = FlightEvent {
            call: incoming.call as f64,
            kind: "identify".to_string(),
            headers: Some(incoming.headers.into_iter().collect()),
            remote: Some(incoming.remote),
            request_id: Some(incoming.request_id),
            ..FlightEvent::default()
        };
        match self.ask(event, Question::default()).await? {
            Answer::Identified(identified) => Ok(identified),
            _ => Err(unexpected()),
        }
    }

    async fn describe(
        &self,
        context: &Context,
        statement: &Statement,
    ) -> Result<Described, Status> {
        let Asked { event, body, _rows } = Asked::new("describe", context, statement)?;
        let question = Question {
            body: Some(body),
            ..Question::default()
        };
        match self.ask(event, question).await? {
            Answer::Described(description) => {
                let types = description.parameters.into_iter().enumerate();
                // A parameter of any type is described as text, which the engine casts.
                let parameters = types.map(|(at, determined)| {
                    let data_type = determined.unwrap_or(DataType::Utf8);
                    Field::new(format!("${}", at + 1), data_type, true)
                });
                Ok(Described {
                    schema: description.schema,
                    parameters: Arc::new(Schema::new(parameters.collect::<Vec<_>>())),
                })
            }
            _ => Err(unexpected()),
        }
    }

    async fn ingest(
        &self,
        context: &Context,
        request: Ingest,
        schema: SchemaRef,
        batches: BatchStream,
    ) -> Result<i64, Status> {
        let existing = match request.existing {
            Existing::Fail => "fail",
            Existing::Append => "append",
            Existing::Replace => "replace",
        };
        let event = FlightEvent {
            ingest: Some(FlightIngest {
                table: request.table,
                schema: request.schema,
                creates: request.creates,
                existing: existing.to_string(),
            }),
            ..event_of("ingest", context)
        };
        let progress = Arc::new(ingest::Progress::default());
        // Dropped when the call ends.
        let (_running, ended) = oneshot::channel();
        let rows = ingest::Incoming {
            schema,
            batches,
            progress: progress.clone(),
            ended,
        };
        let question = Question {
            rows: Some(rows),
            ..Question::default()
        };
        match self.ask(event, question).await {
            Ok(Answer::Changed(_)) => Ok(progress.rows()),
            Ok(_) => Err(unexpected()),
            // The write only reports that its input has ended.
            Err(status) => Err(progress.failure().unwrap_or(status)),
        }
    }

    fn takes_rows(&self, sql: &str) -> bool {
        takes_rows(sql)
    }

    fn execute(&self, context: &Context, statement: &Statement) -> Execution {
        let (sender, columns) = oneshot::channel();
        let backend = self.clone();
        let asked = Asked::new("execute", context, statement);
        let outcome = async move {
            let Asked { event, body, _rows } = asked?;
            let question = Question {
                body: Some(body),
                columns: Some(sender),
                ..Question::default()
            };
            match backend.ask(event, question).await? {
                Answer::Rows(sent) => Ok(Outcome::Rows {
                    schema: sent.rows.schema().clone(),
                    batches: stream::try_unfold(Box::new(sent), next).boxed(),
                }),
                Answer::Changed(count) => Ok(Outcome::Changed(count)),
                _ => Err(unexpected()),
            }
        };
        Execution {
            columns,
            outcome: outcome.boxed(),
        }
    }

    fn functions(&self) -> Functions {
        let functions = sql::functions().unwrap_or_default();
        Functions {
            numeric: functions.numeric,
            string: functions.string,
            datetime: functions.datetime,
            system: functions.system,
        }
    }

    fn finished(&self, report: Report) {
        let is_fault = matches!(
            report.code,
            Code::Internal | Code::Unknown | Code::DataLoss | Code::Unavailable
        );
        let call = report.call as f64;
        let report = FlightReport {
            operation: report.operation,
            status: format!("{:?}", report.code),
            message: report.message,
            cause: report.cause,
            is_fault,
            ms: report.duration.as_secs_f64() * 1_000.0,
            bytes: report.bytes as f64,
            request_id: report.request_id,
            caller: report.caller,
        };
        send(&self.tell, "ended", call, Some(report));
    }
}

async fn next(
    mut sent: Box<SentRows>,
) -> Result<Option<(arrow::array::RecordBatch, Box<SentRows>)>, Status> {
    match sent.rows.next().await {
        Ok(batch) => Ok(batch.map(|batch| (batch, sent))),
        Err(error) => Err(match sent.overdue {
            Some(overdue) if sent.rows.is_overdue() => Status::deadline_exceeded(overdue),
            _ => failed(error),
        }),
    }
}

fn failed(error: joust_core::Error) -> Status {
    let status = of_code(error.code() as u32, error.message());
    match error.cause() {
        Some(cause) => with_cause(status, cause),
        None => status,
    }
}

fn unexpected() -> Status {
    Status::internal("the server answered another question")
}
