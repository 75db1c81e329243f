//! Changes that lose all the time to the commits of other processes.
//!
//! Of two processes that commit to one table, the faster one commits first. A change of the schema takes longer than an
//! insert, and always loses to a process that inserts continuously. An insert that has lost waits before its next
//! attempt, longer each time, and then loses too. The engine cannot reach the other process, so it lists the branches
//! with such a change; the server asks the other one to pause its commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a change loses before it starves.
const PATIENCE: Duration = Duration::from_millis(500);

/// The number of starving changes of one branch. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Starvation(Arc<AtomicUsize>);

impl Starvation {
    /// Whether a change starves.
    pub fn is_there(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// The losses of one change, which ends when they are dropped.
    pub fn losses(&self) -> Losses {
        Losses {
            starvation: self.clone(),
            first: None,
            is_starving: false,
        }
    }
}

/// The lost commits of one change.
#[derive(Debug)]
pub(crate) struct Losses {
    starvation: Starvation,
    first: Option<Instant>,
    is_starving: bool,
}

impl Losses {
    /// Another commit came first.
    pub fn add(&mut self) {
        self.add_at(Instant::now());
    }

    fn add_at(&mut self, now: Instant) {
        let first = *self.first.get_or_insert(now);
        if !self.is_starving && now.duration_since(first) > PATIENCE {
            self.is_starving = true;
            self.starvation.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Losses {
    fn drop(&mut self) {
        if self.is_starving {
            self.starvation.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_starves_when_it_has_lost_for_some_time() {
        let starvation = Starvation::default();
        let mut losses = starvation.losses();
        let first = Instant::now();
        losses.add_at(first);
        losses.add_at(first + PATIENCE);
        assert!(!starvation.is_there());
        losses.add_at(first + 2 * PATIENCE);
        assert!(starvation.is_there());
    }

    #[test]
    fn a_branch_starves_until_its_last_starving_change_ends() {
        let starvation = Starvation::default();
        let [one, other] = [(); 2].map(|()| {
            let mut losses = starvation.losses();
            let first = Instant::now();
            losses.add_at(first);
            losses.add_at(first + 2 * PATIENCE);
            losses.add_at(first + 3 * PATIENCE);
            losses
        });
        drop(one);
        assert!(starvation.is_there());
        drop(starvation.losses());
        assert!(starvation.is_there());
        drop(other);
        assert!(!starvation.is_there());
    }
}
