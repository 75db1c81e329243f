//! A directory fsync that fails after a commit.

use std::error::Error as StdError;
use std::fmt::{self, Display};
use std::io;

use lance_table::io::commit::CommitError;

/// The fsync of the directory of a manifest failed. Readers of the table see the version, so reading does not
/// tell the outcome; and removing the manifest would be wrong, because other commits may be based on it.
#[derive(Debug)]
struct FsyncFailure(io::Error);

impl Display for FsyncFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the version is there, but the disk did not take its name: {}",
            self.0
        )
    }
}

impl StdError for FsyncFailure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

/// The error of such a commit: its outcome is unknown.
pub(super) fn fsync_failure(version: u64, cause: io::Error) -> CommitError {
    let cause = Box::new(FsyncFailure(cause));
    CommitError::OtherError(lance::Error::commit_status_unknown_source(version, cause))
}

pub(super) fn is_fsync_failure(error: &CommitError) -> bool {
    matches!(error, CommitError::OtherError(error) if comes_from_fsync_failure(error))
}

fn comes_from_fsync_failure(error: &(dyn StdError + 'static)) -> bool {
    error.is::<FsyncFailure>() || error.source().is_some_and(comes_from_fsync_failure)
}

#[cfg(test)]
#[path = "fsync_failure_tests.rs"]
mod tests;
