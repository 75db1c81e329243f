//! Work that can be cancelled.

use std::future::Future;

use joust_core::Result;
use napi_derive::napi;
use tokio::sync::watch;

use crate::promise::cancelled;

/// A handle on work that can be cancelled. Give it to the call that does the work.
#[napi]
pub struct Task {
    cancelled: watch::Sender<bool>,
}

#[napi]
impl Task {
    #[napi(constructor)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            cancelled: watch::Sender::new(false),
        }
    }

    /// Stops the work; harmless when it has ended.
    #[napi]
    pub fn cancel(&self) {
        self.cancelled.send_replace(true);
    }
}

impl Task {
    /// The same work, dropped as soon as the task is cancelled.
    pub fn guard<T, W: Future<Output = Result<T>>>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T>> + use<T, W> {
        let mut signal = self.cancelled.subscribe();
        async move {
            tokio::select! {
                outcome = work => outcome,
                true = async { signal.wait_for(|cancelled| *cancelled).await.is_ok() } => Err(cancelled()),
            }
        }
    }
}
