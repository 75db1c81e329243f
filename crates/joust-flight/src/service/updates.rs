//! `DoPut`: statements that change data, and parameters of prepared statements.

use arrow::array::RecordBatch;
use arrow_flight::FlightData;
use arrow_flight::sql::{Command, DoPutPreparedStatementResult, DoPutUpdateResult};
use futures::{TryStreamExt, future};
use prost::Message;
use tonic::{Code, Status, Streaming};

use super::Service;
use super::commands::{check_transaction, unserved_command};
use crate::access::Call;
use crate::backend::{Context, Execution, Outcome, Statement};
use crate::status::{invalid, with_cause};
use crate::streams::Begun;
use crate::{ingest, ticket};

/// The number of changed rows of a statement that reports none, such as CREATE TABLE. It is not -1, "unknown" in the
/// protocol: the JDBC driver takes -1 for a query and runs the statement a second time.
const NO_COUNT: i64 = 0;

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
                let begun = self.streams.begin(caller, None);
                self.change(&begun, &call.context, &statement).await
            }
            Command::CommandPreparedStatementQuery(query) => {
                let handle = query.prepared_statement_handle;
                // Before the row is read: another caller's statement is no reason to read it.
                self.prepared.get(caller, &handle)?;
                if let Some(rows) = self.parameters.read(caller, first, messages).await? {
                    self.prepared.bind(caller, &handle, rows.batch)?;
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
                let context = Context {
                    scope: prepared.scope,
                    ..call.context.clone()
                };
                let begun = self.streams.begin(caller, Some(handle));
                let sent = self.parameters.read(caller, first, messages).await?;
                let bound = statement.parameters.take();
                match sent.as_ref().map(|sent| &sent.batch).or(bound.as_ref()) {
                    Some(rows) => self.change_with(&begun, &context, statement, rows).await,
                    None => self.change(&begun, &context, &statement).await,
                }
            }
            Command::CommandStatementIngest(command) => {
                check_transaction(command.transaction_id.as_ref())?;
                let request = ingest::read(command)?;
                let (schema, rows) = ingest::rows(first, messages).await?;
                let ingested = self.backend.ingest(&call.context, request, schema, rows);
                ingested.await.map(Some).map(result)
            }
            other => Err(unserved_command(&other)),
        }
    }

    async fn change(
        &self,
        begun: &Begun,
        context: &Context,
        statement: &Statement,
    ) -> Result<Vec<u8>, Status> {
        self.changed(begun, context, statement).await.map(result)
    }

    /// Runs a statement for each row of parameters, or once if it takes all of them.
    async fn change_with(
        &self,
        begun: &Begun,
        context: &Context,
        mut statement: Statement,
        rows: &RecordBatch,
    ) -> Result<Vec<u8>, Status> {
        let count = rows.num_rows();
        // Also for one row, so that the number of rows does not decide which values are valid.
        statement.takes_rows = count > 0 && self.backend.takes_rows(&statement.sql);
        if count == 1 || statement.takes_rows {
            statement.parameters = Some(rows.clone());
            return self.change(begun, context, &statement).await;
        }
        let mut sum = Some(0);
        for row in 0..count {
            statement.parameters = Some(rows.slice(row, 1));
            let changed = self.changed(begun, context, &statement).await;
            let changed = changed.map_err(|status| of_row(&status, row, count))?;
            sum = sum.zip(changed).map(|(sum, changed)| sum + changed);
        }
        Ok(result(sum))
    }

    /// The number of changed rows, if it is known.
    async fn changed(
        &self,
        begun: &Begun,
        context: &Context,
        statement: &Statement,
    ) -> Result<Option<i64>, Status> {
        let Execution { columns, outcome } = self.backend.execute(context, statement);
        let watch = async {
            if columns.await.is_ok() {
                begun.changes();
            }
            future::pending().await
        };
        let work = async {
            tokio::select! {
                biased;
                never = watch => never,
                outcome = outcome => outcome,
            }
        };
        match begun.run(work).await? {
            Outcome::Changed(count) => Ok(count),
            // The client of an update reads no rows, such as the id of a job.
            Outcome::Rows { .. } if begun.is_change() => Ok(None),
            Outcome::Rows { .. } => Err(invalid(
                "the statement is a query: run it as a query, not as an update",
            )),
        }
    }
}

fn result(count: Option<i64>) -> Vec<u8> {
    let record_count = count.unwrap_or(NO_COUNT);
    DoPutUpdateResult { record_count }.encode_to_vec()
}

/// The failure of one of several rows.
fn of_row(status: &Status, row: usize, count: usize) -> Status {
    let before = match row {
        0 => "no row was applied before".to_string(),
        1 => "row 1 was applied".to_string(),
        _ => format!("rows 1 to {row} were applied"),
    };
    let failed = match status.code() {
        Code::Cancelled | Code::DeadlineExceeded | Code::Unavailable | Code::Unknown => {
            "may be applied"
        }
        _ => "failed",
    };
    let message = format!(
        "row {} of {count} of the parameters {failed}, {before}: {}",
        row + 1,
        status.message()
    );
    let mut failed = Status::new(status.code(), message);
    if let Some(cause) = std::error::Error::source(status) {
        failed = with_cause(failed, cause.to_string());
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_of_an_interrupted_row_is_open() {
        let failed = of_row(&Status::invalid_argument("no number"), 0, 5);
        assert_eq!(
            failed.message(),
            "row 1 of 5 of the parameters failed, no row was applied before: no number"
        );
        let cancelled = of_row(&Status::cancelled("the statement was cancelled"), 2, 5);
        assert_eq!(cancelled.code(), Code::Cancelled);
        assert_eq!(
            cancelled.message(),
            "row 3 of 5 of the parameters may be applied, rows 1 to 2 were applied: the statement was cancelled"
        );
    }
}
