//! Short uploads are held in memory until they are complete.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt, stream};

use crate::error::{Error, Result};
use crate::ipc::BatchStream;

/// Bytes of rows up to which an upload is short. A longer one fills a fragment of its own well.
const SHORT: usize = 4 << 20;

pub(super) enum Gathered {
    Whole {
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    },
    /// What has come, and what is still to come.
    Long(BatchStream),
}

pub(super) async fn gather(mut batches: BatchStream) -> Result<Gathered> {
    let mut held = Vec::new();
    let mut bytes = 0;
    while let Some(batch) = batches.try_next().await.map_err(Error::from)? {
        bytes += size(&batch);
        held.push(batch);
        if bytes > SHORT {
            return Ok(Gathered::Long(resumed(held, batches)));
        }
    }
    if held.iter().all(|batch| batch.num_rows() == 0) {
        return Ok(Gathered::Long(resumed(held, batches)));
    }
    Ok(Gathered::Whole {
        schema: batches.schema(),
        batches: held,
    })
}

/// Batches in memory as the stream that they were.
pub(super) fn whole(schema: SchemaRef, batches: Vec<RecordBatch>) -> BatchStream {
    let batches = stream::iter(batches.into_iter().map(Ok));
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

fn resumed(held: Vec<RecordBatch>, rest: BatchStream) -> BatchStream {
    let schema = rest.schema();
    let batches = stream::iter(held.into_iter().map(Ok)).chain(rest);
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

/// Bytes of a batch's values, whatever larger buffer they lie in.
pub(super) fn size(batch: &RecordBatch) -> usize {
    let sizes = batch.columns().iter().map(|column| {
        let data = column.to_data();
        data.get_slice_memory_size()
            .unwrap_or_else(|_| data.get_array_memory_size())
    });
    sizes.sum()
}
