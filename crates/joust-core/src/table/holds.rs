//! Who needs an old version, and who removes it.
//!
//! A tag, a branch, a restored version or a copy names files of the version that it was made from, and is
//! seen by others only once it is there. Whoever makes one holds the version meanwhile. Whoever removes
//! versions says so before it looks who names them, and decides then once and for all which ones go: none
//! that was held since. From then on nobody gets hold of these, and of all others everybody does at once, so
//! that neither waits for the other, however long a removal takes.
//!
//! What is read is known too: whoever answers from a version, or writes against it, keeps the dataset that it
//! was given. Until nobody does any more a clean-up leaves the version alone, and all that came after it: a
//! commit against a version looks at what others did since. Only what is opened is counted, so that a query
//! costs nothing here.
//!
//! All this is of one process. One that cleans up asks the others first, and each of them gives up what it does
//! not need: nobody gets that either, though it is not certain that it goes. Who names versions to be deleted
//! asks nobody else, and readers are not in the way.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use lance::Dataset;
use parking_lot::Mutex;

use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};

/// A table and its branch.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub location: String,
    /// `None` is the main branch.
    pub branch: Option<String>,
}

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
    fn doom(&self, version: u64) -> Option<Doom> {
        let removals = self.removals.values();
        let dooms = removals.filter(|removal| removal.doomed.contains(&version));
        dooms.map(|removal| removal.doom).max()
    }

    /// The oldest version that is read.
    fn oldest_read(&mut self) -> Option<u64> {
        self.forget_read();
        self.read.iter().map(|(version, _)| *version).min()
    }

    /// Forgets what nobody reads any more.
    fn forget_read(&mut self) {
        self.read.retain(|(_, dataset)| dataset.strong_count() > 0);
    }

    fn is_idle(&self) -> bool {
        self.versions.is_empty() && self.read.is_empty() && self.removals.is_empty()
    }
}

struct Removing {
    /// Versions that were held since it began.
    spared: HashSet<u64>,
    doomed: HashSet<u64>,
    doom: Doom,
}

/// How certain it is that a version goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doom {
    /// Another process may need it.
    Likely,
    Certain,
}

impl Doom {
    /// What is told of such a version.
    pub fn error(self, version: u64) -> Error {
        match self {
            Self::Likely => Error::new(
                Code::ServiceUnavailable,
                format!("version {version} may be about to be cleaned up; try again"),
            ),
            Self::Certain => Error::new(
                Code::TableVersionNotFound,
                format!("there is no version {version} any more; it is being cleaned up"),
            ),
        }
    }
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
    /// Fails when the version is being removed. It may not be there at all.
    pub fn hold(&self, place: &Place, version: u64) -> std::result::Result<Hold, Doom> {
        let mut all = self.0.lock();
        let here = all.entry(place.clone()).or_default();
        if let Some(doom) = here.doom(version) {
            return Err(doom);
        }
        for removal in here.removals.values_mut() {
            removal.spared.insert(version);
        }
        here.versions.push(version);
        Ok(Hold {
            holds: self.clone(),
            place: place.clone(),
            version,
        })
    }

    /// The dataset's version is read from now on until the dataset is dropped.
    pub fn read(&self, place: &Place, dataset: &Arc<Dataset>) {
        let read = (dataset.version_id(), Arc::downgrade(dataset));
        let mut all = self.0.lock();
        // Each commit comes here.
        if let Some(here) = all.get_mut(place) {
            here.forget_read();
            here.read.push(read);
            return;
        }
        // Now and then: most are of tables that are open.
        if all.len() == all.capacity() {
            all.retain(|_, here| {
                here.forget_read();
                !here.is_idle()
            });
        }
        all.entry(place.clone()).or_default().read.push(read);
    }

    /// Whether a version is being removed.
    pub fn is_doomed(&self, place: &Place, version: u64) -> bool {
        let all = self.0.lock();
        all.get(place)
            .is_some_and(|here| here.doom(version).is_some())
    }

    fn remove(&self, place: &Place, doom: Doom) -> Removal {
        let id = NEXT_REMOVAL.fetch_add(1, Ordering::Relaxed);
        let mut all = self.0.lock();
        let here = all.entry(place.clone()).or_default();
        let removing = Removing {
            spared: here.versions.iter().copied().collect(),
            doomed: HashSet::new(),
            doom,
        };
        here.removals.insert(id, removing);
        Removal {
            holds: self.clone(),
            place: place.clone(),
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
        self.doom_of(versions, false)
    }

    /// As [`doom`](Self::doom), without those that are read and what came after them.
    pub fn doom_unread(&self, versions: impl IntoIterator<Item = u64>) -> HashSet<u64> {
        self.doom_of(versions, true)
    }

    fn doom_of(&self, versions: impl IntoIterator<Item = u64>, only_unread: bool) -> HashSet<u64> {
        let mut all = self.holds.0.lock();
        let Some(here) = all.get_mut(&self.place) else {
            return HashSet::new();
        };
        let read = only_unread.then(|| here.oldest_read()).flatten();
        let end = read.unwrap_or(u64::MAX);
        let Some(own) = here.removals.get_mut(&self.id) else {
            return HashSet::new();
        };
        let versions = versions.into_iter();
        own.doomed = versions
            .filter(|version| *version < end && !own.spared.contains(version))
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
    /// removed, 17 when it may be.
    pub(crate) async fn hold(&self, options: ReadOptions) -> Result<(Arc<Dataset>, Hold)> {
        let version = match options.version {
            Some(version) => version,
            None => self.dataset(options).await?.version_id(),
        };
        let hold = self.engine.holds().hold(self.handle.place(), version);
        let hold = hold.map_err(|doom| doom.error(version))?;
        // What was removed before is seen to be gone by now.
        let options = ReadOptions {
            version: Some(version),
            ..options
        };
        Ok((self.dataset(options).await?, hold))
    }

    /// To be begun before it is asked which versions are named by others.
    pub(crate) fn removal(&self, doom: Doom) -> Removal {
        self.engine.holds().remove(self.handle.place(), doom)
    }
}

#[cfg(test)]
#[path = "holds_tests.rs"]
mod tests;
