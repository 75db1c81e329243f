//! Work of jobs that workers outside of this process do.

use std::time::{Duration, UNIX_EPOCH};

use joust_core::jobs::remote::{self, Part};
use joust_core::{Code, Error};
use napi::Env;
use napi::bindgen_prelude::{Buffer, PromiseRaw};
use napi_derive::napi;

use crate::promise::promise;

/// The work that a job leaves to workers. It belongs to one run of the job.
#[napi]
pub struct RemoteWork {
    pub(crate) inner: remote::RemoteWork,
}

/// What workers need for a round of a job.
#[napi(object)]
pub struct RemoteOrder {
    /// Later orders have greater numbers.
    pub number: f64,
    /// JSON text: the members of `Order` in joust-core.
    pub text: String,
    /// The function that its tasks call, as its client sent it. Absent: they call none.
    pub function: Option<Buffer>,
}

#[napi]
impl RemoteWork {
    /// `min_bytes`: the job itself does work that reads fewer bytes of files, except for functions. `since`: when the job
    /// was made, ms since 1970; older files are not those of its workers.
    #[napi(constructor)]
    pub fn new(min_bytes: f64, since: Option<f64>) -> Self {
        let since = since.map(|time| UNIX_EPOCH + Duration::from_millis(time as u64));
        Self {
            inner: remote::RemoteWork::new(min_bytes as u64).since(since),
        }
    }

    /// Waits until the job has work for workers. False: it has ended without.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn ordered<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        let work = self.inner.clone();
        promise(env, async move { Ok(work.ordered().await) }, |has_work| {
            has_work
        })
    }

    /// The number of the current order; null: the job waits for no worker.
    #[napi]
    pub fn order_number(&self) -> Option<f64> {
        self.inner.order().map(|(number, _)| number as f64)
    }

    /// The current order; null: the job waits for no worker.
    #[napi]
    pub fn order(&self) -> napi::Result<Option<RemoteOrder>> {
        let Some((number, order)) = self.inner.order() else {
            return Ok(None);
        };
        Ok(Some(RemoteOrder {
            number: number as f64,
            text: order
                .to_json()
                .map_err(|error| napi::Error::from_reason(error.message().to_string()))?,
            function: order.function.clone().map(Buffer::from),
        }))
    }

    /// Takes note of how much of a task is done. Returns whether its result is still needed.
    #[napi]
    pub fn progress(&self, key: String, units: f64) -> bool {
        self.inner.progress(&key, units as u64)
    }

    /// Hands over the result of a task, as JSON text: the members of `Part` in joust-core. Returns whether the job needed
    /// it.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn deliver<'env>(
        &self,
        env: &'env Env,
        part: String,
    ) -> napi::Result<PromiseRaw<'env, bool>> {
        let work = self.inner.clone();
        let delivered = async move { work.deliver(Part::from_json(&part)?).await };
        promise(env, delivered, |taken| taken)
    }

    /// Fails the job if it waits for workers. `available`: the workers have failed, and not their hosts.
    #[napi]
    pub fn fail(&self, message: String, available: bool) {
        let code = match available {
            true => Code::InvalidInput,
            false => Code::ServiceUnavailable,
        };
        self.inner.fail(Error::new(code, message));
    }
}

/// The program that runs one function, in Python. See `worker.py` in joust-core.
// Test builds register nothing with Node, so the compiler considers it unused.
#[cfg_attr(test, allow(dead_code))]
#[napi]
#[must_use]
pub fn function_program() -> &'static str {
    joust_core::FUNCTION_PROGRAM
}
