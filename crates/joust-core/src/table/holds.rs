//! Who needs an old version, and who removes it.
//!
//! A tag, a branch, a restored version or a copy names files of the version that it was made from, and is
//! seen by others only once it is there. Whoever makes one holds the version meanwhile. Whoever removes
//! versions says so before it looks who names them, and decides then once and for all which ones go: none
//! that was held since. From then on nobody gets hold of these, and of all others everybody does at once, so
//! that neither waits for the other, however long a removal takes.
//!
//! What is read is known too: whoever answers from a version keeps the dataset that it was given, and a
//! clean-up leaves the version alone until nobody does any more. Only what was opened is counted, so that a
//! query costs nothing here.
//!
//! All this is of one process. One that removes versions asks the others first, and each of them answers as
//! if it removed them itself.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use lance::Dataset;
use parking_lot::Mutex;

use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};

/// A table's location and its branch; `None` is the main one.
pub(crate) type Place = (String, Option<String>);

/// The versions of an engine's tables that are held or being removed.
#[derive(Clone, Default)]
pub(crate) struct Holds(Arc<Mutex<HashMap<Place, Held>>>);

/// What goes on at one table's branch.
#[derive(Default)]
struct Held {
    /// A version as often as it is held.
    versions: Vec<u64>,
    /// What was opened, as long as somebody has it.
    read: Vec<(u64, Weak<Dataset>)>,
    removals: HashMap<u64, Removing>,
}

impl Held {
    fn is_doomed(&self, version: u64) -> bool {
        let mut removals = self.removals.values();
        removals.any(|removal| removal.doomed.contains(&version))
    }

    /// Forgets what nobody reads any more.
    fn forget_read(&mut self) {
        self.read.retain(|(_, dataset)| dataset.strong_count() > 0);
    }

    fn is_idle(&self) -> bool {
        self.versions.is_empty() && self.read.is_empty() && self.removals.is_empty()
    }
}

#[derive(Default)]
struct Removing {
    /// Versions that were held since it began.
    spared: HashSet<u64>,
    doomed: HashSet<u64>,
}

/// A version that is not removed while this is there.
pub(crate) struct Hold {
    holds: Holds,
    place: Place,
    version: u64,
}

/// A removal of versions, which ends when this is dropped.
pub(crate) struct Removal {
    holds: Holds,
    place: Place,
    id: u64,
}

static NEXT_REMOVAL: AtomicU64 = AtomicU64::new(0);

impl Holds {
    /// `None` when the version is being removed. It may not be there at all.
    fn hold(&self, place: Place, version: u64) -> Option<Hold> {
        let mut all = self.0.lock();
        let here = all.entry(place.clone()).or_default();
        if here.is_doomed(version) {
            return None;
        }
        for removal in here.removals.values_mut() {
            removal.spared.insert(version);
        }
        here.versions.push(version);
        Some(Hold {
            holds: self.clone(),
            place,
            version,
        })
    }

    /// The dataset's version is read until the dataset is dropped; `false` when it is being removed.
    pub fn read(&self, place: Place, dataset: &Arc<Dataset>) -> bool {
        let version = dataset.version_id();
        let mut all = self.0.lock();
        // Now and then: most are of tables that are open.
        if all.len() == all.capacity() {
            all.retain(|_, here| {
                here.forget_read();
                !here.is_idle()
            });
        }
        let here = all.entry(place).or_default();
        if here.is_doomed(version) {
            return false;
        }
        here.forget_read();
        here.read.push((version, Arc::downgrade(dataset)));
        true
    }

    fn remove(&self, place: Place) -> Removal {
        let id = NEXT_REMOVAL.fetch_add(1, Ordering::Relaxed);
        let mut all = self.0.lock();
        let here = all.entry(place.clone()).or_default();
        let removing = Removing {
            spared: here.versions.iter().copied().collect(),
            doomed: HashSet::new(),
        };
        here.removals.insert(id, removing);
        Removal {
            holds: self.clone(),
            place,
            id,
        }
    }

    /// Takes something back at a place, and forgets the place once nothing goes on there.
    fn leave(&self, place: &Place, leave: impl FnOnce(&mut Held)) {
        let mut all = self.0.lock();
        if let Some(here) = all.get_mut(place) {
            leave(here);
            here.forget_read();
            if here.is_idle() {
                all.remove(place);
            }
        }
    }
}

