//! Decodes an upload into record batches.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Fields, SchemaRef};
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::{read_dictionary, read_record_batch};
use arrow::ipc::{self, MessageHeader};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::try_unfold;
use tokio::task::yield_now;

use super::contained::contained;
use super::framing::{Framer, Message, kind, malformed};
use super::guard::Limits;
use super::known_schemas::KnownSchemas;
use super::upload::UploadReader;
use crate::error::{Code, Error, Result};
use crate::json;
use crate::memory::{Reservation, Use};
use crate::names::short;
use crate::schema::{without_definition, without_functions};

/// Record batches of one schema, as Lance's writer takes them.
pub type BatchStream = SendableRecordBatchStream;

/// Reads the schema at the start of an upload; the rest is a stream of batches.
///
/// An empty body has no schema and is rejected; a stream with a schema and no batches is a stream without rows.
pub async fn decode(upload: UploadReader) -> Result<(SchemaRef, BatchStream)> {
    let limits = Limits::new(upload.memory().budget().batch());
    let mut decoder = Decoder {
        upload,
        limits,
        unpacked: None,
        dictionaries: HashMap::new(),
    };
    let schema = match decoder.upload.next().await? {
        Some(message) => read_schema(&message)?,
        None => {
            return Err(Error::invalid(
                "the body is empty; send an Arrow IPC stream, whose schema is the table's \
                 (a stream without record batches is a table without rows)",
            ));
        }
    };
    let has_json = json::has_json(&schema);
    let batches = try_unfold(
        (decoder, schema.clone()),
        move |(mut decoder, schema)| async move {
            let batch = match decoder.batch(&schema).await {
                Ok(Some(batch)) if has_json => json::check(&batch).map(|()| Some(batch)),
                batch => batch,
            };
            match batch {
                Ok(batch) => Ok(batch.map(|batch| (batch, (decoder, schema)))),
                Err(error) => Err(DataFusionError::External(Box::new(error))),
            }
        },
    );
    let stream = RecordBatchStreamAdapter::new(schema.clone(), batches);
    Ok((schema, Box::pin(stream)))
}

