//! Reserves and releases bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};
use tracing::{Instrument, info_span};

use super::Budget;
use crate::error::{Code, Error, Result};

/// How long a request waits for memory.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval of the attempts of a waiting job.
const JOB_INTERVAL: Duration = Duration::from_millis(100);
/// The largest single reservation: the semaphore counts with 32 bits.
const MOST: usize = u32::MAX as usize;

/// The purpose of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Upload,
    Query,
    Change,
    Job,
}

/// A number for each use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uses {
    pub uploads: u64,
    pub queries: u64,
    pub changes: u64,
    pub jobs: u64,
}

/// Current use of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub budget: Budget,
    /// Reserved bytes.
    pub taken: Uses,
    /// Waiting requests and jobs.
    pub waiting: u64,
    /// Requests that were rejected with code 21, since the start.
    pub refused: u64,
}

/// The pool of a budget from which requests and jobs reserve. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct Memory(Arc<Pool>);

struct Pool {
    budget: Budget,
    free: Semaphore,
    taken: [AtomicUsize; 4],
    waiting: AtomicUsize,
    /// Bytes that waiting requests hold meanwhile.
    held: AtomicUsize,
    refused: AtomicU64,
    patience: Duration,
}

/// The total time that a request may wait for memory.
pub struct Patience(Duration);

impl Memory {
    pub fn new(budget: Budget) -> Self {
        Self::with_patience(budget, PATIENCE)
    }

    fn with_patience(budget: Budget, patience: Duration) -> Self {
        Self(Arc::new(Pool {
            budget,
            free: Semaphore::new(budget.work),
            taken: Default::default(),
            waiting: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            patience,
        }))
    }

    pub fn budget(&self) -> &Budget {
        &self.0.budget
    }

    /// Reserves free memory at once, unless a request waits for it.
    pub fn try_take(&self, purpose: Use, bytes: usize) -> Option<Reservation> {
        let permits = self.permits(bytes);
        let permit = self.0.free.try_acquire_many(permits).ok()?;
        Some(self.reservation(purpose, permit))
    }

    /// Reserves memory for a request, first in, first out. Code 21 if others hold it for too long. A larger reservation
    /// than the pool is reduced to the whole pool.
    pub async fn take(&self, purpose: Use, bytes: usize) -> Result<Reservation> {
        self.take_holding(0, &mut self.patience(), purpose, bytes)
            .await
    }

    /// The wait limit of a new request.
    pub fn patience(&self) -> Patience {
        Patience(self.0.patience)
    }

    /// The same for a request that already holds this many bytes and keeps them while it waits. If there are several,
    /// such requests hold at most half of the pool: with more they would only wait for one another.
    pub async fn take_holding(
        &self,
        held: usize,
        patience: &mut Patience,
        purpose: Use,
        bytes: usize,
    ) -> Result<Reservation> {
        if let Some(taken) = self.try_take(purpose, bytes) {
            return Ok(taken);
        }
        let waiting = Waiting::holding(&self.0, held);
        if waiting.is_none() || patience.0.is_zero() {
            return Err(self.refused());
        }
        let began = Instant::now();
        let wanted = self.0.free.acquire_many(self.permits(bytes));
        let taken = tokio::time::timeout(patience.0, wanted)
            .instrument(info_span!("wait for memory"))
            .await;
        patience.0 = patience.0.saturating_sub(began.elapsed());
        match taken {
            Ok(Ok(permit)) => Ok(self.reservation(purpose, permit)),
            _ => Err(self.refused()),
        }
    }

    fn refused(&self) -> Error {
        self.0.refused.fetch_add(1, Ordering::Relaxed);
        Error::new(
            Code::Throttling,
            "other requests hold the memory that this one needs; send it again later, or fewer at the \
             same time",
        )
    }

    /// Reserves memory for a job, without a time limit. Requests do not queue behind it.
    pub async fn take_for_job(&self, bytes: usize) -> Reservation {
        let mut waiting = None;
        loop {
            if let Some(taken) = self.try_take(Use::Job, bytes) {
                return taken;
            }
            waiting.get_or_insert_with(|| Waiting::new(&self.0));
            tokio::time::sleep(JOB_INTERVAL).await;
        }
    }

    pub fn usage(&self) -> Usage {
        let taken = |purpose: Use| self.0.taken[purpose as usize].load(Ordering::Relaxed) as u64;
        Usage {
            budget: self.0.budget,
            taken: Uses {
                uploads: taken(Use::Upload),
                queries: taken(Use::Query),
                changes: taken(Use::Change),
                jobs: taken(Use::Job),
            },
            waiting: self.0.waiting.load(Ordering::Relaxed) as u64,
            refused: self.0.refused.load(Ordering::Relaxed),
        }
    }

    fn permits(&self, bytes: usize) -> u32 {
        bytes.min(self.0.budget.work).min(MOST) as u32
    }

    fn reservation(&self, purpose: Use, permit: SemaphorePermit<'_>) -> Reservation {
        let bytes = permit.num_permits();
        // The reservation releases them.
        permit.forget();
        self.0.taken[purpose as usize].fetch_add(bytes, Ordering::Relaxed);
        Reservation {
            bytes,
            purpose,
            pool: self.0.clone(),
        }
    }
}

/// Counts a waiting request and the bytes that it holds.
struct Waiting<'a> {
    pool: &'a Pool,
    held: usize,
}

