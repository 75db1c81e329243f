//! Tickets of statements. A ticket holds the statement itself. The caller that redeems it needs the rights for the
//! statement, so a ticket gives no access.

use arrow_flight::sql::{Any, Command, ProstMessageExt, TicketStatementQuery};
use arrow_flight::{FlightInfo, Ticket};
use bytes::Bytes;
use prost::Message;
use tonic::Status;

use crate::backend::Scope;
use crate::ids;
use crate::status::invalid;

/// The handle in a ticket.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Handle {
    /// The name of the execution, with which a client cancels it.
    #[prost(string, tag = "1")]
    pub id: String,
    #[prost(string, tag = "2")]
    pub sql: String,
    #[prost(string, tag = "3")]
    pub database: String,
    #[prost(string, tag = "4")]
    pub namespace: String,
}

impl Handle {
    pub fn new(sql: String, scope: &Scope) -> Self {
        Self {
            id: ids::new(),
            sql,
            database: scope.database.clone(),
            namespace: scope.namespace.clone(),
        }
    }

    pub fn scope(&self) -> Scope {
        Scope {
            database: self.database.clone(),
            namespace: self.namespace.clone(),
        }
    }

    pub fn ticket(&self) -> Ticket {
        let statement = TicketStatementQuery {
            statement_handle: self.encode_to_vec().into(),
        };
        Ticket::new(statement.as_any().encode_to_vec())
    }

    pub fn of(ticket: &TicketStatementQuery) -> Result<Self, Status> {
        Self::decode(ticket.statement_handle.clone())
            .map_err(|_| invalid("the ticket is not one of joust's: take it from GetFlightInfo"))
    }
}

/// The command in a ticket or descriptor. LanceDB's SDK puts the command into field 2 of another message.
pub fn command(bytes: &Bytes) -> Result<Command, Status> {
    let unreadable = |_| invalid("the command must be an Any with a message of Flight SQL");
    let mut any = Any::decode(bytes.clone()).map_err(unreadable)?;
    if any.type_url.is_empty() && !any.value.is_empty() {
        any = Any::decode(any.value).map_err(unreadable)?;
    }
    Command::try_from(any)
        .map_err(|_| invalid("the command in the ticket or descriptor cannot be decoded"))
}

/// The name of the execution that an info is about: the handle of its statement, or of its prepared statement.
pub fn execution(info: &FlightInfo) -> Result<String, Status> {
    let ticket = info.endpoint.iter().find_map(|end| end.ticket.as_ref());
    let Some(ticket) = ticket else {
        return Err(invalid("the info has no endpoint with a ticket"));
    };
    match command(&ticket.ticket)? {
        Command::TicketStatementQuery(statement) => Ok(Handle::of(&statement)?.id),
        Command::CommandPreparedStatementQuery(prepared) => {
            Ok(String::from_utf8_lossy(&prepared.prepared_statement_handle).into_owned())
        }
        _ => Err(invalid("only statements can be cancelled")),
    }
}
