//! Plans client SQL on separate threads.
//!
//! Parsing, simplifying and planning an expression is one computation that cannot be interrupted. On an engine thread,
//! a step of minutes would block other queries, and two of them all queries on two cores. So plans are computed here:
//! on few threads, with a large stack, each with a time limit. A client whose plan exceeds it gets an error; the thread
//! continues with low priority until the step ends, and another one replaces it.
//!
//! I/O of a plan (files, a store) runs on the engine's threads as usual and does not count.

use std::any::Any;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{Either, select};
use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::{Instrument, info_span};

use crate::error::{Code, Error, Result};

/// Stack of a planning thread, bytes. The address space is reserved at once, memory is used on demand.
const STACK: usize = 64 << 20;
/// The least number of threads. A plan on a remote store mostly waits for the store.
const LEAST_THREADS: usize = 16;
/// The most additional threads for steps beyond their time limit. Further ones reduce the number of the others.
const MOST_OVERRUN: usize = 8;
/// The time limit of a step of a plan.
const STEP: Duration = Duration::from_secs(5);
/// How long a plan waits for a thread.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an idle thread waits for the next plan.
const IDLE: Duration = Duration::from_secs(10);

/// Runs work that plans on a planning thread. Dropping the future drops the work after its current step.
///
/// Code 13 if a step takes too long; code 17 if no thread is free.
pub async fn planned<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    static THREADS: LazyLock<Threads> = LazyLock::new(|| {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Threads::new(Limits {
            threads: LEAST_THREADS.max(2 * cores),
            overrun: MOST_OVERRUN,
            step: STEP,
            patience: PATIENCE,
        })
    });
    THREADS.run(work.instrument(info_span!("plan"))).await
}

/// Plans that exceeded the time limit, since the start.
pub fn overruns() -> u64 {
    OVERRUNS.load(Ordering::Relaxed)
}

static OVERRUNS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Clone, Copy)]
struct Limits {
    threads: usize,
    overrun: usize,
    step: Duration,
    patience: Duration,
}

#[derive(Clone)]
struct Threads(Arc<Shared>);

struct Shared {
    limits: Limits,
    state: Mutex<State>,
    /// Notified when a plan is queued.
    queued: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Plan>,
    /// Threads, without those that run beyond their time limit.
    threads: usize,
    /// The idle ones of these.
    idle: usize,
    overrun: usize,
}

struct Plan {
    work: Pin<Box<dyn Future<Output = ()> + Send>>,
    runtime: Handle,
    step: Arc<Step>,
}

/// The current step of a plan.
struct Step {
    zero: Instant,
    /// Its start, in milliseconds after `zero`; 0: no step.
    began: AtomicU64,
    /// The system's number of its thread; 0: none yet.
    thread: AtomicU32,
    /// The state of the thread's slot.
    place: Mutex<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Waits,
    Runs,
    /// It exceeded the time limit. `replaced`: another thread may use its slot.
    Overran {
        replaced: bool,
    },
    Ended,
}

impl Threads {
    fn new(limits: Limits) -> Self {
        Self(Arc::new(Shared {
            limits,
            state: Mutex::default(),
            queued: Condvar::new(),
        }))
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (mut sender, receiver) = oneshot::channel();
        let step = Arc::new(Step::new());
        let timed = Timed {
            work: Box::pin(work),
            step: step.clone(),
        };
        let work = async move {
            let outcome = {
                let closed = pin!(sender.closed());
                // First checks whether the caller still waits: a plan may have been queued for long.
                match select(closed, AssertUnwindSafe(timed).catch_unwind()).await {
                    Either::Left(_) => return,
                    Either::Right((outcome, _)) => outcome,
                }
            };
            let _ = sender.send(outcome);
        };
        self.begin(Plan {
            work: Box::pin(work),
            runtime: Handle::current(),
            step: step.clone(),
        })?;
        let mut caller = Caller {
            threads: self,
            step: &step,
            waits: true,
        };
        let outcome = self.outcome(receiver, &step).await;
        // A plan for which no thread was free may begin at this moment.
        caller.waits = matches!(&outcome, Err(error) if error.code() == Code::ServiceUnavailable);
        outcome
    }

    /// Waits for a plan, as long as its steps are within the time limit.
    async fn outcome<T>(
        &self,
        mut receiver: oneshot::Receiver<Outcome<T>>,
        step: &Step,
    ) -> Result<T> {
        let limits = self.0.limits;
        let asked = Instant::now();
        loop {
            let look = tokio::time::sleep(limits.step / 8);
            match select(&mut receiver, pin!(look)).await {
                Either::Left((Ok(Ok(outcome)), _)) => return outcome,
                Either::Left((Ok(Err(panic)), _)) => resume_unwind(panic),
                Either::Left((Err(closed), _)) => {
                    return Err(Error::internal(
                        "the planning thread ended without a result",
                        closed,
                    ));
                }
                Either::Right(_) if step.elapsed() > limits.step => {
                    self.0.overran(step);
                    return Err(too_long(limits.step));
                }
                Either::Right(_) => {
                    let waits = *step.place.lock() == Place::Waits;
                    if waits && asked.elapsed() > limits.patience {
                        return Err(busy());
                    }
                }
            }
        }
    }

