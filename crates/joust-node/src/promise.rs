//! A Promise for work on the engine's threads.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use joust_core::{Code, Error, Result};
use napi::Env;
use napi::bindgen_prelude::{PromiseRaw, ToNapiValue};

use crate::error::js_error;

/// Runs `work` and settles a Promise with what `convert` makes of its outcome, on Node's thread.
///
/// A panic becomes an error of code 18: it ends the request that caused it and nothing else.
pub fn promise<'env, T, V>(
    env: &'env Env,
    work: impl Future<Output = Result<T>> + Send + 'static,
    convert: impl FnOnce(T) -> V + 'static,
) -> napi::Result<PromiseRaw<'env, V>>
where
    T: Send + 'static,
    V: ToNapiValue,
{
    let work = AssertUnwindSafe(work).catch_unwind().map(|outcome| {
        Ok(outcome.unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("panic");
            Err(Error::internal(
                "the engine failed; the server's log says why",
                std::io::Error::other(text.to_string()),
            ))
        }))
    });
    env.spawn_future_with_callback(work, |env, outcome: Result<T>| match outcome {
        Ok(value) => Ok(convert(value)),
        Err(error) => Err(js_error(env, &error)),
    })
}

/// The failure of work that was cancelled.
pub fn cancelled() -> Error {
    Error::new(Code::ServiceUnavailable, "the work was cancelled")
}
