use std::sync::atomic::AtomicBool;
use std::thread::{current, sleep};

use super::*;

const STEP: Duration = Duration::from_millis(200);

fn threads(threads: usize, overrun: usize) -> Threads {
    threads_with(STEP, threads, overrun)
}

fn threads_with(step: Duration, threads: usize, overrun: usize) -> Threads {
    Threads::new(Limits {
        threads,
        overrun,
        step,
        patience: Duration::from_millis(400),
    })
}

/// A plan whose step runs until it is stopped.
struct Endless(Arc<AtomicBool>);

impl Endless {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn step(&self) -> impl Future<Output = Result<()>> + Send + 'static {
        let ends = self.0.clone();
        async move {
            while !ends.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(1));
            }
            Ok(())
        }
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn eventually(is_true: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_true() {
        assert!(began.elapsed() < Duration::from_secs(20), "it never comes");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_made_on_a_thread_of_its_own() {
    let threads = threads(2, 1);
    let name = async || {
        let name = threads.run(async { Ok(current().name().map(str::to_string)) });
        name.await.unwrap().unwrap()
    };
    assert_eq!(name().await, "joust-plan");
    // The caller has the outcome before the thread waits for the next plan.
    eventually(|| threads.0.state.lock().idle == 1).await;
    assert_eq!(name().await, "joust-plan");
    assert_eq!(threads.0.state.lock().threads, 1);
    let failed = threads
        .run(async { Err::<(), _>(Error::invalid("no")) })
        .await;
    assert_eq!(failed.unwrap_err().message(), "no");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_takes_too_long_is_an_error_and_holds_up_no_other_plan() {
    let threads = threads(1, 1);
    let endless = Endless::new();
    let error = threads.run(endless.step()).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidInput);
    assert!(error.message().contains("to plan"), "{error}");
    assert_eq!(threads.run(async { Ok(7) }).await.unwrap(), 7);
    assert_eq!(threads.0.state.lock().overrun, 1);
    drop(endless);
    eventually(|| threads.0.state.lock().overrun == 0).await;
    assert_eq!(threads.0.state.lock().threads, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_step_holds_up_no_other_plan_after_its_caller_has_left() {
    let threads = threads_with(Duration::from_secs(2), 1, 1);
    let endless = Endless::new();
    let has_begun = Arc::new(AtomicBool::new(false));
    let (begun, step, own) = (has_begun.clone(), endless.step(), threads.clone());
    let caller = tokio::spawn(async move {
        let work = async move {
            begun.store(true, Ordering::Relaxed);
            step.await
        };
        own.run(work).await
    });
    eventually(|| has_begun.load(Ordering::Relaxed)).await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    eventually(|| threads.0.state.lock().overrun == 1).await;
    assert_eq!(threads.run(async { Ok(7) }).await.unwrap(), 7);
    drop(endless);
    eventually(|| threads.0.state.lock().overrun == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_a_free_thread_is_refused_as_unavailable() {
    let threads = threads(1, 1);
    let endless = [Endless::new(), Endless::new()];
    for endless in &endless {
        assert!(threads.run(endless.step()).await.is_err());
    }
    // No other thread gets the slot of the second one.
    let error = threads.run(async { Ok(7) }).await.unwrap_err();
    assert_eq!(error.code(), Code::ServiceUnavailable);
    drop(endless);
    eventually(|| threads.0.state.lock().overrun == 0).await;
    assert_eq!(threads.run(async { Ok(7) }).await.unwrap(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn time_in_an_await_is_no_part_of_a_step() {
    let threads = threads(2, 1);
    let waits = threads.run(async {
        tokio::time::sleep(3 * STEP).await;
        Ok(3)
    });
    assert_eq!(waits.await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_dropped_with_its_caller() {
    let threads = threads(1, 1);
    let held = Arc::new(());
    let (begun, has_begun) = oneshot::channel();
    let work = {
        let held = held.clone();
        async move {
            let _held = held;
            let _ = begun.send(());
            std::future::pending::<Result<()>>().await
        }
    };
    let mut waits = Box::pin(threads.run(work));
    assert!(futures::poll!(&mut waits).is_pending());
    has_begun.await.unwrap();
    drop(waits);
    eventually(|| Arc::strong_count(&held) == 1).await;
    assert_eq!(threads.run(async { Ok(7) }).await.unwrap(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_reaches_the_caller_and_the_thread_makes_the_next_plan() {
    // With RUST_BACKTRACE the panic prints a backtrace within the step, which takes longer than `STEP`.
    let threads = threads_with(Duration::from_secs(60), 1, 1);
    let panicked = AssertUnwindSafe(threads.run(async { panic!("as the test wants") }));
    let panic: Outcome<()> = panicked.catch_unwind().await;
    assert!(panic.is_err());
    assert_eq!(threads.run(async { Ok(7) }).await.unwrap(), 7);
    assert_eq!(threads.0.state.lock().threads, 1);
}
