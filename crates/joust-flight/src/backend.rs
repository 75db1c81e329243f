//! What the service asks of the server that it is part of.

use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::sync::oneshot;
use tonic::{Code, Status};

/// The rows of a statement. Dropping them cancels the work.
pub type BatchStream = BoxStream<'static, Result<RecordBatch, Status>>;

/// Decides about names, users and time, and runs statements. Dropping a future cancels its work.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Identifies the caller of a call, and admits the call.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` for unknown credentials, `RESOURCE_EXHAUSTED` beyond a limit.
    async fn identify(&self, incoming: Incoming) -> Result<Identified, Status>;

    /// Plans a statement and does not run it.
    async fn describe(&self, context: &Context, statement: &Statement)
    -> Result<Described, Status>;

    /// Whether one execution of a statement takes several rows of parameters: an INSERT of VALUES.
    fn takes_rows(&self, sql: &str) -> bool;

    /// Runs a statement.
    fn execute(&self, context: &Context, statement: &Statement) -> Execution;

    /// Writes rows into a table, all or none. Returns their number.
    async fn ingest(
        &self,
        context: &Context,
        ingest: Ingest,
        schema: SchemaRef,
        rows: BatchStream,
    ) -> Result<i64, Status>;

    /// The functions that a statement may call.
    fn functions(&self) -> Functions;

    /// A call has ended: the last event of each. It must not block.
    fn finished(&self, report: Report);
}

/// The table of a bulk ingestion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ingest {
    pub table: String,
    /// `None`: that of the context.
    pub schema: Option<String>,
    /// Creates a table that does not exist.
    pub creates: bool,
    pub existing: Existing,
}

/// What happens to a table that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Fail,
    Append,
    Replace,
}

/// Names of functions by subject.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    pub numeric: Vec<String>,
    pub string: Vec<String>,
    pub datetime: Vec<String>,
    pub system: Vec<String>,
}

/// A call whose caller is not identified yet.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// Unique in the process.
    pub call: u64,
    pub request_id: String,
    /// The address of the client; empty if it is unknown.
    pub remote: String,
    /// The headers that the server decides by, in lower case.
    pub headers: Vec<(String, String)>,
}

/// The caller of a call.
#[derive(Debug, Clone)]
pub struct Identified {
    /// Unique for each caller.
    pub caller: String,
    /// With this token later calls identify the caller.
    pub token: String,
    /// The time that the call has left; no limit when absent.
    pub timeout: Option<Duration>,
}

/// Where unqualified names of a statement are looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Of the header `database`; empty: none.
    pub database: String,
    /// Of the header `namespace-path`, or of the session; empty: the root.
    pub namespace: String,
}

/// A call of an identified caller.
#[derive(Debug, Clone)]
pub struct Context {
    pub call: u64,
    /// The id of the caller.
    pub caller: String,
    pub scope: Scope,
}

/// A statement of a client.
#[derive(Debug, Clone, Default)]
pub struct Statement {
    pub sql: String,
    /// Column *i* is `$i`, and `$name`. One row, unless the statement takes several.
    pub parameters: Option<RecordBatch>,
    /// The statement takes all rows of the parameters at once ([`Backend::takes_rows`]).
    pub takes_rows: bool,
    /// The values of the parameters are not known: the statement is only described.
    pub open: bool,
}

/// The columns of a statement's result; none for a statement without rows.
#[derive(Debug, Clone)]
pub struct Described {
    pub schema: SchemaRef,
    /// The parameters of an open statement.
    pub parameters: SchemaRef,
}

/// A statement that runs.
pub struct Execution {
    /// The columns of a statement that changes something, sent before it changes anything. A query sends none: its
    /// outcome has them as soon as it is planned.
    pub columns: oneshot::Receiver<SchemaRef>,
    /// Ready when the first rows of a query may be read, or when a change is done. Dropping it cancels the statement.
    pub outcome: BoxFuture<'static, Result<Outcome, Status>>,
}

/// What a statement did.
pub enum Outcome {
    Rows {
        schema: SchemaRef,
        batches: BatchStream,
    },
    /// It changed data: the number of rows, if it is known.
    Changed(Option<i64>),
}

/// A call that has ended.
#[derive(Debug, Clone)]
pub struct Report {
    pub call: u64,
    /// The name of the call, such as `DoGet`.
    pub operation: String,
    pub code: Code,
    /// Of a failure.
    pub message: String,
    /// The cause of a failure, for the log.
    pub cause: Option<String>,
    pub duration: Duration,
    /// Bytes of the rows that were sent.
    pub bytes: u64,
    pub request_id: String,
    /// The id of the caller; empty if it is unknown.
    pub caller: String,
}
