//! Pins on old versions, and the removal of versions.
//!
//! A tag, a branch, a restored version or a clone references files of its source version, and others see that only once
//! it exists. Tagging, branching, cloning and restoring therefore pin the source version while they run. A removal
//! registers itself before it reads the referenced versions, and then selects the versions to remove once and for all:
//! none that was pinned since it began. From then on a pin on a selected version fails and a pin on any other version
//! succeeds at once, so that neither side waits for the other.
//!
//! Reads are registered, too: a query or write keeps the dataset that it was given. A clean-up spares versions that are
//! in use, and all later ones, because a commit to a version reads the commits since. Only opening a dataset is
//! counted, so a query costs nothing here.
//!
//! All this is local to one process. A clean-up first asks the other processes. Each of them releases the versions that
//! it does not need ([`Removal::Proposed`]): pins on these fail there, although they may stay. Deleting versions by
//! number asks no other process, and readers do not prevent it.

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

/// The versions of an engine's tables that are pinned or being removed.
#[derive(Clone, Default)]
pub(crate) struct VersionPins(Arc<Mutex<HashMap<Place, BranchPins>>>);

/// The pins and removals of one table's branch.
#[derive(Default)]
struct BranchPins {
    /// Pinned versions, once for each pin.
    pinned: Vec<u64>,
    /// Opened datasets, for as long as they are in use.
    read: Vec<(u64, Weak<Dataset>)>,
    removals: HashMap<u64, Removing>,
}

impl BranchPins {
    /// How certain the removal of a version is; `None` when it is not being removed.
    fn removal(&self, version: u64) -> Option<Removal> {
        let removals = self.removals.values();
        let removals = removals.filter(|removing| removing.selected.contains(&version));
        removals.map(|removing| removing.removal).max()
    }

    /// The oldest version in use.
    fn oldest_read(&mut self) -> Option<u64> {
        self.forget_unread();
        self.read.iter().map(|(version, _)| *version).min()
    }

    fn forget_unread(&mut self) {
        self.read.retain(|(_, dataset)| dataset.strong_count() > 0);
    }

    fn is_idle(&self) -> bool {
        self.pinned.is_empty() && self.read.is_empty() && self.removals.is_empty()
    }
}

struct Removing {
    /// Versions that were pinned since it began.
    spared: HashSet<u64>,
    selected: HashSet<u64>,
    removal: Removal,
}

/// How certain the removal of a version is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Removal {
    /// Another process may need the version.
    Proposed,
    Decided,
}

impl Removal {
    /// The error of a request for such a version.
    pub fn error(self, version: u64) -> Error {
        match self {
            Self::Proposed => Error::new(
                Code::ServiceUnavailable,
                format!("version {version} may be about to be cleaned up; try again"),
            ),
            Self::Decided => Error::new(
                Code::TableVersionNotFound,
                format!("there is no version {version} any more; it is being cleaned up"),
            ),
        }
    }
}

/// Keeps a version from being removed until it is dropped.
pub(crate) struct PinGuard {
    pins: VersionPins,
    place: Place,
    version: u64,
}

/// A removal of versions, which ends when this is dropped.
pub(crate) struct RemovalGuard {
    pins: VersionPins,
    place: Place,
    id: u64,
}

static NEXT_REMOVAL: AtomicU64 = AtomicU64::new(0);

impl VersionPins {
    /// Fails if the version is being removed. Does not check that it exists.
    pub fn pin(&self, place: &Place, version: u64) -> std::result::Result<PinGuard, Removal> {
        let mut all = self.0.lock();
        let here = all.entry(place.clone()).or_default();
        if let Some(removal) = here.removal(version) {
            return Err(removal);
        }
        for removing in here.removals.values_mut() {
            removing.spared.insert(version);
        }
        here.pinned.push(version);
        Ok(PinGuard {
            pins: self.clone(),
            place: place.clone(),
            version,
        })
    }

