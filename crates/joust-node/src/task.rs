//! Work that can be cancelled.

use std::future::Future;
use std::time::Duration;

use joust_core::{Result, Work};
use napi_derive::napi;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::promise::cancelled;

/// How often cancelled work that is committing is asked whether it still is.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

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
    /// As `guard`, but work that is committing is waited for.
    pub fn guard_work<T, W: Future<Output = Result<T>>>(
        &self,
        watched: &Work,
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
