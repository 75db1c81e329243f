//! A request body on its way into the engine.

use std::sync::Mutex;

use bytes::Bytes;
use joust_core::ipc::UploadReader;
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;

use crate::engine::Engine;

/// An Arrow IPC stream on its way in.
#[napi]
pub struct Upload {
    sender: joust_core::Upload,
    reader: Mutex<Option<UploadReader>>,
}

#[napi]
impl Upload {
    /// Takes its memory from `engine`. `onDrain` is called when a full queue has emptied enough to push
    /// again.
    #[napi(constructor)]
    pub fn new(engine: &Engine, on_drain: Function<'_, (), ()>) -> napi::Result<Self> {
        let on_drain = on_drain
            .build_threadsafe_function::<()>()
            .weak::<true>()
            .build()?;
        let (sender, reader) = engine.inner.upload(move || {
            on_drain.call((), ThreadsafeFunctionCallMode::NonBlocking);
        });
        Ok(Self {
            sender,
            reader: Mutex::new(Some(reader)),
        })
    }

    /// Copies the chunk into the engine; false: stop until `onDrain`.
    #[napi]
    pub fn push(&self, chunk: &[u8]) -> bool {
        self.sender.push(Bytes::copy_from_slice(chunk))
    }

    /// The body is complete.
    #[napi]
    pub fn finish(&self) {
        self.sender.finish();
    }

    /// The client went away: the write that reads this upload fails and leaves nothing.
    #[napi]
    pub fn abort(&self) {
        self.sender.abort();
        self.discard();
    }

    /// Nobody will read this upload: what is pushed from now on is dropped.
    #[napi]
    pub fn discard(&self) {
        drop(self.reader());
    }
}

impl Upload {
    /// The reading end, for the one write that uses it.
    pub fn reader(&self) -> Option<UploadReader> {
        self.reader.lock().ok()?.take()
    }
}
