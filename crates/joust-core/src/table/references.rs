//! What tags and branches have in common: each is a file, which others may make or remove at any
//! time.

use std::future::Future;

use crate::error::{Code, Error, Result};

/// A listing that finds a file gone each time is one of a table that changes all the time.
const ATTEMPTS: usize = 50;

/// Lists references. Lance looks for their files first and reads them then: one that is gone by that
/// time makes it fail, and another look is right.
pub async fn listed<T, F>(list: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = lance::Result<T>>,
{
    for _ in 0..ATTEMPTS {
        match list().await {
            Err(error) if error.is_not_found() => {}
            found => return found.map_err(Error::from),
        }
    }
    Err(Error::new(
        Code::ConcurrentModification,
        "the tags or branches of the table change all the time; try again",
    ))
}
