//! Changes that repeatedly lose to the commits of other processes.
//!
//! Of two processes that commit to one table, the faster one commits first. A change of the schema takes longer than an
//! insert, and always loses to a process that inserts continuously. The engine cannot reach the other process, so it
//! lists the branches with such a change; the server asks the other one to [pause its
//! commits](super::Table::pause_commits).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::version_pins::Place;

/// The branches with losing changes, and the number of these. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct StarvedChanges(Arc<Mutex<HashMap<Place, usize>>>);

/// Registers a losing change until it is dropped.
pub(super) struct Losing {
    starved_changes: StarvedChanges,
    place: Place,
}

impl StarvedChanges {
    pub(super) fn add(&self, place: &Place) -> Losing {
        *self.0.lock().entry(place.clone()).or_default() += 1;
        Losing {
            starved_changes: self.clone(),
            place: place.clone(),
        }
    }

    pub fn places(&self) -> Vec<Place> {
        self.0.lock().keys().cloned().collect()
    }
}

impl Drop for Losing {
    fn drop(&mut self) {
        let mut places = self.starved_changes.0.lock();
        if let Some(count) = places.get_mut(&self.place) {
            *count -= 1;
            if *count == 0 {
                places.remove(&self.place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_listed_as_long_as_one_of_its_changes_starves() {
        let starved_changes = StarvedChanges::default();
        let place = Place {
            location: "/t.lance".into(),
            branch: Some("b".into()),
        };
        let one = starved_changes.add(&place);
        let other = starved_changes.add(&place);
        drop(one);
        assert!(starved_changes.places() == [place]);
        drop(other);
        assert!(starved_changes.places().is_empty());
    }
}