impl<'a> Waiting<'a> {
    fn new(pool: &'a Pool) -> Self {
        pool.waiting.fetch_add(1, Ordering::Relaxed);
        Self { pool, held: 0 }
    }

    /// `None` if waiting requests would hold too much.
    fn holding(pool: &'a Pool, held: usize) -> Option<Self> {
        let mut waiting = Self::new(pool);
        waiting.held = held;
        let others = pool.held.fetch_add(held, Ordering::Relaxed);
        (held == 0 || others == 0 || others + held <= pool.budget.work / 2).then_some(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pool.waiting.fetch_sub(1, Ordering::Relaxed);
        self.pool.held.fetch_sub(self.held, Ordering::Relaxed);
    }
}

/// Bytes that are reserved until this is dropped.
pub struct Reservation {
    bytes: usize,
    purpose: Use,
    pool: Arc<Pool>,
}

impl Reservation {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds another reservation for the same purpose.
    pub fn merge(&mut self, mut other: Self) {
        debug_assert!(self.purpose == other.purpose, "they are of one use");
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Splits off a part, at most all.
    pub fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self {
            bytes,
            purpose: self.purpose,
            pool: self.pool.clone(),
        }
    }

    /// Releases all but this many bytes.
    pub fn shrink(&mut self, bytes: usize) {
        drop(self.split(self.bytes.saturating_sub(bytes)));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.pool.taken[self.purpose as usize].fetch_sub(self.bytes, Ordering::Relaxed);
        self.pool.free.add_permits(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn memory(work: usize) -> Memory {
        let budget = Budget {
            work,
            ..Budget::new(1 << 30, None, None, None)
        };
        Memory::with_patience(budget, Duration::from_millis(20))
    }

    #[tokio::test]
    async fn released_memory_can_be_reserved_again() {
        let memory = memory(100);
        let mut first = memory.try_take(Use::Upload, 60).unwrap();
        assert!(memory.try_take(Use::Query, 41).is_none());
        let part = first.split(25);
        drop(first);
        assert_eq!((part.bytes(), memory.usage().taken.uploads), (25, 25));
        let mut second = memory.try_take(Use::Upload, 75).unwrap();
        second.merge(part);
        second.shrink(10);
        assert_eq!(memory.usage().taken.uploads, 10);
        drop(second);
        assert_eq!(memory.usage().taken, Uses::default());
        assert!(memory.try_take(Use::Job, 100).is_some());
    }

    #[tokio::test]
    async fn a_request_waits_and_is_then_refused() {
        let memory = memory(100);
        let held = memory.try_take(Use::Upload, 100).unwrap();
        let refused = memory.take(Use::Query, 1).await.err().unwrap();
        assert_eq!(refused.code(), Code::Throttling);
        let usage = memory.usage();
        assert_eq!((usage.waiting, usage.refused), (0, 1));
        let (taken, ()) = tokio::join!(memory.take(Use::Query, 1), async { drop(held) });
        assert_eq!(taken.unwrap().bytes(), 1);
    }

    #[tokio::test]
    async fn a_request_waits_no_longer_in_several_pieces_than_in_one() {
        let memory = memory(100);
        let mut patience = memory.patience();
        let held = memory.try_take(Use::Upload, 100).unwrap();
        let wait = memory.take_holding(0, &mut patience, Use::Change, 1);
        assert!(wait.await.is_err());
        let wait = memory.take_holding(0, &mut patience, Use::Change, 1);
        let (refused, ()) = tokio::join!(wait, async { drop(held) });
        assert_eq!(refused.err().unwrap().code(), Code::Throttling);
        // Free memory needs no wait.
        let taken = memory.take_holding(0, &mut patience, Use::Change, 1);
        assert_eq!(taken.await.unwrap().bytes(), 1);
    }

    #[tokio::test]
    async fn requests_that_hold_memory_while_they_wait_cannot_hold_all_of_it() {
        let memory = Memory::with_patience(*memory(100).budget(), Duration::from_secs(60));
        let rows = [40, 30].map(|bytes| memory.try_take(Use::Upload, bytes).unwrap());
        let [first, second] = rows.map(|rows| {
            let memory = memory.clone();
            async move {
                let mut patience = memory.patience();
                let wanted = memory.take_holding(rows.bytes(), &mut patience, Use::Change, 60);
                wanted.await.map(|taken| taken.bytes())
            }
        });
        let mut first = Box::pin(first);
        assert!(futures::poll!(first.as_mut()).is_pending());
        let second = second.now_or_never().expect("it does not wait");
        assert_eq!(second.unwrap_err().code(), Code::Throttling);
        // The first one lacked the rows of the second one.
        assert_eq!(first.await.unwrap(), 60);
        assert_eq!(memory.usage().taken, Uses::default());
    }

    #[tokio::test]
    async fn a_job_waits_as_long_as_it_takes_and_holds_up_no_request() {
        let memory = memory(100);
        let held = memory.try_take(Use::Upload, 50).unwrap();
        let job = tokio::spawn({
            let memory = memory.clone();
            async move { memory.take_for_job(100).await.bytes() }
        });
        while memory.usage().waiting == 0 {
            tokio::task::yield_now().await;
        }
        assert!(memory.try_take(Use::Query, 50).is_some());
        drop(held);
        assert_eq!(job.await.unwrap(), 100);
    }

    #[tokio::test]
    async fn a_request_for_more_than_the_budget_gets_the_whole_budget() {
        let memory = memory(100);
        assert_eq!(memory.take(Use::Change, 1_000).await.unwrap().bytes(), 100);
    }
}
