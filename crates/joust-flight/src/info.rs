//! What a client gets before the rows.

use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::writer::IpcWriteOptions;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::{
    FlightDescriptor, FlightEndpoint, FlightInfo, IpcMessage, SchemaAsIpc, SchemaResult, Ticket,
};
use bytes::Bytes;
use futures::stream;
use tonic::Status;

use crate::status::internal;

/// The schema that the rows are sent with: without dictionaries.
pub fn sent(schema: SchemaRef) -> SchemaRef {
    let encoder = FlightDataEncoderBuilder::new()
        .with_schema(schema.clone())
        .build(stream::empty());
    encoder.known_schema().unwrap_or(schema)
}

/// The rows are at this server, behind one ticket. `schema`: without columns if they are not known, or if the statement
/// changes something. Its client then reads them with the rows: ADBC would else run the statement in the background, and
/// refuse rows whose columns are others.
pub fn of(
    schema: &Schema,
    ticket: Ticket,
    descriptor: FlightDescriptor,
) -> Result<FlightInfo, Status> {
    let endpoint = FlightEndpoint::new().with_ticket(ticket);
    let info = FlightInfo {
        schema: encoded(schema)?,
        ..FlightInfo::new()
    };
    Ok(info
        .with_endpoint(endpoint)
        .with_descriptor(descriptor)
        .with_ordered(true))
}

pub fn schema_result(schema: &Schema) -> Result<SchemaResult, Status> {
    SchemaResult::try_from(SchemaAsIpc::new(schema, &IpcWriteOptions::default())).map_err(internal)
}

/// A schema as an encapsulated IPC message; empty for a schema without columns.
pub fn encoded(schema: &Schema) -> Result<Bytes, Status> {
    if schema.fields().is_empty() {
        return Ok(Bytes::new());
    }
    let options = IpcWriteOptions::default();
    let message = IpcMessage::try_from(SchemaAsIpc::new(schema, &options)).map_err(internal)?;
    Ok(message.0)
}
