//! Arrow IPC that a client uploads.

use std::sync::LazyLock;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use futures::TryStreamExt;
use joust_core::ipc::{Encode, Encoder, Format, decode, schema_of, upload};
use joust_core::memory::{Budget, Memory};
use joust_core::{Code, Error, Result};
use tokio::runtime::{Builder, Runtime};

/// Bytes that arrive at once: messages begin and end inside of them.
const CHUNK: usize = 1021;
const MEMORY: usize = 1 << 30;

/// Decodes an upload. The engine rejects the bytes or returns valid arrays, which it can encode.
pub fn ipc(data: &[u8]) {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().enable_all().build().unwrap());
    let alone = schema_of(data);
    match RUNTIME.block_on(decoded(data)) {
        // Two readers of one schema.
        Ok(schema) => assert_eq!(alone.ok(), Some(schema), "the schema of a valid upload"),
        Err(error) => assert!(
            matches!(
                error.code(),
                Code::InvalidInput | Code::TableSchemaValidationError
            ),
            "an error that is not the client's: {error:?}"
        ),
    }
}

async fn decoded(data: &[u8]) -> Result<SchemaRef> {
    let memory = Memory::new(Budget::new(MEMORY, None, None, None));
    let (push, read) = upload(&memory);
    for chunk in data.chunks(CHUNK) {
        push.push(chunk);
    }
    push.finish();
    let (schema, mut batches) = decode(read).await?;
    let mut encoder = Encoder::new(Format::Stream, &schema).ok();
    while let Some(batch) = batches.try_next().await.map_err(Error::from)? {
        check(&batch, &schema);
        // Some dictionaries cannot be encoded as a stream; that is an error and never a panic.
        let encoded = encoder.as_mut().map(|encoder| encoder.write(&batch));
        if encoded.is_some_and(|encoded| encoded.is_err()) {
            encoder = None;
        }
        if let Some(encoder) = &mut encoder {
            drop(encoder.take());
        }
    }
    Ok(schema)
}

fn check(batch: &RecordBatch, schema: &SchemaRef) {
    assert_eq!(batch.schema_ref(), schema, "the schema of a batch");
    for column in batch.columns() {
        assert_eq!(column.len(), batch.num_rows());
        if let Err(error) = column.to_data().validate_full() {
            panic!("the upload has an invalid array: {error}");
        }
    }
}