struct Decoder {
    upload: UploadReader,
    limits: Limits,
    /// The reservation of the last compressed batch, until the next one is requested.
    unpacked: Option<Reservation>,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl Decoder {
    async fn batch(&mut self, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
        while let Some(message) = self.upload.next().await? {
            // The caller owns the previous batch by now.
            self.unpacked = None;
            let header = message.header()?;
            let unpacked = self.check(&message, &header)?;
            if unpacked > 0 {
                // Few bytes may decompress to many: not on a thread that only checks whether the upload is complete.
                yield_now().await;
                let memory = self.upload.memory();
                self.unpacked = Some(memory.take(Use::Upload, unpacked).await?);
            }
            if let Some(batch) = self.read(&message.body, &header, schema)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Checks the sizes in a message; returns the bytes that decompression needs.
    fn check(&self, message: &Message, header: &ipc::Message<'_>) -> Result<usize> {
        let batch = match header.header_type() {
            MessageHeader::RecordBatch => header.header_as_record_batch(),
            MessageHeader::DictionaryBatch => header
                .header_as_dictionary_batch()
                .and_then(|dictionary| dictionary.data()),
            _ => None,
        };
        batch.map_or(Ok(0), |batch| self.limits.check_batch(message, &batch))
    }

    /// A record batch; `None` for a dictionary, which is stored for the following batches.
    fn read(
        &mut self,
        body: &Buffer,
        header: &ipc::Message<'_>,
        schema: &SchemaRef,
    ) -> Result<Option<RecordBatch>> {
        let version = header.version();
        match header.header_type() {
            MessageHeader::RecordBatch => {
                let batch = header
                    .header_as_record_batch()
                    .ok_or_else(|| malformed("a record batch has no header"))?;
                let dictionaries = &self.dictionaries;
                valid(|| {
                    read_record_batch(body, batch, schema.clone(), dictionaries, None, &version)
                })
                .map(Some)
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = header
                    .header_as_dictionary_batch()
                    .ok_or_else(|| malformed("a dictionary has no header"))?;
                let dictionaries = &mut self.dictionaries;
                valid(|| read_dictionary(body, dictionary, schema, dictionaries, &version))?;
                Ok(None)
            }
            other => Err(malformed(&format!(
                "a message of kind {} follows the schema",
                kind(other)
            ))),
        }
    }
}

/// The schema at the start of a complete stream. Arrow's reader would allocate whatever length the first bytes contain.
pub fn schema_of(bytes: &[u8]) -> Result<SchemaRef> {
    let mut rest = bytes;
    let message = Framer::new(Limits::new(bytes.len())).take(&mut rest)?;
    read_schema(&message.ok_or_else(|| malformed("it has no schema"))?)
}

fn read_schema(message: &Message) -> Result<SchemaRef> {
    static KNOWN: KnownSchemas = KnownSchemas::new();
    KNOWN.get_or_read(message.metadata(), || new_schema(message))
}

fn new_schema(message: &Message) -> Result<SchemaRef> {
    let header = message.header()?;
    let Some(schema) = header.header_as_schema() else {
        return Err(malformed(&format!(
            "its first message is of kind {}, not a schema",
            kind(header.header_type())
        )));
    };
    let schema = valid(|| Ok(fb_to_schema(schema)))?;
    check_names(schema.fields(), "the schema")?;
    Ok(Arc::new(without_functions(without_definition(schema))))
}

/// Rejects duplicate field names, and names the first.
fn check_names(fields: &Fields, parent: &str) -> Result<()> {
    let mut seen = HashSet::with_capacity(fields.len());
    for field in fields {
        if !seen.insert(field.name()) {
            return Err(Error::new(
                Code::TableSchemaValidationError,
                format!(
                    "{parent} has two columns `{}`; give each a name of its own",
                    short(field.name())
                ),
            ));
        }
        check_children(field)?;
    }
    Ok(())
}

fn check_children(field: &Field) -> Result<()> {
    match field.data_type() {
        DataType::Struct(fields) => check_names(fields, &format!("`{}`", short(field.name()))),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => check_children(item),
        _ => Ok(()),
    }
}

/// Arrow's readers validate their input, but panic on some malformed input; both are the same error for the client.
fn valid<T>(read: impl FnOnce() -> std::result::Result<T, arrow::error::ArrowError>) -> Result<T> {
    match contained(read) {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(malformed(&error.to_string())),
        None => Err(malformed("its metadata contradicts itself")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, LargeListArray, NullArray, RecordBatch, StringArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{DataType, Field};
    use arrow::ipc::CompressionType;
    use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
    use futures::TryStreamExt;
    use proptest::prelude::*;

    use super::*;
    use crate::ipc::upload::upload;
    use crate::memory::{Budget, Memory};

    fn batches(count: usize) -> Vec<RecordBatch> {
        (0..count)
            .map(|index| {
                let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..index as i64));
                let words: ArrayRef = Arc::new(StringArray::from_iter_values(
                    (0..index).map(|i| format!("w{i}")),
                ));
                RecordBatch::try_from_iter([("n", numbers), ("w", words)]).unwrap()
            })
            .collect()
    }

    fn encode(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
        let options = IpcWriteOptions::default()
            .try_with_compression(compression)
            .unwrap();
        let mut writer =
            StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
        }
        writer.into_inner().unwrap()
    }

    fn run(chunks: Vec<Vec<u8>>) -> Result<Vec<RecordBatch>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let memory = Memory::new(Budget::new(8 << 30, None, None, None));
            let (push, read) = upload(&memory);
            for chunk in chunks {
                push.push(&chunk);
            }
            push.finish();
            let (_, stream) = decode(read).await?;
            Ok(stream.try_collect().await?)
        })
    }

    proptest! {
        #[test]
        fn any_cut_of_a_stream_decodes_to_the_same_batches(
            count in 1_usize..6,
            compression in prop_oneof![
                Just(None),
                Just(Some(CompressionType::LZ4_FRAME)),
                Just(Some(CompressionType::ZSTD)),
            ],
            sizes in prop::collection::vec(1_usize..500, 1..40),
        ) {
            let expected = batches(count);
            let bytes = encode(&expected, compression);
            let mut rest = &bytes[..];
            let mut chunks = Vec::new();
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break; }
                let (now, later) = rest.split_at((*size).min(rest.len()));
                chunks.push(now.to_vec());
                rest = later;
            }
            prop_assert_eq!(run(chunks).unwrap(), expected);
        }

        #[test]
        fn damaged_streams_are_refused_or_decoded_but_never_crash(
            at in 0.0_f64..1.0, value in any::<u8>(), cut in 0.0_f64..1.0,
        ) {
            let mut bytes = encode(&batches(4), None);
            let index = (at * bytes.len() as f64) as usize;
            bytes[index] = value;
            bytes.truncate(((cut * 2.0).min(1.0) * bytes.len() as f64) as usize);
            if let Err(error) = run(vec![bytes]) {
                let codes = [Code::InvalidInput, Code::TableSchemaValidationError];
                prop_assert!(codes.contains(&error.code()), "{}", error);
            }
        }
    }

    #[test]
    fn a_body_without_bytes_is_refused_with_advice() {
        let error = run(vec![]).unwrap_err();
        assert!(
            error.message().contains("send an Arrow IPC stream"),
            "{error}"
        );
    }

    #[test]
    fn a_buffer_that_claims_to_decompress_to_a_petabyte_is_refused() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_000));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let mut bytes = encode(&[batch], Some(CompressionType::LZ4_FRAME));
        // The size is in the 8 bytes before the LZ4 frame's magic number.
        let magic = bytes
            .windows(4)
            .position(|w| w == [0x04, 0x22, 0x4d, 0x18])
            .unwrap();
        bytes[magic - 8..magic].copy_from_slice(&(1_i64 << 50).to_le_bytes());
        let error = run(vec![bytes]).unwrap_err();
        assert!(error.message().contains("too large"), "{error}");
    }

    #[test]
    fn a_list_that_claims_trillions_of_nulls_is_refused() {
        let item = Arc::new(Field::new("item", DataType::Null, true));
        let offsets = OffsetBuffer::new(vec![0_i64, 1 << 45].into());
        let values = Arc::new(NullArray::new(1 << 45));
        let lists: ArrayRef = Arc::new(LargeListArray::new(item, offsets, values, None));
        let batch = RecordBatch::try_from_iter([("n", lists)]).unwrap();
        let error = run(vec![encode(&[batch], None)]).unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput);
        assert!(
            error.message().contains("values without content"),
            "{error}"
        );
    }
}
