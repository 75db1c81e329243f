//! Commands that give rows: `DoGet`, `DoExchange`.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::sql::Command;
use arrow_flight::{FlightData, Ticket};
use futures::{StreamExt, TryStreamExt, future, stream};
use tokio::time::sleep;
use tonic::{Status, Streaming};

use super::commands::{built, check_transaction, unserved_command};
use super::{Messages, Service};
use crate::access::Call;
use crate::backend::{BatchStream, Context, Execution, Outcome, Statement};
use crate::parameters::one_row;
use crate::status::{internal, invalid};
use crate::ticket::Handle;
use crate::{metadata, ticket};

/// A statement after its first silence.
enum Waited {
    Ended(Outcome),
    /// A change that still runs, with the columns of its result.
    Runs(SchemaRef),
}

impl Service {
    pub(super) async fn redeem(
        &self,
        call: &Call,
        ticket: Ticket,
    ) -> Result<Messages<FlightData>, Status> {
        self.rows(call, ticket::command(&ticket.ticket)?).await
    }

    async fn rows(&self, call: &Call, command: Command) -> Result<Messages<FlightData>, Status> {
        let batch = match command {
            Command::TicketStatementQuery(ticket) => {
                let handle = Handle::of(&ticket)?;
                let context = Context {
                    scope: handle.scope(),
                    ..call.context.clone()
                };
                let statement = Statement {
                    sql: handle.sql,
                    ..Statement::default()
                };
                return self.run(call, &context, &statement, Some(handle.id)).await;
            }
            Command::CommandStatementQuery(query) => {
                check_transaction(query.transaction_id.as_ref())?;
                let statement = Statement {
                    sql: query.query,
                    ..Statement::default()
                };
                return self.run(call, &call.context, &statement, None).await;
            }
            Command::CommandPreparedStatementQuery(query) => {
                let handle = &query.prepared_statement_handle;
                let (handle, prepared) = self.prepared.get(&call.context.caller, handle)?;
                let statement = prepared.query()?;
                let context = Context {
                    scope: prepared.scope,
                    ..call.context.clone()
                };
                return self.run(call, &context, &statement, Some(handle)).await;
            }
            Command::CommandGetCatalogs(command) => built(metadata::catalogs(command))?,
            Command::CommandGetTableTypes(command) => built(metadata::table_types(command))?,
            Command::CommandGetDbSchemas(command) => {
                metadata::schemas(self.backend.as_ref(), &call.context, command).await?
            }
            Command::CommandGetTables(command) => {
                metadata::tables(self.backend.as_ref(), &call.context, command).await?
            }
            Command::CommandGetSqlInfo(command) => {
                built(command.into_builder(&self.server_info).build())?
            }
            Command::CommandGetXdbcTypeInfo(command) => {
                built(command.into_builder(&self.types).build())?
            }
            Command::CommandGetPrimaryKeys(_) => RecordBatch::new_empty(metadata::keys(true)),
            Command::CommandGetExportedKeys(_)
            | Command::CommandGetImportedKeys(_)
            | Command::CommandGetCrossReference(_) => RecordBatch::new_empty(metadata::keys(false)),
            other => return Err(unserved_command(&other)),
        };
        Ok(self.send_batch(call, batch))
    }

    /// A statement with parameters, as LanceDB's SDK sends it.
    pub(super) async fn exchange(
        &self,
        call: &Call,
        mut messages: Streaming<FlightData>,
    ) -> Result<Messages<FlightData>, Status> {
        let Some(first) = messages.try_next().await? else {
            return Err(invalid("the stream has no message"));
        };
        let descriptor = first.flight_descriptor.clone();
        let Some(descriptor) = descriptor else {
            return Err(invalid("the first message has no descriptor"));
        };
        let Command::CommandStatementQuery(query) = ticket::command(&descriptor.cmd)? else {
            return Err(invalid(
                "DoExchange takes a CommandStatementQuery and a row of its parameters",
            ));
        };
        check_transaction(query.transaction_id.as_ref())?;
        let rows = self
            .parameters
            .read(&call.context.caller, first, messages)
            .await?;
        let statement = Statement {
            sql: query.query,
            parameters: rows.map(|rows| one_row(rows.batch)).transpose()?.flatten(),
            ..Statement::default()
        };
        self.run(call, &call.context, &statement, None).await
    }

    /// The schema first: of a query as soon as it is planned, of a change at the first heartbeat.
    async fn run(
        &self,
        call: &Call,
        context: &Context,
        statement: &Statement,
        execution: Option<String>,
    ) -> Result<Messages<FlightData>, Status> {
        let begun = self.streams.begin(&context.caller, execution);
        let Execution {
            columns,
            mut outcome,
        } = self.backend.execute(context, statement);
        let silence = async {
            let Ok(columns) = columns.await else {
                return future::pending().await;
            };
            begun.changes();
            sleep(self.streams.heartbeat).await;
            columns
        };
        let waiting = async {
            tokio::select! {
                biased;
                columns = silence => Ok(Waited::Runs(columns)),
                outcome = &mut outcome => Ok(Waited::Ended(outcome?)),
            }
        };
        let rows = match begun.run(waiting).await? {
            Waited::Ended(outcome) => rows_of(outcome, None)?,
            Waited::Runs(columns) => {
                let expected = columns.clone();
                let batches = stream::once(async move {
                    let (_, batches) = rows_of(outcome.await?, Some(&expected))?;
                    Ok::<_, Status>(batches)
                });
                (columns, batches.try_flatten().boxed())
            }
        };
        Ok(begun.send(&call.running, rows).boxed())
    }

    fn send_batch(&self, call: &Call, batch: RecordBatch) -> Messages<FlightData> {
        let begun = self.streams.begin(&call.context.caller, None);
        begun.send(&call.running, one(batch)).boxed()
    }
}

/// `expected`: the columns that the client has got already.
fn rows_of(
    outcome: Outcome,
    expected: Option<&SchemaRef>,
) -> Result<(SchemaRef, BatchStream), Status> {
    let (schema, batches) = match outcome {
        Outcome::Rows { schema, batches } => (schema, batches),
        Outcome::Changed(Some(count)) => {
            let columns = vec![Field::new("count", DataType::Int64, false)];
            let count: ArrayRef = Arc::new(Int64Array::from(vec![count]));
            let schema = Arc::new(Schema::new(columns));
            one(RecordBatch::try_new(schema, vec![count]).map_err(internal)?)
        }
        Outcome::Changed(None) => {
            let none = Arc::new(Schema::empty());
            let schema = expected.unwrap_or(&none);
            one(RecordBatch::new_empty(schema.clone()))
        }
    };
    match expected {
        Some(expected) if *expected != schema => Err(internal(format!(
            "a statement announced {expected:?} and has {schema:?}"
        ))),
        _ => Ok((schema, batches)),
    }
}

fn one(batch: RecordBatch) -> (SchemaRef, BatchStream) {
    (batch.schema(), stream::iter([Ok(batch)]).boxed())
}