    /// Registers the dataset's version as in use until the dataset is dropped.
    pub fn read(&self, place: &Place, dataset: &Arc<Dataset>) {
        let read = (dataset.version_id(), Arc::downgrade(dataset));
        let mut all = self.0.lock();
        // The usual case: every commit calls this.
        if let Some(here) = all.get_mut(place) {
            here.forget_unread();
            here.read.push(read);
            return;
        }
        // Only when the map would grow: most entries belong to open tables.
        if all.len() == all.capacity() {
            all.retain(|_, here| {
                here.forget_unread();
                !here.is_idle()
            });
        }
        all.entry(place.clone()).or_default().read.push(read);
    }

    /// Whether a version is being removed.
    pub fn is_being_removed(&self, place: &Place, version: u64) -> bool {
        let all = self.0.lock();
        all.get(place)
            .is_some_and(|here| here.removal(version).is_some())
    }

    fn begin_removal(&self, place: &Place, removal: Removal) -> RemovalGuard {
        let id = NEXT_REMOVAL.fetch_add(1, Ordering::Relaxed);
        let mut all = self.0.lock();
        let here = all.entry(place.clone()).or_default();
        let removing = Removing {
            spared: here.pinned.iter().copied().collect(),
            selected: HashSet::new(),
            removal,
        };
        here.removals.insert(id, removing);
        RemovalGuard {
            pins: self.clone(),
            place: place.clone(),
            id,
        }
    }

    /// Changes the entry of a place, and removes the entry once it is idle.
    fn release(&self, place: &Place, release: impl FnOnce(&mut BranchPins)) {
        let mut all = self.0.lock();
        if let Some(here) = all.get_mut(place) {
            release(here);
            here.forget_unread();
            if here.is_idle() {
                all.remove(place);
            }
        }
    }
}

impl RemovalGuard {
    /// Selects the versions to remove: those that were not pinned since the removal began.
    pub fn select(&self, versions: impl IntoIterator<Item = u64>) -> HashSet<u64> {
        self.select_from(versions, false)
    }

    /// As [`select`](Self::select), without versions in use and all later ones.
    pub fn select_unread(&self, versions: impl IntoIterator<Item = u64>) -> HashSet<u64> {
        self.select_from(versions, true)
    }

    fn select_from(
        &self,
        versions: impl IntoIterator<Item = u64>,
        only_unread: bool,
    ) -> HashSet<u64> {
        let mut all = self.pins.0.lock();
        let Some(here) = all.get_mut(&self.place) else {
            return HashSet::new();
        };
        let read = only_unread.then(|| here.oldest_read()).flatten();
        let end = read.unwrap_or(u64::MAX);
        let Some(own) = here.removals.get_mut(&self.id) else {
            return HashSet::new();
        };
        let versions = versions.into_iter();
        own.selected = versions
            .filter(|version| *version < end && !own.spared.contains(version))
            .collect();
        own.selected.clone()
    }
}

impl Drop for PinGuard {
    fn drop(&mut self) {
        self.pins.release(&self.place, |here| {
            let own = here.pinned.iter().position(|pin| *pin == self.version);
            if let Some(own) = own {
                here.pinned.swap_remove(own);
            }
        });
    }
}

impl Drop for RemovalGuard {
    fn drop(&mut self) {
        self.pins.release(&self.place, |here| {
            here.removals.remove(&self.id);
        });
    }
}

impl Table {
    /// A version, and the guard that pins it. Code 11 if it does not exist or is being removed; code 17 if its removal
    /// is proposed.
    pub(crate) async fn pin(&self, options: ReadOptions) -> Result<(Arc<Dataset>, PinGuard)> {
        let version = match options.version {
            Some(version) => version,
            None => self.dataset(options).await?.version_id(),
        };
        let pin = self.tables.pins().pin(self.handle.place(), version);
        let pin = pin.map_err(|removal| removal.error(version))?;
        // A version that was removed before the pin is missing here.
        let options = ReadOptions {
            version: Some(version),
            ..options
        };
        Ok((self.dataset(options).await?, pin))
    }

    /// Begins a removal. Call it before reading which versions tags and branches reference.
    pub(crate) fn begin_removal(&self, removal: Removal) -> RemovalGuard {
        self.tables
            .pins()
            .begin_removal(self.handle.place(), removal)
    }
}

#[cfg(test)]
#[path = "version_pins_tests.rs"]
mod tests;
