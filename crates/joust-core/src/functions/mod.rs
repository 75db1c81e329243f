//! Python functions that compute the values of virtual columns, or the rows of views, in processes of their own.
//!
//! [`worker`] starts a process and exchanges frames with it, and `call.py` with `worker.py` is its program. [`run`]
//! distributes the batches of one job among processes; [`batch_size`] adapts the batches to the function.
//! docs/functions.md says what a function can rely on, docs/design/functions.md why it is done in this way.

mod batch_size;
mod frames;
mod pipes;
mod process;
mod run;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use arrow::datatypes::Field;
use tokio::sync::Semaphore;

use crate::error::{Code, Error};

pub(crate) use batch_size::BatchBounds;
pub(crate) use run::{FunctionRun, sent_bytes};
pub use worker::PROGRAM;

/// How an engine runs Python functions.
#[derive(Debug, Clone)]
pub struct FunctionSettings {
    /// The Python interpreter, which has the package `pyarrow`.
    pub python: PathBuf,
    /// The most processes at the same time.
    pub workers: usize,
    /// Memory of each process, bytes.
    pub memory_bytes: u64,
    /// How long one call of a function may take.
    pub call_timeout: Duration,
    /// How much time of all processors one call of a function may take.
    pub cpu_time: Duration,
    /// Whether functions reach the network.
    pub network: bool,
    /// The environment of the processes, beside `PATH`, `HOME`, `TMPDIR` and `LANG`.
    pub environment: Vec<(String, String)>,
}

/// The processes of an engine. Cheap to clone; clones share the limit of processes.
#[derive(Clone)]
pub(crate) struct Functions {
    settings: Arc<FunctionSettings>,
    permits: Arc<Semaphore>,
    /// Callers that wait for a permit.
    waiting: Arc<AtomicUsize>,
}

impl Functions {
    pub fn new(settings: FunctionSettings) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(settings.workers.max(1))),
            settings: Arc::new(settings),
            waiting: Arc::default(),
        }
    }

    /// The error of an engine that runs no functions. `what`: what the function computes.
    pub fn missing(what: &str, function: &str) -> Error {
        Error::new(
            Code::Unsupported,
            format!(
                "{what} is computed by the Python function `{function}`, and this server runs no \
                 functions: an administrator can start it with --functions subprocess, or with \
                 --functions ray for a cluster"
            ),
        )
    }
}

/// A function and the column that it computes.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    /// For messages.
    pub name: String,
    /// The function as its client sent it.
    pub payload: Vec<u8>,
    /// SHA-256 of the payload, hex.
    pub sha256: String,
    /// The field of the function's struct with the values; `None`: the function returns the values.
    pub struct_field: Option<String>,
    /// Whether the function makes rows of each row. Then the column is a list of structs, whose fields are the columns of
    /// these rows.
    pub expands: bool,
    /// The column.
    pub output: Field,
}
