//! The rows of a client on their way into a write that JavaScript runs.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use futures::StreamExt;
use joust_core::Upload;
use joust_flight::{BatchStream, Status};
use tokio::sync::oneshot;

/// What the answer to the client is made of, shared with the stream.
#[derive(Default)]
pub struct Progress {
    rows: AtomicI64,
    /// As the write reads them.
    bytes: AtomicU64,
    failure: Mutex<Option<Status>>,
}

impl Progress {
    pub fn rows(&self) -> i64 {
        self.rows.load(Ordering::SeqCst)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::SeqCst)
    }

    /// Why the stream ended early, if it did.
    pub fn failure(&self) -> Option<Status> {
        self.failure.lock().ok()?.take()
    }

    fn fail(&self, status: Status) {
        if let Ok(mut failure) = self.failure.lock() {
            *failure = Some(status);
        }
    }
}

/// The rows of a stream, which one write reads.
pub struct Incoming {
    pub schema: SchemaRef,
    pub batches: BatchStream,
    pub progress: Arc<Progress>,
    /// Fails when the call has ended.
    pub ended: oneshot::Receiver<()>,
}

impl Incoming {
    /// Sends the rows into an upload. If the call or the stream ends early, the write fails and leaves nothing.
    ///
    /// `most`: bytes that the stream may have.
    pub async fn send(self, upload: Arc<Upload>, most: Option<u64>) {
        let Self {
            schema,
            batches,
            progress,
            ended,
        } = self;
        let sent = tokio::select! {
            biased;
            _ = ended => Err(Status::cancelled("the call has ended")),
            sent = encode(&schema, batches, &progress, &upload, most) => sent,
        };
        match sent {
            Ok(()) => upload.finish(),
            Err(status) => {
                progress.fail(status);
                upload.abort();
            }
        }
    }
}

async fn encode(
    schema: &SchemaRef,
    mut batches: BatchStream,
    progress: &Progress,
    upload: &Upload,
    most: Option<u64>,
) -> Result<(), Status> {
    let failed =
        |error: ArrowError| Status::invalid_argument(format!("the rows cannot be read: {error}"));
    let mut writer = StreamWriter::try_new(Vec::new(), schema).map_err(failed)?;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        writer.write(&batch).map_err(failed)?;
        progress
            .rows
            .fetch_add(batch.num_rows() as i64, Ordering::SeqCst);
        let encoded = writer.get_mut();
        let length = encoded.len() as u64;
        let bytes = progress.bytes.fetch_add(length, Ordering::SeqCst) + length;
        if let Some(most) = most.filter(|most| bytes > *most) {
            return Err(Status::resource_exhausted(format!(
                "the stream has more than {most} bytes (--max-upload-bytes): send the rows in several streams"
            )));
        }
        push(upload, encoded).await;
    }
    writer.finish().map_err(failed)?;
    push(upload, writer.get_mut()).await;
    Ok(())
}

/// Pushes what was encoded. Waits until the upload takes more: that slows the client down.
async fn push(upload: &Upload, encoded: &mut Vec<u8>) {
    let bytes = std::mem::take(encoded);
    if !upload.push(&bytes) {
        upload.drained().await;
    }
}
