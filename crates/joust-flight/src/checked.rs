//! Checks the sizes in a client's Arrow message before it is decoded.
//!
//! The numbers come from the client. A compressed buffer says how large it is: the decompressor allocates that, and a
//! number that is too large ends the process. A batch of nulls has any number of rows without a byte.

use arrow::ipc::{self, MessageHeader};
use arrow_flight::FlightData;
use tonic::Status;

use crate::status::invalid;

/// Rows of one batch without any bytes.
const MOST_FREE_ROWS: u64 = 1_000_000;

/// The same message if it may be decoded.
pub fn checked(message: FlightData) -> Result<FlightData, Status> {
    // A message without a header has only a command.
    if message.data_header.is_empty() {
        return Ok(message);
    }
    let header = ipc::root_as_message(&message.data_header)
        .map_err(|error| invalid(format!("the message has no Arrow header: {error}")))?;
    let batch = match header.header_type() {
        MessageHeader::RecordBatch => header.header_as_record_batch(),
        MessageHeader::DictionaryBatch => header
            .header_as_dictionary_batch()
            .and_then(|dictionary| dictionary.data()),
        _ => return Ok(message),
    };
    let batch = batch.ok_or_else(|| invalid("the message has no batch"))?;
    if batch.compression().is_some() {
        return Err(invalid(
            "the batch is compressed: send the rows without compression of Arrow's buffers",
        ));
    }
    let body = message.data_body.len() as u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = u64::try_from(buffer.offset()).ok();
        let length = u64::try_from(buffer.length()).ok();
        let end = start
            .zip(length)
            .and_then(|(start, length)| start.checked_add(length));
        if end.is_none_or(|end| end > body) {
            return Err(invalid("a buffer lies outside its message"));
        }
    }
    let paid_for = MOST_FREE_ROWS.saturating_add(body.saturating_mul(64));
    // The values of a list of nulls have no bytes either.
    let nodes = batch.nodes().into_iter().flatten();
    for length in std::iter::once(batch.length()).chain(nodes.map(ipc::FieldNode::length)) {
        if u64::try_from(length).is_ok_and(|length| length <= paid_for) {
            continue;
        }
        return Err(invalid(format!(
            "a batch of {body} bytes says that it has {length} rows or values; send batches of at most \
             {MOST_FREE_ROWS} rows or values without content"
        )));
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, LargeListArray, NullArray, RecordBatch};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{DataType, Field};
    use arrow::ipc::CompressionType;
    use arrow::ipc::writer::{
        CompressionContext, DictionaryTracker, IpcDataGenerator, IpcWriteOptions,
    };

    use super::*;

    fn message(column: ArrayRef, options: &IpcWriteOptions) -> FlightData {
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let mut tracker = DictionaryTracker::new(false);
        let mut context = CompressionContext::default();
        let (_, encoded) = IpcDataGenerator::default()
            .encode(&batch, &mut tracker, options, &mut context)
            .unwrap();
        FlightData {
            data_header: encoded.ipc_message.into(),
            data_body: encoded.arrow_data.into(),
            ..FlightData::default()
        }
    }

    fn numbers() -> ArrayRef {
        Arc::new(Int64Array::from(vec![7; 1_000]))
    }

    #[test]
    fn a_plain_batch_passes() {
        assert!(checked(message(numbers(), &IpcWriteOptions::default())).is_ok());
        assert!(checked(FlightData::default()).is_ok());
    }

    #[test]
    fn a_compressed_batch_is_refused() {
        let options = IpcWriteOptions::default()
            .try_with_compression(Some(CompressionType::LZ4_FRAME))
            .unwrap();
        let refused = checked(message(numbers(), &options)).unwrap_err();
        assert!(refused.message().contains("compressed"), "{refused}");
    }

    #[test]
    fn a_body_that_is_cut_off_is_refused() {
        let mut cut = message(numbers(), &IpcWriteOptions::default());
        cut.data_body.truncate(100);
        let refused = checked(cut).unwrap_err();
        assert!(refused.message().contains("outside"), "{refused}");
    }

    #[test]
    fn rows_without_content_are_bounded() {
        let nulls = Arc::new(NullArray::new(2_000_000));
        let refused = checked(message(nulls, &IpcWriteOptions::default())).unwrap_err();
        assert!(refused.message().contains("2000000 rows"), "{refused}");
    }

    #[test]
    fn values_without_content_are_bounded() {
        let item = Arc::new(Field::new("item", DataType::Null, true));
        let offsets = OffsetBuffer::new(vec![0_i64, 1 << 45].into());
        let values = Arc::new(NullArray::new(1 << 45));
        let lists = Arc::new(LargeListArray::new(item, offsets, values, None));
        let refused = checked(message(lists, &IpcWriteOptions::default())).unwrap_err();
        assert!(
            refused.message().contains("35184372088832 rows"),
            "{refused}"
        );
    }

    #[test]
    fn an_invalid_header_is_refused() {
        let garbage = FlightData {
            data_header: vec![1, 2, 3].into(),
            ..FlightData::default()
        };
        assert!(checked(garbage).is_err());
    }
}
