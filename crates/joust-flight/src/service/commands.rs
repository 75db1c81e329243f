//! Commands that are planned: `GetFlightInfo`, `GetSchema`.

use arrow::datatypes::SchemaRef;
use arrow_flight::sql::{Command, CommandGetDbSchemas, CommandGetTables, ProstMessageExt};
use arrow_flight::{FlightDescriptor, FlightInfo, SchemaResult, Ticket};
use prost::Message;
use tonic::Status;

use super::Service;
use crate::access::Call;
use crate::backend::{Context, Statement};
use crate::status::{internal, unserved};
use crate::ticket::Handle;
use crate::{info, metadata, ticket};

impl Service {
    pub(super) async fn info(
        &self,
        call: &Call,
        descriptor: FlightDescriptor,
    ) -> Result<FlightInfo, Status> {
        let command = ticket::command(&descriptor.cmd)?;
        let (schema, ticket) = self.described(call, command).await?;
        info::of(&schema, ticket, descriptor)
    }

    pub(super) async fn schema(
        &self,
        call: &Call,
        descriptor: FlightDescriptor,
    ) -> Result<SchemaResult, Status> {
        let command = ticket::command(&descriptor.cmd)?;
        let (schema, _) = self.described(call, command).await?;
        info::schema_result(&schema)
    }

    /// The columns of a command's answer, and the ticket that gives the rows.
    pub(super) async fn described(
        &self,
        call: &Call,
        command: Command,
    ) -> Result<(SchemaRef, Ticket), Status> {
        let schema = match command {
            Command::CommandStatementQuery(query) => {
                check_transaction(query.transaction_id.as_ref())?;
                let handle = Handle::new(query.query, &call.context.scope);
                let statement = Statement {
                    sql: handle.sql.clone(),
                    ..Statement::default()
                };
                let described = self.backend.describe(&call.context, &statement).await?;
                return Ok((info::sent(described.schema), handle.ticket()));
            }
            Command::CommandPreparedStatementQuery(ref query) => {
                let handle = &query.prepared_statement_handle;
                let (_, prepared) = self.prepared.get(&call.context.caller, handle)?;
                let context = Context {
                    scope: prepared.scope.clone(),
                    ..call.context.clone()
                };
                let statement = prepared.query()?;
                let described = self.backend.describe(&context, &statement).await?;
                info::sent(described.schema)
            }
            Command::CommandGetCatalogs(command) => command.into_builder().schema(),
            Command::CommandGetTableTypes(command) => command.into_builder().schema(),
            Command::CommandGetDbSchemas(_) => {
                CommandGetDbSchemas::default().into_builder().schema()
            }
            Command::CommandGetTables(ref command) => CommandGetTables {
                include_schema: command.include_schema,
                ..CommandGetTables::default()
            }
            .into_builder()
            .schema(),
            Command::CommandGetSqlInfo(_) => self.server_info.schema(),
            Command::CommandGetXdbcTypeInfo(_) => self.types.schema(),
            Command::CommandGetPrimaryKeys(_) => metadata::keys(true),
            Command::CommandGetExportedKeys(_)
            | Command::CommandGetImportedKeys(_)
            | Command::CommandGetCrossReference(_) => metadata::keys(false),
            other => return Err(unserved_command(&other)),
        };
        let ticket = Ticket::new(command.into_any().encode_to_vec());
        Ok((schema, ticket))
    }
}

/// joust has no transactions over several statements.
pub(super) fn check_transaction(id: Option<&bytes::Bytes>) -> Result<(), Status> {
    match id {
        Some(id) if !id.is_empty() => Err(unserved(
            "transactions: send the statement without a transaction id",
        )),
        _ => Ok(()),
    }
}

pub(super) fn unserved_command(command: &Command) -> Status {
    let url = command.type_url();
    unserved(&format!(
        "the command {} in this call",
        url.rsplit(['.', '/']).next().unwrap_or(url)
    ))
}

/// The bytes of a message in an `Any`.
pub(super) fn packed(message: &impl ProstMessageExt) -> Vec<u8> {
    message.as_any().encode_to_vec()
}

pub(super) fn built<T>(batch: Result<T, arrow_flight::error::FlightError>) -> Result<T, Status> {
    batch.map_err(internal)
}
