//! Who needs an old version, and who removes it.
//!
//! A tag, a branch, a restored version or a copy names files of the version that it was made from, and is
//! seen by others only once it is there. Whoever makes one holds the version meanwhile. Whoever removes
//! versions says so before it looks who names them, and decides then once and for all which ones go: none
//! that was held since. From then on nobody gets hold of these, and of all others everybody does at once, so
//! that neither waits for the other, however long a removal takes.
//!
//! This holds within one process. Another server's removals are not known here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lance::Dataset;
use parking_lot::Mutex;

use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};

/// A table's location and its branch; `None` is the main one.
type Place = (String, Option<String>);

/// The versions of an engine's tables that are held or being removed.
#[derive(Clone, Default)]
pub(crate) struct Holds(Arc<Mutex<HashMap<Place, Held>>>);

/// What goes on at one table's branch.
#[derive(Default)]
struct Held {
    /// A version as often as it is held.
    versions: Vec<u64>,
    removals: HashMap<u64, Removing>,
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
        let mut removals = here.removals.values();
        if removals.any(|removal| removal.doomed.contains(&version)) {
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
            if here.versions.is_empty() && here.removals.is_empty() {
                all.remove(place);
            }
        }
    }
}

impl Removal {
    /// Which of these versions go: those that nobody has held since the removal began.
    pub fn doom(&self, versions: impl IntoIterator<Item = u64>) -> HashSet<u64> {
        let mut all = self.holds.0.lock();
        let here = all.get_mut(&self.place);
        let Some(own) = here.and_then(|here| here.removals.get_mut(&self.id)) else {
            return HashSet::new();
        };
        let versions = versions.into_iter();
        own.doomed = versions
            .filter(|version| !own.spared.contains(version))
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
        let hold = self.engine.holds().hold(self.place(), version);
        let hold = hold.ok_or_else(|| {
            Error::new(
                Code::TableVersionNotFound,
                format!("there is no version {version} any more; it is being cleaned up"),
            )
        })?;
        // What was removed before is seen to be gone by now.
        let options = ReadOptions {
            version: Some(version),
            ..options
        };
        Ok((self.dataset(options).await?, hold))
    }

    /// To be begun before it is asked which versions are named by others.
    pub(crate) fn removal(&self) -> Removal {
        self.engine.holds().remove(self.place())
    }

    fn place(&self) -> Place {
        let branch = self.handle.branch().map(str::to_string);
        (self.handle.location().to_string(), branch)
    }
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
