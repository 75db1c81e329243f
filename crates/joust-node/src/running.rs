//! Running queries, which are cancelled by their number.
//!
//! A [`Task`](crate::task::Task) would be one more object per query for the garbage collector; a number costs nothing
//! unless a client disconnects.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use futures::future::{AbortHandle, Abortable};
use joust_core::Result;
use joust_core::work::cancelled;
use napi_derive::napi;

/// The queries of all event loops of the process.
static RUNNING: LazyLock<Mutex<HashMap<u64, AbortHandle>>> = LazyLock::new(Mutex::default);

/// The same work, which a cancellation of its number drops.
pub fn guard<T, W: Future<Output = Result<T>>>(
    number: Option<f64>,
    work: W,
) -> impl Future<Output = Result<T>> {
    let (handle, registration) = AbortHandle::new_pair();
    let entry = number.map(|number| Entry::new(number as u64, handle));
    async move {
        let _entry = entry;
        let ended = Abortable::new(work, registration).await;
        ended.unwrap_or_else(|_| Err(cancelled()))
    }
}

/// Cancels the query with this number; no effect after it has ended.
#[cfg_attr(test, allow(dead_code))]
#[napi]
pub fn cancel_query(number: f64) {
    if let Some(handle) = running().get(&(number as u64)) {
        handle.abort();
    }
}

/// Running work.
struct Entry(u64);

impl Entry {
    fn new(number: u64, handle: AbortHandle) -> Self {
        running().insert(number, handle);
        Self(number)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        running().remove(&self.0);
    }
}

fn running() -> MutexGuard<'static, HashMap<u64, AbortHandle>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::pending;

    use super::*;

    #[test]
    fn work_ends_when_its_number_is_cancelled() {
        let mut work = Box::pin(guard(Some(7.0), pending::<Result<()>>()));
        let mut other = Box::pin(guard(Some(8.0), pending::<Result<()>>()));
        assert!((&mut work).now_or_never().is_none());
        cancel_query(7.0);
        cancel_query(9.0);
        assert!(
            (&mut work)
                .now_or_never()
                .is_some_and(|ended| ended.is_err())
        );
        assert!((&mut other).now_or_never().is_none());
    }

    #[test]
    fn work_that_has_ended_leaves_no_entry() {
        let done = guard(Some(17.0), async { Ok(3) });
        assert!(running().contains_key(&17));
        assert!(done.now_or_never().is_some_and(|ended| ended.is_ok()));
        assert!(!running().contains_key(&17));
        drop(guard(Some(18.0), pending::<Result<()>>()));
        assert!(!running().contains_key(&18));
    }
}
