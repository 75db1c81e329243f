//! The lock of a change of rows, and the memory for it.
//!
//! Updates, deletes and short merges of a table take a lock, and each reserves memory. No request waits for one of the
//! two while it holds the other. A wait for memory under the lock would delay all later changes; a wait for the lock
//! with reserved memory would withhold unused memory from others, also of other tables. So a change that has the lock
//! either reserves free memory at once or releases the lock, and a change that waited for memory either takes a free
//! lock at once or releases the memory. The total wait for memory has the same limit as for other requests.
//!
//! The rows of a short merge are in memory while it waits for either: [`Memory::take_holding`] ensures that such rows
//! never occupy all memory. A job reserves its memory before it waits for any lock. Commits take a separate lock
//! ([`CommitLock`](crate::commit::CommitLock)) after all that, and wait for no memory.
//!
//! [`Memory::take_holding`]: crate::memory::Memory::take_holding

use std::sync::Arc;

use lance::Dataset;
use tokio::sync::MutexGuard;

use super::Table;
use super::idempotency::Earlier;
use crate::error::Result;
use crate::memory::{Reservation, Use};
use crate::schema::Evaluation;

/// How a request to change rows begins.
pub(super) enum Begun<'a> {
    /// An earlier attempt made the change.
    Before(Box<Earlier>),
    Now(Change<'a>),
}

/// The right to change rows.
pub(super) struct Change<'a> {
    /// The newest version.
    pub dataset: Arc<Dataset>,
    /// Dropped before the lock, so that it is free for the next change.
    _memory: Option<Reservation>,
    _lock: Option<MutexGuard<'a, ()>>,
}

impl Table {
    /// Waits for the lock and for memory. `held`: bytes of rows that wait with it; `computed`: the size of the results
    /// of the change's expressions over the rows of a version.
    pub(super) async fn begin_change(
        &self,
        held: usize,
        computed: impl Fn(&Dataset) -> Option<Evaluation>,
    ) -> Result<Begun<'_>> {
        let memory = self.tables().memory();
        let mut patience = memory.patience();
        let mut lock = self.handle.changing.lock().await;
        let mut kept = None;
        loop {
            if let Some(earlier) = self.earlier().await? {
                return Ok(Begun::Before(Box::new(earlier)));
            }
            let dataset = self.changeable().await?;
            let bytes = self.bytes_of_change(&dataset, computed(&dataset))?;
            if let Some(taken) = kept.take().or_else(|| memory.try_take(Use::Change, bytes)) {
                return Ok(Begun::Now(Change {
                    dataset,
                    _memory: Some(taken),
                    _lock: Some(lock),
                }));
            }
            drop(lock);
            let wait = memory.take_holding(held, &mut patience, Use::Change, bytes);
            let taken = wait.await?;
            lock = match self.handle.changing.try_lock() {
                Ok(lock) => {
                    kept = Some(taken);
                    lock
                }
                Err(_) => {
                    drop(taken);
                    self.handle.changing.lock().await
                }
            };
        }
    }

    /// Waits only for the lock: for a change that writes no rows.
    pub(super) async fn begin_without_memory(&self) -> Result<Change<'_>> {
        let lock = self.handle.changing.lock().await;
        Ok(Change {
            dataset: self.changeable().await?,
            _memory: None,
            _lock: Some(lock),
        })
    }

    /// Waits only for memory: for a change whose duration depends on its client.
    pub(super) async fn begin_beside_others(
        &self,
        computed: impl Fn(&Dataset) -> Option<Evaluation>,
    ) -> Result<Begun<'_>> {
        if let Some(earlier) = self.earlier().await? {
            return Ok(Begun::Before(Box::new(earlier)));
        }
        let dataset = self.changeable().await?;
        Ok(Begun::Now(Change {
            _memory: Some(self.memory_for_change(&dataset, computed(&dataset)).await?),
            dataset,
            _lock: None,
        }))
    }
}
