//! A pinned version is not removed, and a version that is being removed cannot be pinned.

use super::*;

fn place() -> Place {
    Place {
        location: "t.lance".into(),
        branch: None,
    }
}

fn set<const N: usize>(versions: [u64; N]) -> HashSet<u64> {
    versions.into()
}

#[test]
fn a_pinned_version_is_not_removed() {
    let pins = VersionPins::default();
    let first = pins.pin(&place(), 1).unwrap();
    let second = pins.pin(&place(), 1).unwrap();
    drop(first);
    let removal = pins.begin_removal(&place(), Removal::Decided);
    assert_eq!(removal.select(1..4), set([2, 3]));
    drop((removal, second));
    let removal = pins.begin_removal(&place(), Removal::Decided);
    assert_eq!(removal.select(1..4), set([1, 2, 3]));
}

/// The tag or branch may be newer than the references that the removal read.
#[test]
fn a_version_that_was_pinned_during_a_removal_stays() {
    let pins = VersionPins::default();
    let removal = pins.begin_removal(&place(), Removal::Decided);
    drop(pins.pin(&place(), 2).unwrap());
    assert_eq!(removal.select(1..4), set([1, 3]));
}

#[test]
fn a_version_cannot_be_pinned_until_its_removal_has_ended() {
    let pins = VersionPins::default();
    let removal = pins.begin_removal(&place(), Removal::Decided);
    let other = pins.begin_removal(&place(), Removal::Proposed);
    removal.select([1]);
    other.select([3]);
    assert_eq!(pins.pin(&place(), 1).err(), Some(Removal::Decided));
    assert!(pins.pin(&place(), 2).is_ok());
    assert_eq!(pins.pin(&place(), 3).err(), Some(Removal::Proposed));
    let branch = Place {
        branch: Some("dev".into()),
        ..place()
    };
    assert!(pins.pin(&branch, 1).is_ok());
    drop(removal);
    assert!(pins.pin(&place(), 1).is_ok());
    assert_eq!(pins.pin(&place(), 3).err(), Some(Removal::Proposed));
    drop(other);
    assert!(pins.0.lock().is_empty());
}
