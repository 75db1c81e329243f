//! The blocking executor: runs work with many short blocking steps on one thread.
//!
//! A commit is many short steps, each of which needs the one before. If each step that waits for a disk runs on
//! a blocking thread and its continuation on the next free thread, the changes of threads take more processor
//! time than the steps. Here the whole work runs on one blocking thread.

use std::cell::Cell;
use std::future::Future;
use std::io::{Error, Result};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};
use tracing::Instrument;

/// Most blocking threads of a runtime that this executor uses. The runtime needs more than these, because steps
/// of such work wait for other blocking threads.
pub const MAX_COMMIT_WORKERS: usize = 8;

static THREADS: Semaphore = Semaphore::const_new(MAX_COMMIT_WORKERS);

thread_local! {
    /// This thread runs one piece of work and nothing else.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Runs work that waits for nothing longer than disks: on a thread of its own while there are some, else as a
/// task.
pub(crate) fn spawn_on_worker<W>(work: W) -> JoinHandle<W::Output>
where
    W: Future<Output: Send> + Send + 'static,
{
    spawn_on(&THREADS, work.in_current_span())
}

fn spawn_on<W>(threads: &'static Semaphore, work: W) -> JoinHandle<W::Output>
where
    W: Future<Output: Send> + Send + 'static,
{
    let Ok(thread) = threads.try_acquire() else {
        return tokio::spawn(work);
    };
    let runtime = Handle::current();
    spawn_blocking(move || {
        let _thread = thread;
        let _worker = WorkerGuard::begin();
        runtime.block_on(work)
    })
}

/// Runs a blocking step: on this thread if it is a worker, else on a blocking thread.
pub(crate) async fn step<T: Send + 'static>(
    step: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if IS_WORKER.get() {
        return step();
    }
    spawn_blocking(step).await.map_err(Error::other).flatten()
}

/// While it exists, the thread is a worker.
struct WorkerGuard;

impl WorkerGuard {
    fn begin() -> Self {
        IS_WORKER.set(true);
        Self
    }
}

impl Drop for WorkerGuard {
    fn drop(&mut self) {
        IS_WORKER.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread::{ThreadId, current};

    use futures::future::join_all;
    use tokio::runtime::Builder;
    use tokio::sync::Barrier;

    use super::*;

    async fn thread_of_a_step() -> ThreadId {
        step(|| Ok(current().id())).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn steps_are_done_on_the_thread_of_their_work() {
        static ONE: Semaphore = Semaphore::const_new(1);
        let work = spawn_on(&ONE, async {
            let first = thread_of_a_step().await;
            tokio::task::yield_now().await;
            (current().id(), first, thread_of_a_step().await)
        });
        let (own, first, second) = work.await.unwrap();
        assert_eq!((first, second), (own, own));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn steps_of_a_task_hold_up_no_other_tasks() {
        let task = tokio::spawn(async { (current().id(), thread_of_a_step().await) });
        let (own, step) = task.await.unwrap();
        assert_ne!(own, step);
    }

    /// The only blocking thread is no longer a worker for the next step.
    #[test]
    fn a_panic_ends_its_work_alone() {
        static ONE: Semaphore = Semaphore::const_new(1);
        let runtime = Builder::new_multi_thread().max_blocking_threads(1).build();
        runtime.unwrap().block_on(async {
            let panicked = spawn_on(&ONE, async { panic!("as the test wants") }).await;
            assert!(panicked.unwrap_err().is_panic());
            assert!(!spawn_blocking(|| IS_WORKER.get()).await.unwrap());
            let (own, step) = spawn_on(&ONE, async { (current().id(), thread_of_a_step().await) })
                .await
                .unwrap();
            assert_eq!(own, step);
        });
    }

    #[test]
    fn more_works_than_threads_progress_together() {
        static FEW: Semaphore = Semaphore::const_new(4);
        let runtime = Builder::new_multi_thread().max_blocking_threads(5).build();
        runtime.unwrap().block_on(async {
            let all = Arc::new(Barrier::new(20));
            let works = (0..20).map(|_| {
                let all = all.clone();
                spawn_on(&FEW, async move {
                    all.wait().await;
                    step(|| Ok(())).await.unwrap();
                    spawn_blocking(|| {}).await.unwrap();
                })
            });
            let ends = join_all(works).await;
            ends.into_iter().for_each(|end| end.unwrap());
            assert_eq!(FEW.available_permits(), 4);
        });
    }
}
