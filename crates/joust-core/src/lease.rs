//! How long other servers of the catalog take this process for alive.
//!
//! On Postgres a server renews a lease. When the lease ends, others take over what it was about to remove: the
//! files of a dropped table, the old versions of another. A place may be a new table's then, and a version may
//! be read again. So what removes files ends with the lease, by this process's own clocks.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tokio::time::sleep;

use crate::error::{Code, Error, Result};

/// How often a lease that work depends on is looked at, at least.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// When a lease ends. The monotonic clock may stand still while the machine is suspended, the other one may be
/// set back: what comes first counts.
#[derive(Debug, Clone, Copy)]
struct End {
    monotonic: Instant,
    system: SystemTime,
}

impl End {
    fn after(left: Duration) -> Self {
        Self {
            monotonic: Instant::now() + left,
            system: SystemTime::now() + left,
        }
    }

    /// `None` when it is over.
    fn left(self) -> Option<Duration> {
        let monotonic = self.monotonic.checked_duration_since(Instant::now())?;
        let system = self.system.duration_since(SystemTime::now()).ok()?;
        let left = monotonic.min(system);
        (!left.is_zero()).then_some(left)
    }
}

/// The lease of this process. One that was never renewed is none, and lasts: other servers can tell by a lock
/// whether this process lives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lease(Arc<Mutex<Option<End>>>);

impl Lease {
    /// The lease lasts for so long from now on, at least.
    pub fn renew(&self, left: Duration) {
        *self.0.lock() = Some(End::after(left));
    }

    /// Does work that ends with the lease: code 17. It stops where it waits next.
    pub async fn during<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            () = self.end() => Err(Error::new(
                Code::ServiceUnavailable,
                "this server has lost touch with the catalog, and others may do its work; try again",
            )),
            done = work => done,
        }
    }

    async fn end(&self) {
        loop {
            let end = *self.0.lock();
            match end.map(End::left) {
                Some(None) => return,
                Some(Some(left)) => sleep(left.min(LOOK_EVERY)).await,
                // It may begin to be needed.
                None => sleep(LOOK_EVERY).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const SHORT: Duration = Duration::from_millis(200);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn work_ends_with_the_lease_and_goes_on_while_it_is_renewed() {
        let lease = Lease::default();
        lease.renew(SHORT);
        let renewed = lease.clone();
        let renewing = async move {
            for _ in 0..15 {
                sleep(SHORT / 10).await;
                renewed.renew(SHORT);
            }
            Ok(())
        };
        lease.during(renewing).await.unwrap();
        let began = Instant::now();
        let ended = lease.during(pending::<Result<()>>()).await.unwrap_err();
        assert_eq!(ended.code(), Code::ServiceUnavailable);
        assert!(began.elapsed() < LONG);
        let late = lease.during(ready(Ok(()))).await.unwrap_err();
        assert_eq!(late.code(), Code::ServiceUnavailable);
        lease.renew(LONG);
        lease.during(ready(Ok(()))).await.unwrap();
    }

    #[tokio::test]
    async fn without_a_lease_work_has_its_time() {
        let lease = Lease::default();
        let work = async {
            sleep(LOOK_EVERY + SHORT).await;
            Ok(7)
        };
        assert_eq!(lease.during(work).await.unwrap(), 7);
    }
}