    /// Observes the time limit of a plan whose caller has left. If the current step exceeds it, another thread replaces
    /// the one of the plan. The plan ends after this step.
    async fn watch(self, step: Arc<Step>) {
        let limit = self.0.limits.step;
        while matches!(*step.place.lock(), Place::Waits | Place::Runs) {
            if step.elapsed() > limit {
                self.0.overran(&step);
            }
            tokio::time::sleep(limit / 8).await;
        }
    }

    fn begin(&self, plan: Plan) -> Result<()> {
        let mut state = self.0.state.lock();
        state.queue.push_back(plan);
        self.0.queued.notify_one();
        match self.0.staff(&mut state) {
            // The existing threads run it later.
            Err(error) if state.threads == 0 => {
                state.queue.pop_back();
                Err(Error::internal("no thread could be begun", error))
            }
            _ => Ok(()),
        }
    }
}

/// The caller of a plan. If it is dropped while it waits, a task observes the time limit of the current step in its place.
struct Caller<'a> {
    threads: &'a Threads,
    step: &'a Arc<Step>,
    waits: bool,
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        if self.waits
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(self.threads.clone().watch(self.step.clone()));
        }
    }
}

type Outcome<T> = std::result::Result<Result<T>, Box<dyn Any + Send>>;

impl Shared {
    /// Starts a thread for each plan that no idle one takes, up to the limit.
    fn staff(self: &Arc<Self>, state: &mut State) -> std::io::Result<()> {
        let wanted = state.queue.len().saturating_sub(state.idle);
        let free = self.limits.threads.saturating_sub(state.threads);
        for _ in 0..wanted.min(free) {
            let shared = self.clone();
            std::thread::Builder::new()
                .name("joust-plan".to_string())
                .stack_size(STACK)
                .spawn(move || shared.work())?;
            state.threads += 1;
        }
        Ok(())
    }

    /// The loop of a thread.
    fn work(self: &Arc<Self>) {
        while let Some(plan) = self.next() {
            let step = plan.step;
            step.thread.store(thread_number(), Ordering::Relaxed);
            *step.place.lock() = Place::Runs;
            plan.runtime.block_on(plan.work);
            let mut place = step.place.lock();
            if let Place::Overran { replaced } = *place {
                let mut state = self.state.lock();
                state.overrun -= 1;
                state.threads -= usize::from(!replaced);
                // Its priority stays low, so another thread runs queued plans. If none can be started, the next plan
                // tries again.
                let _ = self.staff(&mut state);
                return;
            }
            *place = Place::Ended;
        }
    }

    /// The next plan; `None` after an idle period, and the thread is no longer counted.
    fn next(&self) -> Option<Plan> {
        let mut state = self.state.lock();
        loop {
            if let Some(plan) = state.queue.pop_front() {
                return Some(plan);
            }
            state.idle += 1;
            let waited = self.queued.wait_for(&mut state, IDLE);
            state.idle -= 1;
            if waited.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }

    /// Lets a thread continue with an overlong step, without blocking others.
    fn overran(self: &Arc<Self>, step: &Step) {
        let mut place = step.place.lock();
        if *place != Place::Runs {
            return;
        }
        let mut state = self.state.lock();
        let replaced = state.overrun < self.limits.overrun;
        state.overrun += 1;
        state.threads -= usize::from(replaced);
        *place = Place::Overran { replaced };
        let _ = self.staff(&mut state);
        OVERRUNS.fetch_add(1, Ordering::Relaxed);
        lower_priority(step.thread.load(Ordering::Relaxed));
    }
}

impl Step {
    fn new() -> Self {
        Self {
            zero: Instant::now(),
            began: AtomicU64::new(0),
            thread: AtomicU32::new(0),
            place: Mutex::new(Place::Waits),
        }
    }

    fn now(&self) -> u64 {
        self.zero.elapsed().as_millis() as u64 + 1
    }

    fn elapsed(&self) -> Duration {
        match self.began.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            began => Duration::from_millis(self.now().saturating_sub(began)),
        }
    }
}

/// Work that records the start and end of each of its steps.
struct Timed<W> {
    work: Pin<Box<W>>,
    step: Arc<Step>,
}

impl<W: Future> Future for Timed<W> {
    type Output = W::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<W::Output> {
        self.step.began.store(self.step.now(), Ordering::Relaxed);
        let outcome = self.work.as_mut().poll(context);
        self.step.began.store(0, Ordering::Relaxed);
        outcome
    }
}

fn too_long(limit: Duration) -> Error {
    Error::invalid(format!(
        "the statement takes longer than {} s to plan; make its expressions shorter or simpler",
        limit.as_secs().max(1)
    ))
}

fn busy() -> Error {
    Error::new(
        Code::ServiceUnavailable,
        "all threads that plan statements are busy with others that take long; send the request again \
         later",
    )
}

#[cfg(target_os = "linux")]
pub fn thread_number() -> u32 {
    // SAFETY: it has no arguments and cannot fail.
    u32::try_from(unsafe { libc::gettid() }).unwrap_or(0)
}

#[cfg(target_os = "linux")]
pub fn lower_priority(thread: u32) {
    const LOWEST: i32 = 19;
    if thread != 0 {
        // SAFETY: it only takes numbers. A thread keeps its number until it ends, and one within a step has not ended;
        // a failure leaves the priority unchanged.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, LOWEST) };
    }
}

#[cfg(not(target_os = "linux"))]
pub fn thread_number() -> u32 {
    0
}

#[cfg(not(target_os = "linux"))]
pub fn lower_priority(_thread: u32) {}

#[cfg(test)]
#[path = "planning_tests.rs"]
mod tests;
