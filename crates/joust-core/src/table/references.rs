//! The common part of tags and branches: each is a file that other processes may create or remove at any time.

use std::future::Future;

use crate::error::{Code, Error, Result};

/// Retries of a listing; only a table with continuous changes needs so many.
const ATTEMPTS: usize = 50;

/// Lists references. Lance first lists the files and then reads them, and fails if one is removed in between. A retry
/// is correct.
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
        "other writers keep changing the tags or branches of the table: try again",
    ))
}
