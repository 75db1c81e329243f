//! A request body on its way from the socket to the engine.
//!
//! The socket's thread pushes and never waits; the engine reads at its own pace. What keeps memory
//! bounded is the pusher's promise to pause once [`Upload::push`] says that the queue is full, until
//! the drain callback runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::error::{Error, Result};

/// Bytes in the queue at which the pusher is asked to pause, and at which it may go on.
const HIGH_WATER: usize = 8 << 20;
const LOW_WATER: usize = 2 << 20;

enum Event {
    Chunk(Bytes),
    Finished,
    Aborted,
}

/// Both ends change `queued` and `full` and read what the other changed: only one order of all these
/// steps keeps each from missing the other's.
struct Shared {
    queued: AtomicUsize,
    full: AtomicBool,
    on_drain: Box<dyn Fn() + Send + Sync>,
}

/// The pushing end.
pub struct Upload {
    sender: mpsc::UnboundedSender<Event>,
    shared: Arc<Shared>,
}

/// The reading end.
pub struct UploadReader {
    receiver: mpsc::UnboundedReceiver<Event>,
    shared: Arc<Shared>,
    ended: bool,
}

/// Makes the two ends of an upload. `on_drain` runs on an engine thread when a full queue has
/// emptied.
pub fn upload(on_drain: impl Fn() + Send + Sync + 'static) -> (Upload, UploadReader) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        queued: AtomicUsize::new(0),
        full: AtomicBool::new(false),
        on_drain: Box::new(on_drain),
    });
    let reader = UploadReader {
        receiver,
        shared: shared.clone(),
        ended: false,
    };
    (Upload { sender, shared }, reader)
}

impl Upload {
    /// Queues a chunk; false asks the caller to pause until the drain callback. A chunk for a
    /// reader that has gone is dropped: the body is only being read to its end.
    pub fn push(&self, chunk: Bytes) -> bool {
        let length = chunk.len();
        let queued = self.shared.queued.fetch_add(length, Ordering::SeqCst) + length;
        if self.sender.send(Event::Chunk(chunk)).is_err() {
            return true;
        }
        if queued < HIGH_WATER {
            return true;
        }
        self.shared.full.store(true, Ordering::SeqCst);
        // The reader may have emptied the queue between the two stores and would then never call.
        if self.shared.queued.load(Ordering::SeqCst) <= LOW_WATER {
            return !self.shared.full.swap(false, Ordering::SeqCst);
        }
        self.sender.is_closed()
    }

    /// The body is complete.
    pub fn finish(&self) {
        // A reader that is gone needs no end.
        let _ = self.sender.send(Event::Finished);
    }

    /// The client went away before the body was complete.
    pub fn abort(&self) {
        let _ = self.sender.send(Event::Aborted);
    }
}

impl UploadReader {
    /// The next chunk; `None` at the end of a complete body.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.ended {
            return Ok(None);
        }
        match self.receiver.recv().await {
            Some(Event::Chunk(chunk)) => {
                let length = chunk.len();
                let queued = self.shared.queued.fetch_sub(length, Ordering::SeqCst) - length;
                if queued <= LOW_WATER && self.shared.full.swap(false, Ordering::SeqCst) {
                    (self.shared.on_drain)();
                }
                Ok(Some(chunk))
            }
            Some(Event::Finished) => {
                self.ended = true;
                Ok(None)
            }
            Some(Event::Aborted) | None => Err(Error::invalid(
                "the request body ended early; nothing was written",
            )),
        }
    }
}

impl Drop for UploadReader {
    fn drop(&mut self) {
        // Nobody reads on: a paused pusher must be let go so that it can read the body to its end.
        self.receiver.close();
        if self.shared.full.swap(false, Ordering::SeqCst) {
            (self.shared.on_drain)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    }

    #[test]
    fn chunks_arrive_in_order_and_the_end_is_kept() {
        let (push, mut read) = upload(|| {});
        push.push(Bytes::from_static(b"a"));
        push.push(Bytes::from_static(b"b"));
        push.finish();
        runtime().block_on(async {
            assert_eq!(read.next().await.unwrap().unwrap(), "a");
            assert_eq!(read.next().await.unwrap().unwrap(), "b");
            assert!(read.next().await.unwrap().is_none());
            assert!(read.next().await.unwrap().is_none());
        });
    }

    #[test]
    fn an_abort_is_not_an_end() {
        let (push, mut read) = upload(|| {});
        push.abort();
        assert!(runtime().block_on(read.next()).is_err());
    }

    #[test]
    fn a_full_queue_asks_for_a_pause_and_calls_back_once() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = calls.clone();
        let (push, mut read) = upload(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        let mebibyte = Bytes::from(vec![0; 1 << 20]);
        let pauses = (0..10).filter(|_| !push.push(mebibyte.clone())).count();
        assert!(pauses > 0);
        runtime().block_on(async {
            for _ in 0..10 {
                read.next().await.unwrap();
            }
        });
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_reader_that_goes_away_releases_a_paused_pusher() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = calls.clone();
        let (push, read) = upload(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        assert!(!push.push(Bytes::from(vec![0; HIGH_WATER])));
        drop(read);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert!(push.push(Bytes::from_static(b"more")));
    }
}
