//! The work that a job leaves to workers, as the server hands it out.

use std::sync::Arc;
use std::time::SystemTime;

use futures::Stream;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::order::{Order, Part};
use super::round::{CheckParts, Message, Round};
use crate::error::{Error, Result};
use crate::work::WorkContext;

/// The work that a job leaves to workers. It belongs to one run of the job. Clones share it.
#[derive(Clone, Default)]
pub struct RemoteWork {
    pub(super) state: Arc<Mutex<State>>,
    orders: watch::Sender<Orders>,
    min_bytes: u64,
    since: Option<SystemTime>,
}

#[derive(Default)]
struct Orders {
    /// The number of the current one; 0: there was none.
    number: u64,
    /// None follows.
    has_ended: bool,
}

#[derive(Default)]
pub(super) struct State {
    pub round: Option<Round>,
    /// The workers have failed.
    pub failure: Option<Error>,
}

impl RemoteWork {
    /// Workers take seconds to start: see [`is_worth`](Self::is_worth) for `min_bytes`.
    #[must_use]
    pub fn new(min_bytes: u64) -> Self {
        Self {
            min_bytes,
            ..Self::default()
        }
    }

    /// The workers of the job have written no file before this time. Their tasks may be older than this run of the job.
    #[must_use]
    pub fn since(self, time: Option<SystemTime>) -> Self {
        Self {
            since: time,
            ..self
        }
    }

    pub(in crate::jobs) fn began(&self) -> Option<SystemTime> {
        self.since
    }

    /// Whether workers should do work that reads so many bytes of files. The job itself does smaller work.
    #[must_use]
    pub fn is_worth(&self, bytes: u64) -> bool {
        bytes >= self.min_bytes
    }

    /// Waits until the job has work for workers. False: it has ended without.
    pub async fn ordered(&self) -> bool {
        let mut orders = self.orders.subscribe();
        let waited = orders
            .wait_for(|orders| orders.number > 0 || orders.has_ended)
            .await;
        waited.is_ok_and(|orders| orders.number > 0)
    }

    /// The guard lives as long as the job: when it is dropped, no order follows.
    #[must_use]
    pub fn begin(&self) -> EndWork {
        EndWork(self.orders.clone())
    }

    /// The current order and its number; `None`: the job waits for no worker.
    #[must_use]
    pub fn order(&self) -> Option<(u64, Arc<Order>)> {
        let state = self.state.lock();
        let order = state.round.as_ref()?.order.clone();
        Some((self.orders.borrow().number, order))
    }

    /// Takes note of how much of a task is done. Returns whether its result is still needed.
    #[must_use]
    pub fn progress(&self, key: &str, units: u64) -> bool {
        let mut state = self.state.lock();
        let round = state.round.as_mut();
        round.is_some_and(|round| round.progress(key, units))
    }

    /// Hands over the result of a task. Returns whether the job needed it. Code 13 if it does not fit the task.
    pub async fn deliver(&self, part: Part) -> Result<bool> {
        let (reply, replied) = oneshot::channel();
        {
            let state = self.state.lock();
            let Some(round) = state.round.as_ref() else {
                return Ok(false);
            };
            if round.order.find(&part.key).is_none() {
                return Ok(false);
            }
            if round.messages.send(Message::Part(part, reply)).is_err() {
                return Ok(false);
            }
        }
        match replied.await {
            Ok(taken) => taken.map(|()| true),
            // The round has ended.
            Err(_) => Ok(false),
        }
    }

    /// Fails the job as soon as it waits for workers.
    pub fn fail(&self, error: Error) {
        let mut state = self.state.lock();
        if let Some(round) = &state.round {
            let _ = round.messages.send(Message::Failure(error.clone()));
        }
        state.failure = Some(error);
    }

    /// Publishes the order, and receives the results of its tasks until all are there. Without tasks there is no order.
    pub(in crate::jobs) fn receive<C: CheckParts>(
        &self,
        order: Order,
        checks: C,
        work: &WorkContext,
    ) -> impl Stream<Item = Result<C::Output>> + Send + use<C> {
        let receiver = (!order.tasks.is_empty()).then(|| {
            let receiver = Round::begin(&self.state, Arc::new(order), checks, work);
            self.orders.send_modify(|orders| orders.number += 1);
            receiver
        });
        futures::stream::try_unfold(receiver, |receiver| async move {
            let Some(mut receiver) = receiver else {
                return Ok(None);
            };
            let output = receiver.next().await?;
            Ok(output.map(|output| (output, Some(receiver))))
        })
    }
}

impl std::fmt::Debug for RemoteWork {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RemoteWork").finish_non_exhaustive()
    }
}

/// No order follows when the job ends.
pub struct EndWork(watch::Sender<Orders>);

impl Drop for EndWork {
    fn drop(&mut self) {
        self.0.send_modify(|orders| orders.has_ended = true);
    }
}
