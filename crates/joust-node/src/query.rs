//! Queries and their results.

use std::sync::Arc;

use joust_core::Answer;
use joust_core::ipc::Format;
use joust_core::memory::Reservation;
use napi::Env;
use napi::bindgen_prelude::{Buffer, PromiseRaw};
use napi_derive::napi;
use tokio::sync::Mutex;

use crate::bytes::Bytes;
use crate::error::js_error;
use crate::promise::promise;
use crate::running::guard;
use crate::table::{Table, millis, time, version_number};
use crate::task::Task;

/// The parameters of a query besides its body.
#[napi(object)]
pub struct QueryOptions {
    /// The identifier in the request's path: a body with a different `id` is rejected (code 13).
    pub id: Vec<String>,
    /// Framing of the result.
    #[napi(ts_type = "'file' | 'stream'")]
    pub format: String,
    /// Only use a state that was checked after this time (ms since the epoch).
    pub min_timestamp_millis: Option<f64>,
    /// Do not answer from an older version, if this one exists.
    pub min_version: Option<f64>,
    /// A number that is unique among the running queries of this process; `cancelQuery` takes it.
    pub number: Option<f64>,
    /// Time that the request has left, ms; the engine stops its work then. No limit of its own when absent.
    pub timeout_ms: Option<f64>,
}

impl From<QueryOptions> for joust_core::query::QueryOptions {
    fn from(options: QueryOptions) -> Self {
        Self {
            id: options.id,
            format: match options.format.as_str() {
                "stream" => Format::Stream,
                _ => Format::File,
            },
            not_before: options.min_timestamp_millis.map(time),
            min_version: options.min_version.map(version_number),
            timeout: options.timeout_ms.map(millis),
        }
    }
}

/// A result in Arrow IPC.
#[napi(object, object_from_js = false)]
pub struct QueryAnswer {
    /// The version of the table that was read; 0 for a SQL statement.
    pub version: f64,
    /// The first chunk: memory of the engine, not a copy of it, unless it is small.
    #[napi(ts_type = "Buffer")]
    pub first: Bytes,
    /// Whether the first chunk is the whole result.
    pub done: bool,
    /// The other chunks, and the memory reservation of the result; absent if there is neither.
    pub rest: Option<QueryRest>,
}

impl From<(Vec<u8>, Answer)> for QueryAnswer {
    fn from((first, answer): (Vec<u8>, Answer)) -> Self {
        Self {
            version: answer.version().unwrap_or(0) as f64,
            done: answer.is_done(),
            rest: QueryRest::of(answer, first.len()),
            first: Bytes(first),
        }
    }
}

/// The remaining chunks of a result, and its memory reservation, which `cancel` releases.
#[napi]
pub struct QueryRest {
    /// Chunks that are not encoded yet.
    answer: Arc<Mutex<Option<Answer>>>,
    /// The reservation of a complete first chunk until it is sent.
    memory: Option<Reservation>,
    /// Bytes that are reserved until the result is sent.
    held: usize,
    task: Task,
}

/// A complete result up to this size has no reservation while it is sent: the socket's buffer holds it.
const SMALL: usize = 64 << 10;

impl QueryRest {
    /// `first`: the size of the first chunk.
    fn of(answer: Answer, first: usize) -> Option<Self> {
        let is_whole = answer.is_done();
        if is_whole && first <= SMALL {
            return None;
        }
        let (held, memory, answer) = match is_whole {
            true => {
                let memory = answer.into_memory(first);
                (memory.bytes(), Some(memory), None)
            }
            false => (answer.held(), None, Some(answer)),
        };
        Some(Self {
            answer: Arc::new(Mutex::new(answer)),
            memory,
            held,
            task: Task::new(),
        })
    }
}

#[napi]
impl QueryRest {
    /// The next chunk, null at the end.
    #[napi(ts_return_type = "Promise<Buffer | null>")]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Option<Buffer>>> {
        let answer = self.answer.clone();
        let work = self.task.guard(async move {
            let mut slot = answer.lock().await;
            // This future owns the answer while it makes a chunk: its cancellation releases the memory.
            let Some(mut answer) = slot.take() else {
                return Ok(None);
            };
            let part = answer.next().await;
            *slot = Some(answer);
            part
        });
        promise(env, work, |part| part.map(Buffer::from))
    }

    /// Bytes that are reserved until `cancel` is called.
    #[napi(getter)]
    pub fn held(&self) -> f64 {
        self.held as f64
    }

    /// Cancels the work and releases its memory; no effect after the end.
    #[napi]
    pub fn cancel(&mut self) {
        self.memory = None;
        self.task.cancel();
        // While a chunk is being made, its future owns the answer, and the task cancels that one.
        if let Ok(mut answer) = self.answer.try_lock() {
            *answer = None;
        }
    }
}

/// Fails (code 13) if the body is invalid for every table: invalid JSON, or a wrong form.
// Test builds register nothing with Node, so the compiler considers it unused.
#[cfg_attr(test, allow(dead_code))]
#[napi]
pub fn check_query(env: &Env, body: &[u8]) -> napi::Result<()> {
    joust_core::query::check(body).map_err(|error| js_error(env, &error))
}

#[napi]
impl Table {
    /// Runs a query. `body` is its JSON, which is copied before the call returns.
    #[napi(ts_return_type = "Promise<QueryAnswer>")]
    pub fn query<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: QueryOptions,
    ) -> napi::Result<PromiseRaw<'env, QueryAnswer>> {
        let table = self.inner.clone();
        let body = body.to_vec();
        let number = options.number;
        // Boxed, because it is large and is moved several times.
        let work = Box::pin(async move {
            let mut answer = table.query(&body, options.into()).await?;
            let first = answer.first().await?;
            Ok((first, answer))
        });
        promise(env, guard(number, work), QueryAnswer::from)
    }

    /// The plan of a query as text. `body`: JSON `{query, verbose}`.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn explain_plan<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: QueryOptions,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let table = self.inner.clone();
        let body = body.to_vec();
        promise(
            env,
            async move { table.explain_plan(&body, options.into()).await },
            |plan| plan,
        )
    }

    /// Runs a query and reports what each step of its plan did. `body`: the query's JSON.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn analyze_plan<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: QueryOptions,
        task: &Task,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let table = self.inner.clone();
        let body = body.to_vec();
        let work = task.guard(async move { table.analyze_plan(&body, options.into()).await });
        promise(env, work, |plan| plan)
    }
}
