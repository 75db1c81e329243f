//! Collects short uploads in memory until they are complete.

use arrow::array::{ArrayData, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt, stream};

use crate::error::{Error, Result};
use crate::ipc::BatchStream;

/// The most bytes of rows of a short upload. A longer one fills its own fragment well.
const SHORT: usize = 4 << 20;
/// The most batches of a short upload.
const MAX_BATCHES: usize = 1_024;
/// Memory of a column of a batch besides its values, bytes.
const COLUMN_COST: usize = 256;

pub(super) enum Gathered {
    /// The whole upload, perhaps without batches.
    Whole {
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
        bytes: usize,
    },
    /// The received batches and the rest of the stream; bytes of the received ones.
    Long(BatchStream, usize),
}

pub(super) async fn gather(mut batches: BatchStream) -> Result<Gathered> {
    let mut held = Vec::new();
    let mut bytes = 0;
    while let Some(batch) = batches.try_next().await.map_err(Error::from)? {
        // Batches without rows take no memory, whatever their number.
        if batch.num_rows() == 0 {
            continue;
        }
        bytes += size(&batch);
        held.push(batch);
        if bytes > SHORT || held.len() > MAX_BATCHES {
            return Ok(Gathered::Long(resumed(held, batches), bytes));
        }
    }
    Ok(Gathered::Whole {
        schema: batches.schema(),
        batches: held,
        bytes,
    })
}

/// Batches in memory as a stream.
pub(super) fn whole(schema: SchemaRef, batches: Vec<RecordBatch>) -> BatchStream {
    let batches = stream::iter(batches.into_iter().map(Ok));
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

fn resumed(held: Vec<RecordBatch>, rest: BatchStream) -> BatchStream {
    let schema = rest.schema();
    let batches = stream::iter(held.into_iter().map(Ok)).chain(rest);
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

/// Memory of a batch: its values, without the rest of shared buffers, and the fixed cost of each column.
fn size(batch: &RecordBatch) -> usize {
    let sizes = batch.columns().iter().map(|column| {
        let data = column.to_data();
        let values = data.get_slice_memory_size();
        values.unwrap_or_else(|_| data.get_array_memory_size()) + viewed(&data)
    });
    sizes.sum::<usize>() + batch.num_columns() * COLUMN_COST
}

/// Bytes of the values that views reference, which Arrow does not count.
fn viewed(data: &ArrayData) -> usize {
    let own = match data.data_type() {
        // The first buffer holds the views.
        DataType::Utf8View | DataType::BinaryView => &data.buffers()[1..],
        _ => &[],
    };
    let below = data.child_data().iter().map(viewed);
    own.iter().map(Buffer::len).sum::<usize>() + below.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array, ListArray, StringViewArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{Field, Schema};

    use super::*;

    async fn gathered(batches: &[i32]) -> Gathered {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, true)]));
        let batches = batches.iter().map(|&rows| {
            let column: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
            RecordBatch::try_new(schema.clone(), vec![column]).expect("the batch fits")
        });
        let batches: Vec<RecordBatch> = batches.collect();
        gather(whole(schema, batches)).await.expect("all come")
    }

    #[tokio::test]
    async fn batches_without_rows_are_not_held() {
        let Gathered::Whole { batches, .. } = gathered(&[0, 2, 0, 0, 1]).await else {
            panic!("the upload is short");
        };
        let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows, [2, 1]);
        assert!(size(&batches[1]) > COLUMN_COST);
        let Gathered::Whole { batches, bytes, .. } = gathered(&[0; 3]).await else {
            panic!("the upload is short");
        };
        assert_eq!((batches.len(), bytes), (0, 0));
    }

    #[tokio::test]
    async fn values_that_are_only_looked_at_count() {
        let long = "x".repeat(SHORT / 2);
        let views: ArrayRef = Arc::new(StringViewArray::from_iter_values([&long, &long, &long]));
        let list = Arc::new(Field::new("item", DataType::Utf8View, true));
        let nested: ArrayRef = Arc::new(ListArray::new(
            list,
            OffsetBuffer::from_lengths([3]),
            views.clone(),
            None,
        ));
        for column in [views, nested] {
            let batch = RecordBatch::try_from_iter([("text", column)]).expect("the batch fits");
            let rows = whole(batch.schema(), vec![batch]);
            let gathered = gather(rows).await.expect("all come");
            assert!(matches!(gathered, Gathered::Long(_, bytes) if bytes > SHORT));
        }
    }

    #[tokio::test]
    async fn an_upload_of_many_batches_is_long_and_whole() {
        assert!(matches!(
            gathered(&[1; MAX_BATCHES]).await,
            Gathered::Whole { .. }
        ));
        let Gathered::Long(batches, _) = gathered(&[1; MAX_BATCHES + 9]).await else {
            panic!("the upload is long");
        };
        let batches: Vec<RecordBatch> = batches.try_collect().await.expect("all come");
        assert_eq!(batches.len(), MAX_BATCHES + 9);
    }
}
