//! A Promise for work on the engine's threads.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use joust_core::work::cancelled;
use joust_core::{Error, Result};
use napi::Env;
use napi::bindgen_prelude::{PromiseRaw, ToNapiValue, spawn};
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::completions::{Deferred, End, await_end};
use crate::error::js_error;
use crate::trace::starting;

/// Runs `work` and settles a Promise with the result of `convert` on its outcome, on Node's thread.
///
/// A panic becomes an error of code 18 and affects only the request that caused it.
pub fn promise<'env, T, V>(
    env: &'env Env,
    work: impl Future<Output = Result<T>> + Send + 'static,
    convert: impl FnOnce(T) -> V + 'static,
) -> napi::Result<PromiseRaw<'env, V>>
where
    T: Send + 'static,
    V: ToNapiValue,
{
    promise_of(
        env,
        |sender| {
            let work = async move {
                let outcome = AssertUnwindSafe(work).catch_unwind().await;
                sender.send(outcome.unwrap_or_else(|panic| Err(panicked(&*panic))));
            };
            spawn(work.instrument(starting()));
        },
        convert,
    )
}

/// As [`promise`], for work that reports its outcome itself, on the thread on which it ends.
pub fn promise_of<'env, T, V>(
    env: &'env Env,
    begin: impl FnOnce(OutcomeSender<T>),
    convert: impl FnOnce(T) -> V + 'static,
) -> napi::Result<PromiseRaw<'env, V>>
where
    T: Send + 'static,
    V: ToNapiValue,
{
    let (deferred, promise) = Deferred::new(env)?;
    let (sender, mut outcome) = oneshot::channel();
    let end = await_end(env, move |env| {
        // Dropped work has sent nothing.
        let outcome = outcome.try_recv().unwrap_or_else(|_| Err(cancelled()));
        deferred.settle(env, |env| {
            outcome.map(convert).map_err(|error| js_error(env, &error))
        });
    })?;
    starting().in_scope(|| begin(OutcomeSender { sender, _end: end }));
    Ok(promise)
}

/// Reports an outcome to the event loop.
pub struct OutcomeSender<T> {
    // The order of the fields is the drop order: the event loop reads the outcome after it is notified of the end.
    sender: oneshot::Sender<Result<T>>,
    _end: End,
}

impl<T> OutcomeSender<T> {
    pub fn send(self, outcome: Result<T>) {
        // The receiver is only dropped with its environment.
        let _ = self.sender.send(outcome);
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("panic");
    Error::internal(
        "the engine failed; the server's log says why",
        std::io::Error::other(text.to_string()),
    )
}
