//! A backend with a few statements, and a server with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::{FlightData, FlightInfo};
use async_trait::async_trait;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tokio::sync::oneshot;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::backend::{
    Backend, BatchStream, Context, Described, Execution, Functions, Identified, Incoming, Ingest,
    Outcome, Report, Statement,
};
use crate::{Options, Patience, Server, of_code, with_cause};

/// Bytes of a batch of `ROWS`.
const BATCH: usize = 1 << 20;

/// What the backend has seen.
#[derive(Default)]
pub struct Seen {
    /// The addresses of the clients of all calls.
    pub remotes: std::sync::Mutex<Vec<String>>,
    pub batches: AtomicUsize,
    /// Streams of rows, and slow statements, that exist.
    pub streams: AtomicUsize,
    pub reports: std::sync::Mutex<Vec<Report>>,
    /// The numbers of rows of parameters of the changes.
    pub changes: std::sync::Mutex<Vec<usize>>,
    /// The complete ingestions.
    pub ingested: std::sync::Mutex<Vec<Ingest>>,
}

#[derive(Clone, Default)]
pub struct Fake(pub Arc<Seen>);

/// Counts the streams that exist.
struct Open(Arc<Seen>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::SeqCst);
    }
}

pub fn texts(columns: &[(&str, &[&str])]) -> RecordBatch {
    let columns = columns.iter().map(|(name, values)| {
        let array: ArrayRef = Arc::new(StringArray::from(values.to_vec()));
        (*name, array)
    });
    RecordBatch::try_from_iter(columns).unwrap()
}

fn batch() -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7; BATCH / 8]));
    RecordBatch::try_from_iter([("n", numbers)]).unwrap()
}

impl Fake {
    fn rows(&self, context: &Context, statement: &Statement) -> Result<Vec<RecordBatch>, Status> {
        let sql = statement.sql.as_str();
        if sql.contains("information_schema.schemata") {
            return Ok(vec![texts(&[("schema_name", &["public", "a$b"])])]);
        }
        if sql.contains("information_schema.tables") {
            return Ok(vec![texts(&[
                ("table_schema", &["public", "a$b"]),
                ("table_name", &["one", "two"]),
                ("table_type", &["BASE TABLE", "VIEW"]),
            ])]);
        }
        Ok(vec![match sql {
            "PARAMETERS" => statement
                .parameters
                .clone()
                .ok_or_else(|| of_code(13, "the statement has no parameters"))?,
            "SCOPE" => {
                let scope = &context.scope;
                texts(&[
                    ("database", &[scope.database.as_str()]),
                    ("namespace", &[scope.namespace.as_str()]),
                ])
            }
            "SELECT 1" | "SELECT * FROM \"public\".\"one\"" | "SELECT * FROM \"a$b\".\"two\"" => {
                let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
                RecordBatch::try_from_iter([("one", one)]).unwrap()
            }
            _ => return Err(of_code(4, format!("no statement `{sql}`"))),
        }])
    }
}

impl Fake {
    /// The number of rows of parameters. Fails for a negative one.
    fn change(&self, statement: &Statement) -> Result<Outcome, Status> {
        let rows = statement.parameters.as_ref().unwrap();
        let values = rows.column(0).as_primitive::<Int64Type>().values();
        if values.iter().any(|value| *value < 0) {
            return Err(with_cause(
                of_code(13, "it is negative"),
                "a cause".to_string(),
            ));
        }
        self.0.changes.lock().unwrap().push(rows.num_rows());
        Ok(Outcome::Changed(Some(rows.num_rows() as i64)))
    }
}

#[async_trait]
impl Backend for Fake {
    async fn identify(&self, incoming: Incoming) -> Result<Identified, Status> {
        let header = |wanted: &str| {
            let mut headers = incoming.headers.iter();
            headers.find_map(|(name, value)| (name == wanted).then_some(value.as_str()))
        };
        let key = header("authorization").and_then(|text| text.strip_prefix("Bearer "));
        self.0.remotes.lock().unwrap().push(incoming.remote.clone());
        match key.or_else(|| header("x-api-key")) {
            Some(key @ ("alice" | "bob")) => Ok(Identified {
                caller: key.to_string(),
                token: key.to_string(),
                timeout: header("x-request-timeout-ms")
                    .map(|millis| Duration::from_millis(millis.parse().unwrap())),
            }),
            _ => Err(of_code(16, "no such key")),
        }
    }

    async fn describe(
        &self,
        context: &Context,
        statement: &Statement,
    ) -> Result<Described, Status> {
        let none = Arc::new(Schema::empty());
        if statement.open {
            let parameter = Field::new("$1", DataType::Int64, true);
            return Ok(Described {
                schema: batch().schema(),
                parameters: Arc::new(Schema::new(vec![parameter])),
            });
        }
        let schema = match statement.sql.as_str() {
            sql if sql.starts_with("ROWS") => batch().schema(),
            sql if sql.starts_with("SLOW") => none.clone(),
            _ => self.rows(context, statement)?[0].schema(),
        };
        Ok(Described {
            schema,
            parameters: none,
        })
    }

    fn takes_rows(&self, sql: &str) -> bool {
        sql == "INSERT"
    }

    fn execute(&self, context: &Context, statement: &Statement) -> Execution {
        let (sender, columns) = oneshot::channel();
        let (backend, context, statement) = (self.clone(), context.clone(), statement.clone());
        let outcome = async move { backend.outcome(&context, &statement, sender).await };
        Execution {
            columns,
            outcome: outcome.boxed(),
        }
    }

