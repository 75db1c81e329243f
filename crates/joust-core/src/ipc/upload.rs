//! A request body on its way from the socket to the engine.
//!
//! The socket's thread pushes and never waits; the engine reads at its own pace. What keeps memory
//! bounded is the pusher's promise to pause once [`Upload::push`] says that the queue is full, until
//! it has [drained](Upload::drained). What is queued is taken from the [`Memory`] that all uploads share; when
//! there is none left, one chunk is queued on credit, the pusher pauses, and the reader waits.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

use crate::error::{Error, Result};
use crate::memory::{Memory, Reservation, Use};

/// Bytes in the queue at which the pusher is asked to pause, and at which it may go on.
const HIGH_WATER: usize = 8 << 20;
const LOW_WATER: usize = 2 << 20;

enum Event {
    /// Without a reservation the reader has to get one before it goes on.
    Chunk(Bytes, Option<Reservation>),
    Finished,
    Aborted,
}

/// Both ends change `queued` and `full` and read what the other changed: only one order of all these
/// steps keeps each from missing the other's.
struct Shared {
    queued: AtomicUsize,
    full: AtomicBool,
    /// Told when `full` becomes false.
    drained: Notify,
    memory: Memory,
}

impl Shared {
    /// Lets a paused pusher go on.
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
}

/// The reading end.
pub struct UploadReader {
    receiver: mpsc::UnboundedReceiver<Event>,
    shared: Arc<Shared>,
    ended: bool,
}

/// Makes the two ends of an upload.
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
        ended: false,
    };
    (Upload { sender, shared }, reader)
}

impl Upload {
    /// Queues a chunk; false asks the caller to pause until the queue has [drained](Self::drained). A
    /// chunk for a reader that has gone is dropped: the body is only being read to its end.
    pub fn push(&self, chunk: Bytes) -> bool {
        let length = chunk.len();
        let taken = self.shared.memory.try_take(Use::Upload, length);
        let on_credit = taken.is_none();
        if on_credit {
            // Before it is queued: whoever has found memory for it lets the pusher go on.
            self.shared.full.store(true, Ordering::SeqCst);
        }
        let queued = self.shared.queued.fetch_add(length, Ordering::SeqCst) + length;
        if self.sender.send(Event::Chunk(chunk, taken)).is_err() {
            return true;
        }
        if on_credit {
            return false;
        }
        if queued < HIGH_WATER {
            return true;
        }
        self.shared.full.store(true, Ordering::SeqCst);
        // The reader may have emptied the queue between the two stores and would then never tell.
        if self.shared.queued.load(Ordering::SeqCst) <= LOW_WATER {
            return !self.shared.full.swap(false, Ordering::SeqCst);
        }
        self.sender.is_closed()
    }

    /// Waits until more may be pushed: also when nobody reads any more.
    pub fn drained(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = self.shared.clone();
        async move {
            loop {
                // Before the question: what is told after the answer is heard.
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
        // A reader that is gone needs no end.
        let _ = self.sender.send(Event::Finished);
    }

    /// The client went away before the body was complete.
    pub fn abort(&self) {
        let _ = self.sender.send(Event::Aborted);
    }
}

impl UploadReader {
    /// What this upload takes its memory from.
    pub fn memory(&self) -> &Memory {
        &self.shared.memory
    }

    /// The next chunk, and the memory that is taken for it; `None` at the end of a complete body.
    /// Code 21 when there is no memory for the chunk.
    pub async fn next(&mut self) -> Result<Option<(Bytes, Reservation)>> {
        if self.ended {
            return Ok(None);
        }
        match self.receiver.recv().await {
            Some(Event::Chunk(chunk, taken)) => {
                let length = chunk.len();
                let taken = match taken {
                    Some(taken) => taken,
                    None => self.shared.memory.take(Use::Upload, length).await?,
                };
                let queued = self.shared.queued.fetch_sub(length, Ordering::SeqCst) - length;
                if queued <= LOW_WATER {
                    self.shared.let_go();
                }
                Ok(Some((chunk, taken)))
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
        self.shared.let_go();
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, poll};

    use super::*;
    use crate::memory::Budget;

    fn memory() -> Memory {
        Memory::new(Budget::new(1 << 30, None, None, None))
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    }

    #[test]
    fn chunks_arrive_in_order_and_the_end_is_kept() {
        let (push, mut read) = upload(&memory());
        push.push(Bytes::from_static(b"a"));
        push.push(Bytes::from_static(b"b"));
        push.finish();
        runtime().block_on(async {
            assert_eq!(read.next().await.unwrap().unwrap().0, "a");
            assert_eq!(read.next().await.unwrap().unwrap().0, "b");
            assert!(read.next().await.unwrap().is_none());
            assert!(read.next().await.unwrap().is_none());
        });
    }

    #[test]
    fn an_abort_is_not_an_end() {
        let (push, mut read) = upload(&memory());
        push.abort();
        assert!(runtime().block_on(read.next()).is_err());
    }

    #[test]
    fn a_full_queue_asks_for_a_pause_until_it_has_drained() {
        let (push, mut read) = upload(&memory());
        let mebibyte = Bytes::from(vec![0; 1 << 20]);
        let pauses = (0..10).filter(|_| !push.push(mebibyte.clone())).count();
        assert!(pauses > 0);
        let mut drained = std::pin::pin!(push.drained());
        runtime().block_on(async {
            let mut waited = 0;
            for _ in 0..10 {
                waited += usize::from(poll!(&mut drained).is_pending());
                read.next().await.unwrap();
            }
            assert!((8..10).contains(&waited), "{waited}");
            push.drained().await;
        });
    }

    #[test]
    fn a_reader_that_goes_away_releases_a_paused_pusher() {
        let (push, read) = upload(&memory());
        assert!(!push.push(Bytes::from(vec![0; HIGH_WATER])));
        assert!(push.drained().now_or_never().is_none());
        drop(read);
        assert!(push.drained().now_or_never().is_some());
        assert!(push.push(Bytes::from_static(b"more")));
    }

    #[test]
    fn a_chunk_without_memory_waits_with_its_pusher() {
        let memory = memory();
        let work = memory.budget().work;
        let (push, mut read) = upload(&memory);
        let held = memory.try_take(Use::Query, work - 1).unwrap();
        assert!(push.push(Bytes::from_static(b"a")));
        assert!(!push.push(Bytes::from_static(b"bc")));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (chunk, taken) = read.next().await.unwrap().unwrap();
            assert_eq!((&chunk[..], taken.bytes()), (&b"a"[..], 1));
            let (next, ()) = tokio::join!(read.next(), async { drop(held) });
            let (chunk, taken) = next.unwrap().unwrap();
            assert_eq!((&chunk[..], taken.bytes()), (&b"bc"[..], 2));
            push.drained().await;
        });
    }
}
