//! Work that is begun on the thread that asks for it.
//!
//! An event loop that hands a question to another thread and is told of its end pays for two changes of
//! threads, which is more than looking into a manifest in memory takes. So a count is begun where it is
//! asked ([`begin`]): when everything it needs is at hand it is answered there and then. What could take
//! longer than such a change says so ([`elsewhere`]) and goes on on the engine's threads; so does what
//! waits for storage. Queries are not begun so: looking rows up, one thread answers fewer than two.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Work that may go on on another thread.
pub type Begun<T> = Pin<Box<dyn Future<Output = T> + Send>>;

thread_local! {
    static BEGINNING: Cell<bool> = const { Cell::new(false) };
}

/// Begins work on this thread: its outcome, or what is left of it, to be spawned.
///
/// To be called where the engine's runtime is entered.
///
/// # Errors
///
/// What is left, when the work wants to go on elsewhere or has to wait.
pub fn begin<T>(mut work: Begun<T>) -> Result<T, Begun<T>> {
    let _beginning = Beginning::here();
    // Who polls it next leaves a waker that is heard.
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Ok(outcome),
        Poll::Pending => Err(work),
    }
}

/// What follows takes longer than a change of threads: it is not done by the thread that began it.
pub(crate) async fn elsewhere() {
    let mut asked = false;
    poll_fn(|context| {
        if asked || !BEGINNING.get() {
            return Poll::Ready(());
        }
        asked = true;
        // Whoever polls parts of a whole by themselves hears that this one has more to do.
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Marks the thread while it begins work.
struct Beginning;

impl Beginning {
    fn here() -> Self {
        BEGINNING.set(true);
        Self
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        BEGINNING.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use futures::executor::block_on;
    use futures::stream::{FuturesUnordered, StreamExt};

    use super::*;

    #[test]
    fn what_is_at_hand_is_done_where_it_is_asked() {
        let here = thread::current().id();
        let work: Begun<_> = Box::pin(async { thread::current().id() });
        assert!(begin(work).is_ok_and(|ran| ran == here));
    }

    #[test]
    fn what_takes_long_goes_on_elsewhere_and_is_not_done_twice() {
        let work: Begun<_> = Box::pin(async {
            let began = thread::current().id();
            elsewhere().await;
            // Off the thread that began it nothing is held up.
            elsewhere().await;
            (began, thread::current().id())
        });
        let here = thread::current().id();
        let Err(rest) = begin(work) else {
            panic!("it did not leave");
        };
        let (began, ended) = thread::spawn(|| block_on(rest)).join().unwrap();
        assert_eq!(began, here);
        assert_ne!(ended, here);
    }

    #[test]
    fn parts_of_a_whole_go_on_too() {
        let work: Begun<_> = Box::pin(async {
            let parts: FuturesUnordered<_> = (0..3)
                .map(|part| async move {
                    elsewhere().await;
                    part
                })
                .collect();
            parts.collect::<Vec<i32>>().await.len()
        });
        let Err(rest) = begin(work) else {
            panic!("it did not leave");
        };
        assert_eq!(block_on(rest), 3);
    }
}