    async fn ingest(
        &self,
        _: &Context,
        ingest: Ingest,
        schema: SchemaRef,
        mut rows: BatchStream,
    ) -> Result<i64, Status> {
        assert_eq!(schema.field(0).name(), "one");
        let mut count = 0;
        while let Some(batch) = rows.try_next().await? {
            count += batch.num_rows() as i64;
        }
        self.0.ingested.lock().unwrap().push(ingest);
        Ok(count)
    }

    fn functions(&self) -> Functions {
        let names = |name: &str| vec![name.to_string()];
        Functions {
            numeric: names("abs"),
            string: names("upper"),
            datetime: names("now"),
            system: names("nullif"),
        }
    }

    fn finished(&self, report: Report) {
        self.0.reports.lock().unwrap().push(report);
    }
}

impl Fake {
    async fn outcome(
        &self,
        context: &Context,
        statement: &Statement,
        columns: oneshot::Sender<SchemaRef>,
    ) -> Result<Outcome, Status> {
        // `SLOW CHANGE 300`, `SLOW FAILURE 300`, `SLOW PLAN 300`: ms.
        let words: Vec<&str> = statement.sql.split(' ').collect();
        if let ["SLOW", kind, millis] = words[..] {
            self.0.streams.fetch_add(1, Ordering::SeqCst);
            let _open = Open(self.0.clone());
            if kind != "PLAN" {
                let count = Field::new("count", DataType::Int64, false);
                let _ = columns.send(Arc::new(Schema::new(vec![count])));
            }
            tokio::time::sleep(Duration::from_millis(millis.parse().unwrap())).await;
            return match kind {
                "FAILURE" => Err(of_code(13, "the change failed")),
                _ => Ok(Outcome::Changed(Some(3))),
            };
        }
        if let "INSERT" | "DELETE" = statement.sql.as_str() {
            return self.change(statement);
        }
        if statement.sql == "CHANGE" {
            return Ok(Outcome::Changed(Some(3)));
        }
        let (schema, batches) = match statement.sql.strip_prefix("ROWS ") {
            Some(count) => {
                let (seen, count) = (self.0.clone(), count.parse().unwrap());
                seen.streams.fetch_add(1, Ordering::SeqCst);
                let open = Open(seen);
                let batches = stream::iter(0..count).map(move |_: usize| {
                    open.0.batches.fetch_add(1, Ordering::SeqCst);
                    Ok(batch())
                });
                (batch().schema(), batches.boxed())
            }
            None => {
                let batches = self.rows(context, statement)?;
                let schema = batches[0].schema();
                (schema, stream::iter(batches.into_iter().map(Ok)).boxed())
            }
        };
        Ok(Outcome::Rows { schema, batches })
    }
}

/// A server of one test.
pub struct Started {
    pub server: Server,
    pub seen: Arc<Seen>,
}

pub async fn start() -> Started {
    start_with(Patience::default()).await
}

pub async fn start_with(patience: Patience) -> Started {
    let fake = Fake::default();
    let seen = fake.0.clone();
    let options = Options {
        host: "127.0.0.1".to_string(),
        port: 0,
        certificate: None,
        heartbeat: Duration::from_millis(100),
        patience,
    };
    let server = Server::listen(Arc::new(fake), options).await.unwrap();
    Started { server, seen }
}

impl Started {
    pub async fn channel(&self) -> Channel {
        let address = format!("http://127.0.0.1:{}", self.server.port());
        let endpoint = Channel::from_shared(address).unwrap();
        endpoint.connect().await.unwrap()
    }

    pub async fn raw(&self) -> FlightServiceClient<Channel> {
        FlightServiceClient::new(self.channel().await)
    }

    pub async fn client(&self, key: &str) -> FlightSqlServiceClient<Channel> {
        let mut client = FlightSqlServiceClient::new(self.channel().await);
        client.set_token(key.to_string());
        client
    }
}

/// A request of alice.
pub fn request<T>(message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    let metadata = request.metadata_mut();
    metadata.insert("authorization", "Bearer alice".parse().unwrap());
    request
}

/// All rows of the only endpoint.
pub async fn fetch(
    client: &mut FlightSqlServiceClient<Channel>,
    info: FlightInfo,
) -> Result<Vec<RecordBatch>, FlightError> {
    assert_eq!(info.endpoint.len(), 1);
    let schema = info.clone().try_decode_schema().unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let rows = client.do_get(ticket).await?;
    let batches: Vec<RecordBatch> = rows.try_collect().await?;
    for batch in &batches {
        assert_eq!(*batch.schema(), schema);
    }
    Ok(batches)
}

/// All rows of a reply, whose first message is the schema.
pub async fn rows(messages: Streaming<FlightData>) -> Result<Vec<RecordBatch>, Status> {
    let messages: Vec<FlightData> = messages.try_collect().await?;
    assert!(Schema::try_from(&messages[0]).is_ok());
    let messages = stream::iter(messages.into_iter().map(Ok));
    let batches = FlightRecordBatchStream::new_from_flight_data(messages);
    Ok(batches.try_collect().await.unwrap())
}

/// Waits until a condition holds.
pub async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until a number does not change any more.
pub async fn settled(number: impl Fn() -> usize) -> usize {
    loop {
        let before = number();
        tokio::time::sleep(Duration::from_millis(200)).await;
        if number() == before {
            return before;
        }
    }
}
