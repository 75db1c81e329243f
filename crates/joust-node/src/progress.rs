//! Progress of long work, told to JavaScript.

use std::sync::Arc;

use joust_core::Result as CoreResult;
use joust_core::work::{self, OnProgress};
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;

/// How far work is.
#[napi(object)]
pub struct Progress {
    /// The engine's word for what runs.
    pub stage: String,
    pub completed: f64,
    /// Absent when it can't be told.
    pub total: Option<f64>,
}

/// Calls the function on its own thread whenever the work has moved on.
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

/// A number of things, at least one, from a JavaScript number.
pub fn how_many(name: &str, number: Option<f64>) -> CoreResult<Option<usize>> {
    match number {
        None => Ok(None),
        Some(number) if number >= 1.0 => Ok(Some(number as usize)),
        Some(_) => Err(joust_core::Error::invalid(format!(
            "`{name}` must be at least 1"
        ))),
    }
}
