//! A request body, passed from the socket to the engine.
//!
//! The socket's thread pushes and never blocks; the engine reads at its own speed. The pusher copies bytes once, since
//! the socket reuses its memory: into the [message](Message) to which they belong. Memory is bounded, because the
//! pusher must pause when [`Upload::push`] returns false, until the queue has [drained](Upload::drained). Queued bytes
//! are reserved from the [`Memory`] that all uploads share. If none is left, a chunk is queued without a reservation,
//! the pusher pauses, and the reader waits for memory.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::framing::{Framer, Message};
use super::guard::Limits;
use crate::error::{Error, Result};
use crate::memory::{Memory, Reservation, Use};

/// Bytes in the queue at which the pusher must pause, and at which it may continue.
const HIGH_WATER: usize = 8 << 20;
const LOW_WATER: usize = 2 << 20;

enum Event {
    /// Received bytes. Without a reservation, the reader has to obtain one before it continues.
    Bytes(usize, Option<Reservation>),
    /// A complete message, and its number of received bytes.
    Message(Message, usize),
    /// The stream is invalid from here.
    Failed(Error),
    Finished,
    Aborted,
}

/// Both ends change `queued` and `full` and read what the other changed: sequential consistency ensures that neither
/// misses a change of the other.
struct Shared {
    queued: AtomicUsize,
    full: AtomicBool,
    /// Notified when `full` becomes false.
    drained: Notify,
    memory: Memory,
}

impl Shared {
    /// Resumes a paused pusher.
    fn let_go(&self) {
        if self.full.swap(false, Ordering::SeqCst) {
            self.drained.notify_waiters();
        }
    }
}

/// The pushing end.
pub struct Upload {
    sender: mpsc::UnboundedSender<Event>,
    shared: Arc<Shared>,
    coming: Mutex<Coming>,
}

/// The incomplete message.
struct Coming {
    framer: Framer,
    /// Its received bytes.
    length: usize,
    failed: bool,
}

/// The reading end.
pub struct UploadReader {
    receiver: mpsc::UnboundedReceiver<Event>,
    shared: Arc<Shared>,
    /// Reservation for the bytes of an incomplete message.
    taken: Option<Reservation>,
    ended: bool,
}

/// Creates the two ends of an upload.
pub fn upload(memory: &Memory) -> (Upload, UploadReader) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        queued: AtomicUsize::new(0),
        full: AtomicBool::new(false),
        drained: Notify::new(),
        memory: memory.clone(),
    });
    let reader = UploadReader {
        receiver,
        shared: shared.clone(),
        taken: None,
        ended: false,
    };
    let coming = Mutex::new(Coming {
        framer: Framer::new(Limits::new(memory.budget().batch())),
        length: 0,
        failed: false,
    });
    let upload = Upload {
        sender,
        shared,
        coming,
    };
    (upload, reader)
}

impl Upload {
    /// Copies a chunk; false: the caller must pause until the queue has [drained](Self::drained). After the reader is
    /// dropped, chunks are discarded: the body is only read to its end.
    pub fn push(&self, chunk: &[u8]) -> bool {
        let mut coming = self.coming.lock();
        if coming.failed || self.sender.is_closed() {
            return true;
        }
        let length = chunk.len();
        let taken = self.shared.memory.try_take(Use::Upload, length);
        let on_credit = taken.is_none();
        if on_credit {
            // Set before the chunk is queued: the reader that reserves memory for it resumes the pusher.
            self.shared.full.store(true, Ordering::SeqCst);
        }
        let queued = self.shared.queued.fetch_add(length, Ordering::SeqCst) + length;
        if self.sender.send(Event::Bytes(length, taken)).is_err() {
            return true;
        }
        if let Err(error) = self.frame(&mut coming, chunk) {
            coming.failed = true;
            // Fails only if the reader is dropped.
            let _ = self.sender.send(Event::Failed(error));
        }
        if on_credit {
            return false;
        }
        if queued < HIGH_WATER {
            return true;
        }
        self.shared.full.store(true, Ordering::SeqCst);
        // The reader may have emptied the queue between the two stores and would then never notify.
        if self.shared.queued.load(Ordering::SeqCst) <= LOW_WATER {
            return !self.shared.full.swap(false, Ordering::SeqCst);
        }
        self.sender.is_closed()
    }

    /// Queues the messages that a chunk completes.
    fn frame(&self, coming: &mut Coming, mut chunk: &[u8]) -> Result<()> {
        loop {
            let before = chunk.len();
            let message = coming.framer.take(&mut chunk)?;
            coming.length += before - chunk.len();
            let Some(message) = message else {
                return Ok(());
            };
            let length = std::mem::take(&mut coming.length);
            let _ = self.sender.send(Event::Message(message, length));
        }
    }

    /// Waits until more may be pushed, or until the reader is dropped.
    pub fn drained(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = self.shared.clone();
        async move {
            loop {
                // Created before the check, so that no notification is missed.
                let drained = shared.drained.notified();
                if !shared.full.load(Ordering::SeqCst) {
                    return;
                }
                drained.await;
            }
        }
    }

    /// The body is complete.
    pub fn finish(&self) {
        let coming = self.coming.lock();
        let event = match coming.framer.finish() {
            _ if coming.failed => return,
            Ok(()) => Event::Finished,
            Err(error) => Event::Failed(error),
        };
        // Fails only if the reader is dropped.
        let _ = self.sender.send(event);
    }

    /// The client disconnected before the body was complete.
    pub fn abort(&self) {
        let _ = self.sender.send(Event::Aborted);
    }
}

impl UploadReader {
    /// The memory from which this upload reserves.
    pub fn memory(&self) -> &Memory {
        &self.shared.memory
    }

    /// Received bytes that are not read yet.
    pub fn queued(&self) -> usize {
        self.shared.queued.load(Ordering::SeqCst)
    }

    /// The next message, which holds its memory reservation; `None` at the end of a complete body. Code 21 if there is
    /// no memory for the received bytes, code 13 for bytes that are not a message.
    pub async fn next(&mut self) -> Result<Option<Message>> {
        while !self.ended {
            match self.receiver.recv().await {
                Some(Event::Bytes(length, taken)) => self.arrived(length, taken).await?,
                Some(Event::Message(message, length)) => {
                    let taken = self.taken.as_mut().map(|taken| taken.split(length));
                    return Ok(Some(message.holding(taken)));
                }
                Some(Event::Failed(error)) => return Err(error),
                Some(Event::Finished) => self.ended = true,
                Some(Event::Aborted) | None => {
                    return Err(Error::invalid(
                        "the request body ended early; nothing was written",
                    ));
                }
            }
        }
        Ok(None)
    }

    async fn arrived(&mut self, length: usize, taken: Option<Reservation>) -> Result<()> {
        let taken = match taken {
            Some(taken) => taken,
            None => self.shared.memory.take(Use::Upload, length).await?,
        };
        match &mut self.taken {
            Some(all) => all.merge(taken),
            none => *none = Some(taken),
        }
        let queued = self.shared.queued.fetch_sub(length, Ordering::SeqCst) - length;
        if queued <= LOW_WATER {
            self.shared.let_go();
        }
        Ok(())
    }
}

impl Drop for UploadReader {
    fn drop(&mut self) {
        // A paused pusher must resume to read the body to its end.
        self.receiver.close();
        self.shared.let_go();
    }
}

#[cfg(test)]
#[path = "upload_tests.rs"]
mod tests;
