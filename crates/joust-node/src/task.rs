//! Cancellable work.

use std::future::Future;

use joust_core::work::{CancellationToken, OnProgress, cancelled};
use joust_core::{Result, WorkContext};
use napi_derive::napi;

/// A handle for cancellation. Pass it to the call that does the work.
#[napi]
pub struct Task {
    cancel: CancellationToken,
}

#[napi]
impl Task {
    #[napi(constructor)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            cancel: CancellationToken::new(),
        }
    }

    /// Cancels the work; no effect after it has ended.
    #[napi]
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Task {
    /// The context of long work that this task cancels.
    pub fn context(&self, on_progress: OnProgress) -> WorkContext {
        WorkContext::new(on_progress, self.cancel.clone())
    }

    /// The same work, which a cancellation of the task drops.
    pub fn guard<T, W: Future<Output = Result<T>>>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T>> + use<T, W> {
        let cancel = self.cancel.clone();
        async move {
            let outcome = cancel.run_until_cancelled(work).await;
            outcome.unwrap_or_else(|| Err(cancelled()))
        }
    }
}
