//! The log of the engine, for the log of the server.

#![cfg_attr(test, allow(dead_code))]

use std::collections::HashMap;

use joust_core::trace;
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;

/// Lines that wait for the thread of the log. Further ones are left out.
const MOST_WAITING: usize = 1_000;

/// A warning or an error of the engine or one of its libraries.
#[napi(object)]
pub struct EngineLogLine {
    pub is_error: bool,
    /// The Rust module that logged it.
    pub module: String,
    pub message: String,
    /// The other values of the line.
    pub values: HashMap<String, String>,
}

/// Calls `on_line` on this thread for each warning and error of the engine. Only the first call of a process has an
/// effect. Lines are left out while 1,000 wait for the thread.
#[napi]
pub fn forward_log(on_line: Function<'_, EngineLogLine, ()>) -> napi::Result<()> {
    let on_line = on_line
        .build_threadsafe_function::<EngineLogLine>()
        .weak::<true>()
        .max_queue_size::<MOST_WAITING>()
        .build()?;
    trace::forward_log(Box::new(move |line| {
        let values = line.values.into_iter();
        let line = EngineLogLine {
            is_error: line.is_error,
            module: line.module,
            message: line.message,
            values: values
                .map(|(name, value)| (name.to_string(), value))
                .collect(),
        };
        on_line.call(line, ThreadsafeFunctionCallMode::NonBlocking);
    }));
    Ok(())
}
