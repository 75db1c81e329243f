//! Queries and their answers.

use std::sync::Arc;

use joust_core::Answer;
use joust_core::at_once::Begun;
use joust_core::ipc::Format;
use joust_core::memory::Reservation;
use napi::Env;
use napi::bindgen_prelude::{Buffer, Either, PromiseRaw};
use napi_derive::napi;
use tokio::sync::Mutex;

use crate::error::js_error;
use crate::promise::{begin, cancelled, promise};
use crate::table::{Table, time, version_number};
use crate::task::Task;

/// What the server knows about a query besides its body.
#[napi(object)]
pub struct QueryOptions {
    /// The identifier in the request's path: a body whose `id` differs is refused (code 13).
    pub id: Vec<String>,
    /// Framing of the answer.
    #[napi(ts_type = "'file' | 'stream'")]
    pub format: String,
    /// Do not answer from anything learnt before this time (ms since the epoch).
    pub min_timestamp_millis: Option<f64>,
    /// Do not answer from an older version than this, if there is one as new.
    pub min_version: Option<f64>,
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
        }
    }
}

/// An answer in Arrow IPC. The first part holds all of it when `done`; else read on with `next`.
#[napi]
pub struct QueryResult {
    version: u64,
    first: Option<Vec<u8>>,
    done: bool,
    rest: Arc<Mutex<Option<Answer>>>,
    /// What a first part that is everything holds until it is sent.
    memory: Option<Reservation>,
    task: Task,
}

/// The first part of an answer, and what makes the rest.
type First = (Vec<u8>, Answer);

/// A whole answer up to this size is not counted while it is sent: the socket's own buffer takes it.
const SMALL: usize = 64 << 10;

impl From<First> for QueryResult {
    fn from((first, answer): First) -> Self {
        let (version, done) = (answer.version(), answer.is_done());
        let (memory, rest) = match done {
            true if first.len() > SMALL => (Some(answer.into_memory(first.len())), None),
            true => (None, None),
            false => (None, Some(answer)),
        };
        Self {
            version,
            first: Some(first),
            done,
            rest: Arc::new(Mutex::new(rest)),
            memory,
            task: Task::new(),
        }
    }
}

#[napi]
impl QueryResult {
    /// The version of the table that is answered from.
    #[napi(getter)]
    pub fn version(&self) -> f64 {
        self.version as f64
    }

    /// Whether the first part is everything.
    #[napi(getter)]
    pub fn done(&self) -> bool {
        self.done
    }

    /// The first part. It is handed over: a second call gives an empty one.
    #[napi]
    pub fn first(&mut self) -> Buffer {
        self.first.take().unwrap_or_default().into()
    }

    /// The next part, null at the end.
    #[napi(ts_return_type = "Promise<Buffer | null>")]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Option<Buffer>>> {
        let rest = self.rest.clone();
        let work = self.task.guard(async move {
            match rest.lock().await.as_mut() {
                Some(answer) => answer.next().await,
                None => Ok(None),
            }
        });
        promise(env, work, |part| part.map(Buffer::from))
    }

    /// Whether memory is held until `cancel` is called.
    #[napi(getter)]
    pub fn held(&self) -> bool {
        self.memory.is_some() || !self.done
    }

    /// Stops the work and gives back its memory; harmless after the end.
    #[napi]
    pub fn cancel(&mut self) {
        self.memory = None;
        self.task.cancel();
        // A part that is being made holds the lock and is stopped by the task.
        if let Ok(mut rest) = self.rest.try_lock() {
            *rest = None;
        }
    }
}

/// A query that is not answered yet.
#[napi]
pub struct QueryWork {
    rest: Option<Begun<joust_core::Result<First>>>,
    task: Task,
}

#[napi]
impl QueryWork {
    /// Does the work, off Node's thread. To be called once.
    #[napi(ts_return_type = "Promise<QueryResult>")]
    pub fn result<'env>(&mut self, env: &'env Env) -> napi::Result<PromiseRaw<'env, QueryResult>> {
        let rest = self.rest.take();
        let work = self.task.guard(async move {
            match rest {
                Some(rest) => rest.await,
                None => Err(cancelled()),
            }
        });
        promise(env, work, QueryResult::from)
    }

    /// Stops the work; harmless after its end.
    #[napi]
    pub fn cancel(&mut self) {
        self.rest = None;
        self.task.cancel();
    }
}

/// Fails (code 13) for a body that no table could be asked with: not JSON, or wrong in its form.
// Test builds register nothing with Node and take it for unused.
#[cfg_attr(test, allow(dead_code))]
#[napi]
pub fn check_query(env: &Env, body: &[u8]) -> napi::Result<()> {
    joust_core::query::check(body).map_err(|error| js_error(env, &error))
}

#[napi]
impl Table {
    /// Runs a query. `body` is its JSON as it came, copied before the call returns. What is at hand is
    /// answered in the call; the rest of the work is done when it is asked for.
    #[napi]
    pub fn query(
        &self,
        env: &Env,
        body: &[u8],
        options: QueryOptions,
    ) -> napi::Result<Either<QueryResult, QueryWork>> {
        let table = self.inner.clone();
        let body = body.to_vec();
        let work = async move {
            let mut answer = table.query(&body, options.into()).await?;
            let first = answer.first().await?;
            Ok((first, answer))
        };
        match begin(work) {
            Ok(Ok(first)) => Ok(Either::A(first.into())),
            Ok(Err(error)) => Err(js_error(env, &error)),
            Err(rest) => Ok(Either::B(QueryWork {
                rest: Some(rest),
                task: Task::new(),
            })),
        }
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

    /// Runs a query and tells what each step of its plan did. `body`: the query's JSON.
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
