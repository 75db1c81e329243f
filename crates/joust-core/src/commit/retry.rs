//! How a change that loses against other commits is built again.
//!
//! Lance repeats a commit whose change is valid on the newer version too. It reports the other conflicts, and joust
//! builds the change again on the newest version.

use std::time::{Duration, Instant};

use super::policy::Policy;
use crate::error::{Code, Error, Result};

/// The first and the longest pause after an attempt that lost, in which another process finishes its commit.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How often a change is built after another commit came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Once: the caller decides about the conflict.
    Never,
    /// So many times. A long build leaves time enough for other commits: the next attempt begins at once.
    Times(u32),
    /// For this time after the first conflict, with pauses from the third attempt on.
    During(Duration),
}

/// Whether another commit came first, so that nothing was committed.
pub(crate) fn is_conflict(error: &Error) -> bool {
    error.code() == Code::ConcurrentModification
}

/// The attempts at one change.
///
/// ```ignore
/// let mut attempts = Attempts::at(Policy::Rewrite);
/// loop {
///     match build_and_commit().await {
///         Err(error) => attempts.lost(error).await?,
///         done => return done,
///     }
/// }
/// ```
///
/// The loop is not a function with an async closure: the compiler cannot show that the future of such a function is
/// `Send` if the closure borrows.
#[derive(Debug)]
pub(crate) struct Attempts {
    retry: Retry,
    /// Of the running attempt, from 1.
    number: u32,
    lost_first: Option<Instant>,
    pause: Duration,
}

impl Attempts {
    /// Begins the first attempt.
    pub fn at(policy: Policy) -> Self {
        Self::with(policy.terms().retry)
    }

    fn with(retry: Retry) -> Self {
        Self {
            retry,
            number: 1,
            lost_first: None,
            pause: Duration::ZERO,
        }
    }

    pub fn is_first(&self) -> bool {
        self.number == 1
    }

    /// Begins the next attempt after one that failed. Returns the error if it is no conflict, or if the policy allows
    /// no further attempt.
    pub async fn lost(&mut self, error: Error) -> Result<()> {
        let first = *self.lost_first.get_or_insert_with(Instant::now);
        let may_retry = match self.retry {
            Retry::Never => false,
            Retry::Times(most) => self.number < most,
            Retry::During(limit) => first.elapsed() <= limit,
        };
        if !is_conflict(&error) || !may_retry {
            return Err(error);
        }
        if matches!(self.retry, Retry::During(_)) {
            if !self.pause.is_zero() {
                tokio::time::sleep(self.pause).await;
            }
            self.pause = (2 * self.pause).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        }
        self.number += 1;
        Ok(())
    }
}

/// Explains the last conflict of a job that lost all attempts at changing a table or view.
pub(crate) fn always_lost(changed: &str) -> impl Fn(Error) -> Error {
    move |error| match is_conflict(&error) {
        true => Error::new(
            Code::ConcurrentModification,
            format!(
                "the commit to the {changed} lost against other writers in every attempt: try again later"
            ),
        ),
        false => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflict(number: u32) -> Error {
        Error::new(Code::ConcurrentModification, format!("conflict {number}"))
    }

    /// The number of attempts at a change that loses so often, and the error of the last one.
    async fn losing(retry: Retry, lost: u32) -> (u32, Option<Error>) {
        let mut attempts = Attempts::with(retry);
        assert!(attempts.is_first());
        while attempts.number <= lost {
            if let Err(error) = attempts.lost(conflict(attempts.number)).await {
                return (attempts.number, Some(error));
            }
            assert!(!attempts.is_first());
        }
        (attempts.number, None)
    }

    #[tokio::test]
    async fn a_change_is_built_again_as_often_as_its_policy_says() {
        let hour = Duration::from_secs(3600);
        for (retry, lost, attempts) in [
            (Retry::Never, 0, 1),
            (Retry::Times(3), 0, 1),
            (Retry::Times(3), 2, 3),
            (Retry::During(hour), 4, 5),
        ] {
            let (made, error) = losing(retry, lost).await;
            assert_eq!((made, error.is_none()), (attempts, true), "{retry:?}");
        }
    }

    #[tokio::test]
    async fn a_change_that_loses_all_attempts_reports_the_last_conflict() {
        for (retry, attempts) in [(Retry::Never, 1), (Retry::Times(3), 3)] {
            let (made, error) = losing(retry, 9).await;
            assert_eq!(made, attempts);
            assert_eq!(error.unwrap().message(), format!("conflict {attempts}"));
        }
        let (made, error) = losing(Retry::During(Duration::ZERO), u32::MAX).await;
        let error = error.unwrap();
        assert_eq!(error.message(), format!("conflict {made}"));
        let explained = always_lost("view")(error);
        assert_eq!(explained.code(), Code::ConcurrentModification);
        assert!(explained.message().contains("the commit to the view lost"));
    }

    #[tokio::test]
    async fn an_error_that_is_no_conflict_ends_the_attempts() {
        let mut attempts = Attempts::with(Retry::Times(3));
        let failed = attempts.lost(Error::invalid("no")).await;
        let error = always_lost("table")(failed.unwrap_err());
        assert_eq!(error.message(), "no");
    }
}
