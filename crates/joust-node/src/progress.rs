//! Reports the progress of long work to JavaScript.

use std::sync::Arc;

use joust_core::Result as CoreResult;
use joust_core::work::{self, OnProgress};
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;

/// The progress of work.
#[napi(object)]
pub struct Progress {
    /// The engine's name of the running stage.
    pub stage: String,
    pub completed: f64,
    /// Absent if it is unknown.
    pub total: Option<f64>,
}

/// Calls the function on its thread whenever the work has progressed.
pub fn reporter(function: Function<'_, Progress, ()>) -> napi::Result<OnProgress> {
    let function = function
        .build_threadsafe_function::<Progress>()
        .weak::<true>()
        .build()?;
    Ok(Arc::new(move |progress: work::Progress| {
        let progress = Progress {
            stage: progress.stage,
            completed: progress.completed as f64,
            total: progress.total.map(|total| total as f64),
        };
        function.call(progress, ThreadsafeFunctionCallMode::NonBlocking);
    }))
}

/// Converts a JavaScript number to a count of at least one.
pub fn how_many(name: &str, number: Option<f64>) -> CoreResult<Option<usize>> {
    match number {
        None => Ok(None),
        Some(number) if number >= 1.0 => Ok(Some(number as usize)),
        Some(_) => Err(joust_core::Error::invalid(format!(
            "`{name}` must be at least 1"
        ))),
    }
}
