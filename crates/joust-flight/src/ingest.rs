//! Bulk ingestion: the rows of a client's stream become rows of a table.

use arrow_flight::FlightData;
use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use arrow_flight::sql::{
    CommandStatementIngest, TableExistsOption as IfExists, TableNotExistOption as IfNotExist,
};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use tonic::Status;

use crate::backend::{BatchStream, Existing, Ingest};
use crate::checked::checked;
use crate::metadata::CATALOG;
use crate::status::{invalid, unserved};

/// What a command asks for.
pub fn read(command: CommandStatementIngest) -> Result<Ingest, Status> {
    if command.temporary {
        return Err(unserved(
            "temporary tables: ingest into a table of a schema",
        ));
    }
    if let Some(catalog) = command.catalog.filter(|catalog| !catalog.is_empty())
        && catalog != CATALOG
    {
        return Err(Status::not_found(format!(
            "there is no catalog `{catalog}`; the only one is `{CATALOG}`"
        )));
    }
    if let Some(option) = command.options.keys().next() {
        return Err(invalid(format!("bulk ingestion has no option `{option}`")));
    }
    if command.table.is_empty() {
        return Err(invalid("bulk ingestion needs the name of a table"));
    }
    let options = command.table_definition_options.unwrap_or_default();
    let creates = match options.if_not_exist() {
        IfNotExist::Create => true,
        IfNotExist::Fail => false,
        IfNotExist::Unspecified => return Err(unspecified("if_not_exist")),
    };
    let existing = match options.if_exists() {
        IfExists::Fail => Existing::Fail,
        IfExists::Append => Existing::Append,
        IfExists::Replace => Existing::Replace,
        IfExists::Unspecified => return Err(unspecified("if_exists")),
    };
    if !creates && existing == Existing::Fail {
        return Err(invalid(
            "bulk ingestion fails if the table exists, and if it does not; choose another option",
        ));
    }
    Ok(Ingest {
        table: command.table,
        schema: command.schema.filter(|schema| !schema.is_empty()),
        creates,
        existing,
    })
}

fn unspecified(option: &str) -> Status {
    invalid(format!(
        "bulk ingestion needs `{option}` in table_definition_options"
    ))
}

/// The rows of a stream that begins with the message that carried the command, and their columns.
pub async fn rows(
    first: FlightData,
    rest: impl Stream<Item = Result<FlightData, Status>> + Send + Unpin + 'static,
) -> Result<(arrow::datatypes::SchemaRef, BatchStream), Status> {
    let has_schema = !first.data_header.is_empty();
    let first = stream::iter(has_schema.then_some(Ok(first)));
    let messages = first
        .chain(rest)
        .and_then(async |message| checked(message))
        .map_err(FlightError::from);
    let mut decoder = FlightDataDecoder::new(messages);
    let schema = loop {
        let Some(message) = decoder.try_next().await.map_err(of_client)? else {
            return Err(invalid("the stream has no columns"));
        };
        match message.payload {
            DecodedPayload::Schema(schema) => break schema,
            DecodedPayload::None => {}
            DecodedPayload::RecordBatch(_) => {
                return Err(invalid("the stream has rows without columns"));
            }
        }
    };
    let batches =
        decoder
            .map_err(of_client)
            .try_filter_map(async |message| match message.payload {
                DecodedPayload::RecordBatch(batch) => Ok(Some(batch)),
                DecodedPayload::None => Ok(None),
                DecodedPayload::Schema(_) => Err(invalid("the stream has columns twice")),
            });
    Ok((schema, batches.boxed()))
}

/// A stream that cannot be decoded is the client's error.
fn of_client(error: FlightError) -> Status {
    match error {
        FlightError::Tonic(status) => *status,
        other => invalid(format!("the rows cannot be decoded: {other}")),
    }
}
