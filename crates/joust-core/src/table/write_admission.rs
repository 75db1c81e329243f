//! The turn of a change of rows, and the memory that it works with.
//!
//! Updates, deletes and short merges of a table take turns, and each takes memory. Nobody waits for the one
//! while it holds the other. Who waited for memory in its turn would hold up all who come after it, one
//! after the other; who waited for its turn with the memory of its work would keep from others, of other
//! tables too, what it can't use yet. So whoever has the turn takes what memory is there at once or gives
//! the turn back, and whoever has waited for memory takes a turn that is free at once or gives the memory
//! back. Waiting for memory takes no longer in all than it takes other requests.
//!
//! The rows of a short merge are in memory while it waits for either: [`Memory::take_holding`] sees to it
//! that such rows never take all there is. A job has its memory before it waits for any turn. Commits take
//! turns of their own ([`CommitLock`](crate::commit::CommitLock)) after all that, and wait for no memory.
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
    /// An earlier attempt has made the change.
    Before(Box<Earlier>),
    Now(Change<'a>),
}

/// The right to change rows.
pub(super) struct Change<'a> {
    /// The newest version.
    pub dataset: Arc<Dataset>,
    /// Given back before the turn, so that it is there for whoever comes next.
    _memory: Option<Reservation>,
    _turn: Option<MutexGuard<'a, ()>>,
}

impl Table {
    /// Waits for the turn and for memory. `held`: bytes of rows that wait with it; `computed`: what the
    /// expressions of the change make of a version's rows.
    pub(super) async fn begin_change(
        &self,
        held: usize,
        computed: impl Fn(&Dataset) -> Option<Evaluation>,
    ) -> Result<Begun<'_>> {
        let memory = self.tables().memory();
        let mut patience = memory.patience();
        let mut turn = self.handle.changing.lock().await;
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
                    _turn: Some(turn),
                }));
            }
            drop(turn);
            let wait = memory.take_holding(held, &mut patience, Use::Change, bytes);
            let taken = wait.await?;
            turn = match self.handle.changing.try_lock() {
                Ok(turn) => {
                    kept = Some(taken);
                    turn
                }
                Err(_) => {
                    drop(taken);
                    self.handle.changing.lock().await
                }
            };
        }
    }

    /// Waits for the turn alone: for a change that writes no rows.
    pub(super) async fn begin_without_memory(&self) -> Result<Change<'_>> {
        let turn = self.handle.changing.lock().await;
        Ok(Change {
            dataset: self.changeable().await?,
            _memory: None,
            _turn: Some(turn),
        })
    }

    /// Waits for memory alone: for a change that takes as long as its client sends.
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
            _turn: None,
        }))
    }
}
