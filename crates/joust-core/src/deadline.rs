//! The time limit of one request in the engine.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::error::{Error, Result};

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
    /// The server option that sets it.
    option: &'static str,
}

impl Deadline {
    pub fn new(limit: Option<Duration>, option: &'static str) -> Self {
        Self {
            left: limit,
            limit: limit.unwrap_or_default(),
            option,
        }
    }

    /// Runs work within the remaining time. Drops work that takes longer: code 13.
    pub async fn spend<T>(&mut self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let Some(left) = self.left else {
            return work.await;
        };
        let began = Instant::now();
        let outcome = timeout(left, work).await;
        self.left = Some(left.saturating_sub(began.elapsed()));
        outcome.unwrap_or_else(|_| {
            ENDED.fetch_add(1, Ordering::Relaxed);
            Err(Error::invalid(format!(
                "the server ended the request after {:?} of work: it asks for too much at once; ask \
                 for less, or have the server's --{} raised",
                self.limit, self.option
            )))
        })
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
    async fn without_a_limit_work_takes_as_long_as_it_takes() {
        let mut deadline = Deadline::new(None, "query-timeout");
        let work = async {
            tokio::time::sleep(SHORT).await;
            Ok(1)
        };
        assert_eq!(deadline.spend(work).await.unwrap(), 1);
    }
}
