//! What is held stays, and what is removed nobody gets.

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
fn a_held_version_is_not_removed() {
    let holds = Holds::default();
    let first = holds.hold(&place(), 1).unwrap();
    let second = holds.hold(&place(), 1).unwrap();
    drop(first);
    let removal = holds.remove(&place(), Doom::Certain);
    assert_eq!(removal.doom(1..4), set([2, 3]));
    drop((removal, second));
    let removal = holds.remove(&place(), Doom::Certain);
    assert_eq!(removal.doom(1..4), set([1, 2, 3]));
}

/// What names it may have been made after the removal looked.
#[test]
fn a_version_that_was_held_while_a_removal_looked_around_stays() {
    let holds = Holds::default();
    let removal = holds.remove(&place(), Doom::Certain);
    drop(holds.hold(&place(), 2).unwrap());
    assert_eq!(removal.doom(1..4), set([1, 3]));
}

#[test]
fn nobody_gets_hold_of_what_is_being_removed_until_that_has_ended() {
    let holds = Holds::default();
    let removal = holds.remove(&place(), Doom::Certain);
    let other = holds.remove(&place(), Doom::Likely);
    removal.doom([1]);
    other.doom([3]);
    assert_eq!(holds.hold(&place(), 1).err(), Some(Doom::Certain));
    assert!(holds.hold(&place(), 2).is_ok());
    assert_eq!(holds.hold(&place(), 3).err(), Some(Doom::Likely));
    let branch = Place {
        branch: Some("dev".into()),
        ..place()
    };
    assert!(holds.hold(&branch, 1).is_ok());
    drop(removal);
    assert!(holds.hold(&place(), 1).is_ok());
    assert_eq!(holds.hold(&place(), 3).err(), Some(Doom::Likely));
    drop(other);
    assert!(holds.0.lock().is_empty());
}
