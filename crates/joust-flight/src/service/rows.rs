//! Commands that give rows: `DoGet`, `DoExchange`.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::Schema;
use arrow_flight::sql::Command;
use arrow_flight::{FlightData, Ticket};
use futures::{StreamExt, TryStreamExt, stream};
use tonic::{Status, Streaming};

use super::commands::{built, check_transaction, unserved_command};
use super::{Messages, Service};
use crate::access::Call;
use crate::backend::{Context, Outcome, Statement};
use crate::parameters::one_row;
use crate::status::{internal, invalid};
use crate::ticket::Handle;
use crate::{metadata, ticket};

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
        let rows = self.parameters.read(first, messages).await?;
        let statement = Statement {
            sql: query.query,
            parameters: rows.map(|rows| one_row(rows.batch)).transpose()?.flatten(),
            open: false,
        };
        self.run(call, &call.context, &statement, None).await
    }

    /// The schema first, as soon as the statement is planned. `execution`: with this name its client cancels it.
    async fn run(
        &self,
        call: &Call,
        context: &Context,
        statement: &Statement,
        execution: Option<String>,
    ) -> Result<Messages<FlightData>, Status> {
        match self.backend.execute(context, statement).await? {
            Outcome::Rows { schema, batches } => {
                let rows = (schema, batches);
                let caller = &context.caller;
                let stream = self.streams.send(&call.running, caller, execution, rows);
                Ok(stream.boxed())
            }
            Outcome::Changed(Some(count)) => {
                let count: ArrayRef = Arc::new(Int64Array::from(vec![count]));
                let batch = RecordBatch::try_from_iter([("count", count)]).map_err(internal)?;
                Ok(self.send_batch(call, batch))
            }
            Outcome::Changed(None) => {
                let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
                Ok(self.send_batch(call, none))
            }
        }
    }

    fn send_batch(&self, call: &Call, batch: RecordBatch) -> Messages<FlightData> {
        let rows = (batch.schema(), stream::iter([Ok(batch)]).boxed());
        let caller = &call.context.caller;
        self.streams.send(&call.running, caller, None, rows).boxed()
    }
}
