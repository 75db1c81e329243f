//! Cancellable work.

use std::future::Future;
use std::time::Duration;

use joust_core::{Result, WorkContext};
use napi_derive::napi;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::promise::cancelled;

/// Interval of the checks whether cancelled work is still committing.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A handle for cancellation. Pass it to the call that does the work.
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

    /// Cancels the work; no effect after it has ended.
    #[napi]
    pub fn cancel(&self) {
        self.cancelled.send_replace(true);
    }
}

impl Task {
    /// As `guard`, but waits for work that is committing.
    pub fn guard_work<T, W: Future<Output = Result<T>>>(
        &self,
        watched: &WorkContext,
        work: W,
    ) -> impl Future<Output = Result<T>> + use<T, W> {
        let mut signal = self.cancelled.subscribe();
        let watched = watched.clone();
        async move {
            let mut work = std::pin::pin!(work);
            tokio::select! {
                outcome = &mut work => return outcome,
                true = async { signal.wait_for(|cancelled| *cancelled).await.is_ok() } => {}
            }
            while watched.is_committing() {
                if let Ok(outcome) = timeout(LOOK_AGAIN, &mut work).await {
                    return outcome;
                }
            }
            Err(cancelled())
        }
    }

    /// The same work, which a cancellation of the task drops.
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