impl Removal {
    /// Which of these versions go: those that nobody has held since the removal began.
    pub fn doom(&self, versions: impl IntoIterator<Item = u64>) -> HashSet<u64> {
        self.doom_but(versions, |_| HashSet::new())
    }

    /// As [`doom`](Self::doom), without those that are read.
    pub fn doom_unread(&self, versions: impl IntoIterator<Item = u64>) -> HashSet<u64> {
        self.doom_but(versions, |here| {
            here.forget_read();
            here.read.iter().map(|(version, _)| *version).collect()
        })
    }

    fn doom_but(
        &self,
        versions: impl IntoIterator<Item = u64>,
        spared: impl FnOnce(&mut Held) -> HashSet<u64>,
    ) -> HashSet<u64> {
        let mut all = self.holds.0.lock();
        let Some(here) = all.get_mut(&self.place) else {
            return HashSet::new();
        };
        let more = spared(here);
        let Some(own) = here.removals.get_mut(&self.id) else {
            return HashSet::new();
        };
        let versions = versions.into_iter();
        own.doomed = versions
            .filter(|version| !own.spared.contains(version) && !more.contains(version))
            .collect();
        own.doomed.clone()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.holds.leave(&self.place, |here| {
            let own = here.versions.iter().position(|held| *held == self.version);
            if let Some(own) = own {
                here.versions.swap_remove(own);
            }
        });
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        self.holds.leave(&self.place, |here| {
            here.removals.remove(&self.id);
        });
    }
}

impl Table {
    /// A version that stays for as long as it is held. Code 11 when there is none, or when it is just being
    /// removed.
    pub(crate) async fn hold(&self, options: ReadOptions) -> Result<(Arc<Dataset>, Hold)> {
        let version = match options.version {
            Some(version) => version,
            None => self.dataset(options).await?.version_id(),
        };
        let hold = self.engine.holds().hold(self.handle.place(), version);
        let hold = hold.ok_or_else(|| being_removed(version))?;
        // What was removed before is seen to be gone by now.
        let options = ReadOptions {
            version: Some(version),
            ..options
        };
        Ok((self.dataset(options).await?, hold))
    }

    /// To be begun before it is asked which versions are named by others.
    pub(crate) fn removal(&self) -> Removal {
        self.engine.holds().remove(self.handle.place())
    }
}

pub(crate) fn being_removed(version: u64) -> Error {
    Error::new(
        Code::TableVersionNotFound,
        format!("there is no version {version} any more; it is being cleaned up"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        ("t.lance".into(), None)
    }

    fn set<const N: usize>(versions: [u64; N]) -> HashSet<u64> {
        versions.into()
    }

    #[test]
    fn a_held_version_is_not_removed() {
        let holds = Holds::default();
        let first = holds.hold(place(), 1).unwrap();
        let second = holds.hold(place(), 1).unwrap();
        drop(first);
        let removal = holds.remove(place());
        assert_eq!(removal.doom(1..4), set([2, 3]));
        drop((removal, second));
        let removal = holds.remove(place());
        assert_eq!(removal.doom(1..4), set([1, 2, 3]));
    }

    /// What names it may have been made after the removal looked.
    #[test]
    fn a_version_that_was_held_while_a_removal_looked_around_stays() {
        let holds = Holds::default();
        let removal = holds.remove(place());
        drop(holds.hold(place(), 2).unwrap());
        assert_eq!(removal.doom(1..4), set([1, 3]));
    }

    #[test]
    fn nobody_gets_hold_of_what_is_being_removed_until_that_has_ended() {
        let holds = Holds::default();
        let (removal, other) = (holds.remove(place()), holds.remove(place()));
        removal.doom([1]);
        other.doom([3]);
        assert!(holds.hold(place(), 1).is_none());
        assert!(holds.hold(place(), 2).is_some());
        assert!(holds.hold(place(), 3).is_none());
        let branch = ("t.lance".into(), Some("dev".into()));
        assert!(holds.hold(branch, 1).is_some());
        drop(removal);
        assert!(holds.hold(place(), 1).is_some());
        assert!(holds.hold(place(), 3).is_none());
        drop(other);
        assert!(holds.0.lock().is_empty());
    }
}
