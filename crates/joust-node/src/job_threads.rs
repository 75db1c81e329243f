//! The threads of jobs, and of changes of rows that take as long.
//!
//! A step of a job may be long: a join compares a batch with all rows of the other side, an index build sorts a column.
//! Nothing interrupts such a step. On an engine thread it would block queries, and two of them all queries on two cores.
//! So jobs have an async runtime of their own, as large as the one of the engine. The operating system shares the cores
//! between both.

use std::future::Future;
use std::io;
use std::panic::resume_unwind;
use std::sync::LazyLock;

use joust_core::work::cancelled;
use joust_core::{Error, Result, takes_long};
use tokio::runtime::Runtime;
use tracing::Instrument;

static RUNTIME: LazyLock<io::Result<Runtime>> = LazyLock::new(|| crate::runtime("joust-job"));

/// Runs work on the threads of jobs. A panic of the work is one of the caller.
pub async fn on_job_threads<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let runtime = RUNTIME.as_ref().map_err(no_threads)?;
    match runtime.spawn(work.in_current_span()).await {
        Ok(outcome) => outcome,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(cancelled()),
        },
    }
}

/// Runs a change of rows, which evaluates these expressions: on the threads of jobs if they take long. A change may wait
/// for a step of a job there, so other changes run on the threads of the engine.
pub async fn on_threads_for<T: Send + 'static>(
    expressions: &[String],
    change: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    match takes_long(expressions.iter().map(String::as_str)) {
        true => on_job_threads(change).await,
        false => change.await,
    }
}

fn no_threads(error: &io::Error) -> Error {
    Error::internal(
        "the threads of jobs could not be started",
        io::Error::new(error.kind(), error.to_string()),
    )
}
