//! Asks JavaScript.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures::{StreamExt, stream};
use joust_core::sql::{self, BoundRows, request_body, takes_rows};
use joust_flight::{
    Backend, BatchStream, Code, Context, Described, Existing, Functions, Identified, Incoming,
    Ingest, Outcome, Report, Statement, Status, of_code, with_cause,
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
pub struct JsBackend {
    pub tell: Arc<Tell>,
}

impl JsBackend {
    /// Dropping the future before the answer aborts the work in JavaScript.
    async fn ask(&self, event: FlightEvent, body: Option<Vec<u8>>) -> Result<Answer, Status> {
        self.ask_with(event, body, None).await
    }

    /// The same with rows to write.
    async fn ask_with(
        &self,
        event: FlightEvent,
        body: Option<Vec<u8>>,
        rows: Option<ingest::Incoming>,
    ) -> Result<Answer, Status> {
        let (sender, receiver) = oneshot::channel();
        let mut abort = Abort {
            call: event.call,
            tell: Some(self.tell.clone()),
        };
        let sent = Sent {
            event,
            body,
            rows,
            answer: Some(sender),
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

    async fn ask_about(
        &self,
        kind: &str,
        context: &Context,
        statement: &Statement,
    ) -> Result<Answer, Status> {
        let parameters = statement.parameters.as_ref();
        let several = parameters.filter(|rows| rows.num_rows() > 1);
        let rows = several.map(BoundRows::hold).transpose().map_err(failed)?;
        let body = match &rows {
            Some(rows) => rows.request_body(&statement.sql),
            None => request_body(&statement.sql, parameters, statement.open).map_err(failed)?,
        };
        self.ask(event_of(kind, context), Some(body)).await
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
        match self.ask(event, None).await? {
            Answer::Identified(identified) => Ok(identified),
            _ => Err(unexpected()),
        }
    }

    async fn describe(
        &self,
        context: &Context,
        statement: &Statement,
    ) -> Result<Described, Status> {
        match self.ask_about("describe", context, statement).await? {
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
        match self.ask_with(event, None, Some(rows)).await {
            Ok(Answer::Changed(_)) => Ok(progress.rows()),
            Ok(_) => Err(unexpected()),
            // The write only reports that its input has ended.
            Err(status) => Err(progress.failure().unwrap_or(status)),
        }
    }

    fn takes_rows(&self, sql: &str) -> bool {
        takes_rows(sql)
    }

    async fn execute(&self, context: &Context, statement: &Statement) -> Result<Outcome, Status> {
        match self.ask_about("execute", context, statement).await? {
            Answer::Rows(sent) => Ok(Outcome::Rows {
                schema: sent.rows.schema().clone(),
                batches: stream::try_unfold(Box::new(sent), next).boxed(),
            }),
            Answer::Changed(count) => Ok(Outcome::Changed(count)),
            _ => Err(unexpected()),
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
