//! `DoPut`: statements that change data, and parameters of prepared statements.

use arrow_flight::FlightData;
use arrow_flight::sql::{Command, DoPutPreparedStatementResult, DoPutUpdateResult};
use futures::{TryStreamExt, future};
use prost::Message;
use tonic::{Status, Streaming};

use super::Service;
use super::commands::{check_transaction, unserved_command};
use crate::access::Call;
use crate::backend::{Context, Execution, Outcome, Statement};
use crate::status::invalid;
use crate::{parameters, ticket};

/// The number of changed rows if it is unknown.
const UNKNOWN: i64 = -1;

impl Service {
    /// Returns the metadata of the result.
    pub(super) async fn put(
        &self,
        call: &Call,
        mut messages: Streaming<FlightData>,
    ) -> Result<Vec<u8>, Status> {
        let Some(first) = messages.try_next().await? else {
            return Err(invalid("the stream has no message"));
        };
        let descriptor = first.flight_descriptor.clone();
        let Some(descriptor) = descriptor else {
            return Err(invalid("the first message has no descriptor"));
        };
        let caller = &call.context.caller;
        match ticket::command(&descriptor.cmd)? {
            Command::CommandStatementUpdate(update) => {
                check_transaction(update.transaction_id.as_ref())?;
                let statement = Statement {
                    sql: update.query,
                    ..Statement::default()
                };
                self.change(&call.context, &statement, None).await
            }
            Command::CommandPreparedStatementQuery(query) => {
                let handle = query.prepared_statement_handle;
                // Before the row is read: another caller's statement is no reason to read it.
                self.prepared.get(caller, &handle)?;
                if let Some(row) = parameters::read(first, messages).await? {
                    self.prepared.bind(caller, &handle, row)?;
                }
                let result = DoPutPreparedStatementResult {
                    prepared_statement_handle: Some(handle),
                };
                Ok(result.encode_to_vec())
            }
            Command::CommandPreparedStatementUpdate(update) => {
                let handle = &update.prepared_statement_handle;
                let (handle, prepared) = self.prepared.get(caller, handle)?;
                let mut statement = prepared.statement();
                if let Some(row) = parameters::read(first, messages).await? {
                    statement.parameters = (row.num_columns() > 0).then_some(row);
                }
                let context = Context {
                    scope: prepared.scope,
                    ..call.context.clone()
                };
                self.change(&context, &statement, Some(handle)).await
            }
            other => Err(unserved_command(&other)),
        }
    }

    /// `execution`: with this name its client cancels it.
    async fn change(
        &self,
        context: &Context,
        statement: &Statement,
        execution: Option<String>,
    ) -> Result<Vec<u8>, Status> {
        let begun = self.streams.begin(&context.caller, execution);
        let Execution { columns, outcome } = self.backend.execute(context, statement);
        let watch = async {
            if columns.await.is_ok() {
                begun.changes();
            }
            future::pending().await
        };
        let work = async {
            tokio::select! {
                outcome = outcome => outcome,
                never = watch => never,
            }
        };
        match begun.run(work).await? {
            Outcome::Changed(count) => {
                let record_count = count.unwrap_or(UNKNOWN);
                Ok(DoPutUpdateResult { record_count }.encode_to_vec())
            }
            // The client of an update reads no rows, such as the id of a job.
            Outcome::Rows { .. } if begun.is_change() => Ok(DoPutUpdateResult {
                record_count: UNKNOWN,
            }
            .encode_to_vec()),
            Outcome::Rows { .. } => Err(invalid(
                "the statement is a query: run it as a query, not as an update",
            )),
        }
    }
}
