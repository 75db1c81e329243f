//! Plans what clients ask in SQL, on threads of their own.
//!
//! Reading, simplifying and planning an expression is one step of computation that nothing can interrupt. On
//! an engine thread a step of minutes would hold up the queries of others, two of them all queries on
//! two cores. So plans are made here: on few threads, with a large stack, each for a limited time. A client
//! whose plan takes longer gets an error; the thread goes on with low priority until the step ends, and
//! another one takes its place.
//!
//! What a plan waits for (files, a store) happens on the engine's threads as ever and does not count.

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

use crate::error::{Code, Error, Result};

/// Stack of a planning thread, bytes. The address space is taken at once, memory as it is used.
const STACK: usize = 64 << 20;
/// Threads where there are few cores. Most of the time of a plan on a remote store is waiting for it.
const LEAST_THREADS: usize = 16;
/// Threads that go on with a step after its time, beside the others. With more of them there are fewer of the
/// others.
const MOST_OVERRUN: usize = 8;
/// How long a step of a plan may take.
const STEP: Duration = Duration::from_secs(5);
/// How long a plan waits for a thread.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a thread waits for the next plan.
const IDLE: Duration = Duration::from_secs(10);

/// Runs work that plans on a planning thread. Dropping the future drops the work after its current step.
///
/// Code 13 when a step takes too long; code 17 when no thread is free for it.
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
    THREADS.run(work).await
}

/// Plans that took too long, since the start.
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
    /// A plan is in the queue.
    queued: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Plan>,
    /// Threads that are there, but for those that go on after their time.
    threads: usize,
    /// Of these, those that wait for a plan.
    idle: usize,
    overrun: usize,
}

struct Plan {
    work: Pin<Box<dyn Future<Output = ()> + Send>>,
    runtime: Handle,
    step: Arc<Step>,
}

/// The step that a plan is in.
struct Step {
    zero: Instant,
    /// When it began, in milliseconds after `zero`; 0: there is none.
    began: AtomicU64,
    /// The system's number of its thread; 0: it has none yet.
    thread: AtomicU32,
    /// What has become of the thread's place.
    place: Mutex<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Waits,
    Runs,
    /// It has taken too long. `replaced`: another thread may have its place.
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
        let (mut tell, told) = oneshot::channel();
        let step = Arc::new(Step::new());
        let timed = Timed {
            work: Box::pin(work),
            step: step.clone(),
        };
        let work = async move {
            let outcome = {
                let closed = pin!(tell.closed());
                // Checks first whether the caller still waits: a plan may have been in the queue for long.
                match select(closed, AssertUnwindSafe(timed).catch_unwind()).await {
                    Either::Left(_) => return,
                    Either::Right((outcome, _)) => outcome,
                }
            };
            let _ = tell.send(outcome);
        };
        self.begin(Plan {
            work: Box::pin(work),
            runtime: Handle::current(),
            step: step.clone(),
        })?;
        self.outcome(told, &step).await
    }

    /// Waits for a plan, as long as its steps take no longer than they may.
    async fn outcome<T>(&self, mut told: oneshot::Receiver<Outcome<T>>, step: &Step) -> Result<T> {
        let limits = self.0.limits;
        let asked = Instant::now();
        loop {
            let look = tokio::time::sleep(limits.step / 8);
            match select(&mut told, pin!(look)).await {
                Either::Left((Ok(Ok(outcome)), _)) => return outcome,
                Either::Left((Ok(Err(panic)), _)) => resume_unwind(panic),
                Either::Left((Err(gone), _)) => {
                    return Err(Error::internal("a plan was given up", gone));
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

    fn begin(&self, plan: Plan) -> Result<()> {
        let mut state = self.0.state.lock();
        state.queue.push_back(plan);
        self.0.queued.notify_one();
        match self.0.staff(&mut state) {
            // Those that are there do it in turn.
            Err(error) if state.threads == 0 => {
                state.queue.pop_back();
                Err(Error::internal("no thread could be begun", error))
            }
            _ => Ok(()),
        }
    }
}

type Outcome<T> = std::result::Result<Result<T>, Box<dyn Any + Send>>;

impl Shared {
    /// Begins a thread for each plan that no idle one takes, as far as there may be more.
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

    /// What a thread does.
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
                // Its priority is low for good: another thread does what waits. Where none can be begun, the
                // next plan tries again.
                let _ = self.staff(&mut state);
                return;
            }
            *place = Place::Ended;
        }
    }

    /// The next plan; `None` when there was none for a while, and the thread is not counted any more.
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

    /// Lets a thread go on with a step that takes too long, without holding up others.
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

/// Work that says when each of its steps begins and ends.
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
    // SAFETY: it has no arguments and can't fail.
    u32::try_from(unsafe { libc::gettid() }).unwrap_or(0)
}

#[cfg(target_os = "linux")]
pub fn lower_priority(thread: u32) {
    const LOWEST: i32 = 19;
    if thread != 0 {
        // SAFETY: it takes numbers only. A thread keeps its number until it has ended, and one in a step has
        // not; a failure leaves the priority as it is.
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
