//! The time limit of one request in the engine.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::FutureExt;
use tokio::time::timeout;

use crate::error::{Code, Error, Result};

/// Requests that exceeded their time limit, since the start.
static ENDED: AtomicU64 = AtomicU64::new(0);

pub fn ended() -> u64 {
    ENDED.load(Ordering::Relaxed)
}

/// The remaining time of a request. Time that a client takes to read its result does not count.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    /// `None`: no limit.
    left: Option<Duration>,
    limit: Duration,
    setter: Setter,
}

/// What sets a limit.
#[derive(Debug, Clone, Copy)]
enum Setter {
    /// A server option.
    Option(&'static str),
    /// The request itself.
    Request,
}

impl Deadline {
    /// The deadline of a request without an option that limits it.
    pub fn of_request(limit: Option<Duration>) -> Self {
        Self {
            left: limit,
            limit: limit.unwrap_or_default(),
            setter: Setter::Request,
        }
    }

    pub fn new(limit: Option<Duration>, option: &'static str) -> Self {
        Self {
            left: limit,
            limit: limit.unwrap_or_default(),
            setter: Setter::Option(option),
        }
    }

    /// The one of two deadlines that ends first.
    pub fn or_sooner(self, other: Self) -> Self {
        match (self.left, other.left) {
            (_, None) => self,
            (Some(left), Some(other)) if left <= other => self,
            _ => other,
        }
    }

    /// The deadline of a request that has its own time limit: the earlier one.
    pub fn or_earlier(self, request: Option<Duration>) -> Self {
        match (self.left, request) {
            (_, None) => self,
            (Some(left), Some(request)) if left <= request => self,
            (_, Some(request)) => Self {
                left: Some(request),
                limit: request,
                setter: Setter::Request,
            },
        }
    }

    /// Runs work within the remaining time. Drops work that takes longer: code 13, or code 17 if the request sets the
    /// limit. Without remaining time, the work must be ready at once.
    pub fn spend<T>(
        &mut self,
        work: impl Future<Output = Result<T>>,
    ) -> impl Future<Output = Result<T>> {
        self.spend_until_ready(work.map(|outcome| (Instant::now(), outcome)))
    }

    /// As [`spend`](Self::spend), for work that says when its outcome was ready. The time from then on does not count:
    /// nothing polls the work while its client does not read.
    pub async fn spend_until_ready<T>(
        &mut self,
        work: impl Future<Output = (Instant, Result<T>)>,
    ) -> Result<T> {
        let Some(left) = self.left else {
            return work.await.1;
        };
        let began = Instant::now();
        let outcome = match left {
            // A timer of Tokio leaves work up to a millisecond more.
            Duration::ZERO => work.now_or_never(),
            // It polls the work before the timer: an outcome that was ready in time is taken, also late.
            left => timeout(left, work).await.ok(),
        };
        let (ended, outcome) = match outcome {
            Some((ready, outcome)) => (ready, Some(outcome)),
            None => (Instant::now(), None),
        };
        self.left = Some(left.saturating_sub(ended.saturating_duration_since(began)));
        outcome.unwrap_or_else(|| {
            ENDED.fetch_add(1, Ordering::Relaxed);
            Err(self.exceeded())
        })
    }

    /// Whether work took longer than the request itself allows.
    pub fn is_overdue(&self) -> bool {
        self.left == Some(Duration::ZERO) && matches!(self.setter, Setter::Request)
    }

    fn exceeded(&self) -> Error {
        let limit = self.limit;
        match self.setter {
            Setter::Option(option) => Error::invalid(format!(
                "the server ended the request after {limit:?} of work: it asks for too much at once; ask \
                 for less, or have the server's --{option} raised"
            )),
            Setter::Request => Error::new(
                Code::ServiceUnavailable,
                format!(
                    "the request took longer than its {limit:?}: ask for less, or allow more time"
                ),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::error::Code;

    const SHORT: Duration = Duration::from_millis(40);

    #[tokio::test]
    async fn work_ends_with_the_time_that_all_of_it_has() {
        let mut deadline = Deadline::new(Some(SHORT), "query-timeout");
        assert_eq!(deadline.spend(async { Ok(1) }).await.unwrap(), 1);
        // A slow client.
        tokio::time::sleep(2 * SHORT).await;
        assert_eq!(deadline.spend(async { Ok(2) }).await.unwrap(), 2);
        let began = Instant::now();
        let error = deadline.spend(pending::<Result<()>>()).await.unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput);
        assert!(error.message().contains("--query-timeout"), "{error}");
        assert!(began.elapsed() < 10 * SHORT);
        let again = deadline.spend(pending::<Result<()>>()).await;
        assert!(again.is_err());
        assert!(ended() >= 2);
    }

    #[tokio::test]
    async fn without_remaining_time_work_must_be_ready() {
        let mut deadline = Deadline::of_request(Some(Duration::ZERO));
        assert_eq!(deadline.spend(async { Ok(1) }).await.unwrap(), 1);
        let waits_shortly = async {
            tokio::task::yield_now().await;
            Ok(2)
        };
        let error = deadline.spend(waits_shortly).await.unwrap_err();
        assert_eq!(error.code(), Code::ServiceUnavailable);
    }

    #[tokio::test]
    async fn the_earlier_limit_counts() {
        let of_server = Deadline::new(Some(SHORT), "query-timeout");
        let of_request = |limit| Deadline::new(limit, "query-timeout").or_earlier(Some(SHORT));
        for (mut deadline, code) in [
            (of_server.or_earlier(None), Code::InvalidInput),
            (of_server.or_earlier(Some(2 * SHORT)), Code::InvalidInput),
            (of_request(Some(2 * SHORT)), Code::ServiceUnavailable),
            (of_request(None), Code::ServiceUnavailable),
        ] {
            let error = deadline.spend(pending::<Result<()>>()).await.unwrap_err();
            assert_eq!(error.code(), code, "{error}");
        }
    }

    #[tokio::test]
    async fn without_a_limit_work_takes_as_long_as_it_takes() {
        let mut deadline = Deadline::new(None, "query-timeout");
        let work = async {
            tokio::time::sleep(SHORT).await;
            Ok(1)
        };
        assert_eq!(deadline.spend(work).await.unwrap(), 1);
    }
}
