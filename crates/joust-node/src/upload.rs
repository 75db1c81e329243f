//! A request body, streamed into the engine.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use joust_core::ipc::UploadReader;
use joust_core::{Error, Result, Table};
use napi::Env;
use napi::bindgen_prelude::{Either, PromiseRaw};
use napi_derive::napi;

use crate::engine::Engine;
use crate::promise::promise;

/// An Arrow IPC stream, on the writing side.
#[napi]
pub struct Upload {
    sender: Arc<joust_core::Upload>,
    reader: Mutex<Option<UploadReader>>,
}

#[napi]
impl Upload {
    /// Reserves its memory from `engine`.
    #[napi(constructor)]
    pub fn new(engine: &Engine) -> Self {
        let (sender, reader) = engine.inner.upload();
        Self {
            sender: Arc::new(sender),
            reader: Mutex::new(Some(reader)),
        }
    }

    /// Copies the chunk into the engine; false: stop until `drained` resolves.
    #[napi]
    pub fn push(&self, chunk: &[u8]) -> bool {
        self.sender.push(chunk)
    }

    /// Waits until more may be pushed, or until the reader is dropped.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn drained<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let drained = self.sender.drained().map(Ok);
        promise(env, drained, |()| ())
    }

    /// The body is complete.
    #[napi]
    pub fn finish(&self) {
        self.sender.finish();
    }

    /// The client disconnected: the write that reads this upload fails and leaves nothing.
    #[napi]
    pub fn abort(&self) {
        self.sender.abort();
        self.discard();
    }

    /// The upload has no reader: later chunks are dropped.
    #[napi]
    pub fn discard(&self) {
        drop(self.reader());
    }
}

impl Upload {
    /// The writing side.
    pub fn sender(&self) -> Arc<joust_core::Upload> {
        self.sender.clone()
    }

    /// The reading side, for the single write that uses it.
    fn reader(&self) -> Option<UploadReader> {
        self.reader.lock().ok()?.take()
    }
}

/// The input of a write of `table`: an upload, or the stream of a complete body.
pub fn reader(table: &Table, body: Either<&[u8], &Upload>) -> Result<UploadReader> {
    match body {
        Either::A(bytes) => Ok(table.tables().whole_upload(bytes)),
        Either::B(upload) => upload
            .reader()
            .ok_or_else(|| Error::invalid("the upload has been used already")),
    }
}
