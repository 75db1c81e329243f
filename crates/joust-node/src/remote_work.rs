//! Fragments of a backfill that workers outside of this process compute.

use joust_core::jobs::backfill::{self, Part};
use joust_core::{Code, Error};
use napi::Env;
use napi::bindgen_prelude::{Buffer, PromiseRaw};
use napi_derive::napi;

use crate::promise::promise;

/// The work that a backfill leaves to workers. It belongs to one call of `backfill`.
#[napi]
pub struct RemoteWork {
    pub(crate) inner: backfill::RemoteWork,
}

/// What workers need to compute fragments of a column.
#[napi(object)]
pub struct RemoteOrder {
    /// Later orders have greater numbers.
    pub number: f64,
    /// JSON text: the members of `Order` in joust-core.
    pub text: String,
    /// The function as its client sent it.
    pub payload: Buffer,
}

#[napi]
impl RemoteWork {
    #[napi(constructor)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            inner: backfill::RemoteWork::default(),
        }
    }

    /// Waits until the backfill has work for workers. False: it has ended without.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn ordered<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        let work = self.inner.clone();
        promise(env, async move { Ok(work.ordered().await) }, |has_work| {
            has_work
        })
    }

    /// The number of the current order; null: the backfill waits for no worker.
    #[napi]
    pub fn order_number(&self) -> Option<f64> {
        self.inner.order().map(|(number, _)| number as f64)
    }

    /// The current order; null: the backfill waits for no worker.
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
            payload: order.payload.clone().into(),
        }))
    }

    /// Takes note of the computed rows of a fragment. Returns whether its values are still needed.
    #[napi]
    pub fn progress(&self, fragment: f64, key: String, rows: f64) -> bool {
        self.inner.progress(fragment as u64, &key, rows as u64)
    }

    /// Hands over a fragment, as JSON text: the members of `Part` in joust-core. Returns whether the backfill needed it.
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

    /// Fails the backfill if it waits for workers. `available`: the workers have failed, and not their hosts.
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
