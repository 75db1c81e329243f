//! The engine for Node: thin bindings of `joust-core`.
//!
//! Every call that may wait returns a Promise and runs on the engine's threads. Bytes are passed without a copy where
//! JavaScript allows it. All errors have one class: see [`error`].

// Sizes and counts of a table fit a JavaScript number: 2^53 rows are more than any table has.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
// Node-API passes owned values.
#![allow(clippy::needless_pass_by_value)]

mod auto_refresh;
mod blobs;
mod builders;
mod bytes;
mod changes;
mod clean_up;
mod clone;
mod columns;
mod completions;
mod difference;
mod engine;
mod error;
mod flight;
mod index;
mod job_threads;
mod jobs;
mod log;
mod maintain;
mod memory;
mod parts;
mod progress;
mod promise;
mod query;
mod refs;
mod remote_work;
mod row_table;
mod rows;
mod running;
mod seal;
mod sql;
mod sql_rows;
mod table;
mod task;
mod trace;
mod upload;
mod vended;
mod versions;
mod view;

use std::num::NonZero;

use napi::bindgen_prelude::create_custom_tokio_runtime;
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Stack of an engine thread, bytes. Planning a SQL expression recurses as deep as the expression is
/// nested.
const THREAD_STACK: usize = 16 << 20;

/// The least number of threads for file access and long computations. Each keeps memory for later allocations: the 512
/// threads of tokio's default would keep more than many tables need. Half of them are reserved for steps of the commits
/// that occupy the other half.
const LEAST_BLOCKING_THREADS: usize = 2 * joust_core::MAX_COMMIT_WORKERS;
const BLOCKING_THREADS_PER_CORE: usize = 4;

#[napi_derive::module_init]
fn init() {
    // Otherwise Node-API creates its own runtime.
    if let Ok(runtime) = runtime("joust-engine") {
        create_custom_tokio_runtime(runtime);
    }
}

/// A runtime with one thread for each core, and others for file access.
fn runtime(name: &str) -> std::io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let blocking = cores.saturating_mul(BLOCKING_THREADS_PER_CORE);
    Builder::new_multi_thread()
        .enable_all()
        .thread_name(name)
        .thread_stack_size(THREAD_STACK)
        .max_blocking_threads(blocking.max(LEAST_BLOCKING_THREADS))
        .build()
}
