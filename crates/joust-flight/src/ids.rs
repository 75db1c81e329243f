//! Ids that are unique in the process and different in every process.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

static LAST: AtomicU64 = AtomicU64::new(0);

/// A new id of 32 hexadecimal digits. It is no secret: what it names belongs to a caller.
pub fn new() -> String {
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    // Every `RandomState` has keys that the system's random numbers start.
    let random = RandomState::new().hash_one(number);
    format!("{number:016x}{random:016x}")
}
