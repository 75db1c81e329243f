//! One round of a job: the tasks that it waits for.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::order::{Order, Part, Task};
use super::work::State;
use crate::error::{Error, Result};
use crate::work::WorkContext;

/// Checks what workers hand over for the tasks of one order. Each kind of job has its own.
pub trait CheckParts: Send + 'static {
    /// What the job continues with.
    type Output: Send;

    /// Called once for each task, and again after an error. Code 13 refuses the part, and its worker fails the job. After
    /// another error the worker hands it over again.
    fn check(
        &mut self,
        task: &Task,
        part: &Part,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// The tasks that a job waits for.
pub struct Round {
    pub order: Arc<Order>,
    pub messages: mpsc::UnboundedSender<Message>,
    /// The progress of the tasks that workers have begun, units.
    running: HashMap<String, u64>,
    /// The units of the tasks whose results are there.
    done: HashMap<String, u64>,
    work: WorkContext,
}

pub enum Message {
    Part(Part, oneshot::Sender<Result<()>>),
    Failure(Error),
}

impl Round {
    /// The receiver ends the round when it is dropped.
    pub fn begin<C: CheckParts>(
        state: &Arc<Mutex<State>>,
        order: Arc<Order>,
        checks: C,
        work: &WorkContext,
    ) -> Receiver<C> {
        let (messages, received) = mpsc::unbounded_channel();
        let remaining = order.tasks.iter().cloned();
        let receiver = Receiver {
            remaining: remaining.map(|task| (task.key.clone(), task)).collect(),
            checks,
            received,
            round: EndRound(state.clone()),
        };
        let mut state = state.lock();
        if let Some(error) = &state.failure {
            let _ = messages.send(Message::Failure(error.clone()));
        }
        state.round = Some(Self {
            order,
            messages,
            running: HashMap::new(),
            done: HashMap::new(),
            work: work.clone(),
        });
        receiver
    }

    pub fn progress(&mut self, key: &str, units: u64) -> bool {
        let Some(task) = self.order.find(key) else {
            return false;
        };
        if self.done.contains_key(key) {
            return false;
        }
        self.running.insert(key.to_string(), units.min(task.units));
        self.report();
        true
    }

    fn report(&self) {
        let units: u64 = self.running.values().chain(self.done.values()).sum();
        let total = self.order.tasks.iter().map(|task| task.units).sum();
        self.work
            .report(self.order.stage, units.min(total), Some(total));
    }
}

/// Ends the round when the job stops waiting.
struct EndRound(Arc<Mutex<State>>);

impl EndRound {
    fn finish(&self, task: &Task) {
        if let Some(round) = &mut self.0.lock().round {
            round.running.remove(&task.key);
            round.done.insert(task.key.clone(), task.units);
            round.report();
        }
    }
}

impl Drop for EndRound {
    fn drop(&mut self) {
        self.0.lock().round = None;
    }
}

/// Receives the results of one round.
pub struct Receiver<C> {
    /// By key.
    remaining: HashMap<String, Task>,
    checks: C,
    received: mpsc::UnboundedReceiver<Message>,
    round: EndRound,
}

impl<C: CheckParts> Receiver<C> {
    /// The next result; `None` after the last one.
    pub async fn next(&mut self) -> Result<Option<C::Output>> {
        while !self.remaining.is_empty() {
            let (part, reply) = match self.received.recv().await {
                Some(Message::Part(part, reply)) => (part, reply),
                Some(Message::Failure(error)) => return Err(error),
                None => break,
            };
            // A worker that got no reply hands its part over again. Of two workers, the files of the second one stay
            // until the clean-up of versions.
            let Some(task) = self.remaining.get(&part.key) else {
                let _ = reply.send(Ok(()));
                continue;
            };
            match self.checks.check(task, &part).await {
                Ok(output) => {
                    self.round.finish(task);
                    self.remaining.remove(&part.key);
                    let _ = reply.send(Ok(()));
                    return Ok(Some(output));
                }
                Err(error) => drop(reply.send(Err(error))),
            }
        }
        Ok(None)
    }
}
