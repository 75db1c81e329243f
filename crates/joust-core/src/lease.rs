//! How long other servers of the catalog consider this process alive.
//!
//! On Postgres a server renews a lease. When the lease ends, other servers take over its removals: the files of a
//! dropped table, the old versions of another. The location may then belong to a new table, and a version may be in use
//! again. So the removal of files ends with the lease, by the clocks of this process.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tokio::time::sleep;

use crate::error::{Code, Error, Result};

/// The longest interval between checks of the lease during dependent work.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// When a lease ends. The monotonic clock may stop while the machine is suspended, the wall clock may be set back: the
/// earlier one counts.
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

    /// `None` if it has ended.
    fn left(self) -> Option<Duration> {
        let monotonic = self.monotonic.checked_duration_since(Instant::now())?;
        let system = self.system.duration_since(SystemTime::now()).ok()?;
        let left = monotonic.min(system);
        (!left.is_zero()).then_some(left)
    }
}

/// The lease of this process. Without a renewal there is no lease, and thus no end: other servers then use a lock to
/// check whether this process is alive.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lease(Arc<Mutex<Option<End>>>);

impl Lease {
    /// Renews the lease for at least this time from now on.
    pub fn renew(&self, left: Duration) {
        *self.0.lock() = Some(End::after(left));
    }

    /// Runs work that ends with the lease: code 17. The work stops at its next await.
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

    /// Whether there was a lease, and it has ended.
    pub fn has_ended(&self) -> bool {
        let end = *self.0.lock();
        end.is_some_and(|end| end.left().is_none())
    }

    async fn end(&self) {
        loop {
            let end = *self.0.lock();
            match end.map(End::left) {
                Some(None) => return,
                Some(Some(left)) => sleep(left.min(LOOK_EVERY)).await,
                // A lease may start later.
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
    async fn work_runs_while_its_lease_is_renewed_and_ends_with_it() {
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
        assert!(lease.has_ended());
        lease.renew(LONG);
        assert!(!lease.has_ended());
        lease.during(ready(Ok(()))).await.unwrap();
    }

    #[tokio::test]
    async fn work_without_a_lease_is_not_ended() {
        let lease = Lease::default();
        let work = async {
            sleep(LOOK_EVERY + SHORT).await;
            Ok(7)
        };
        assert_eq!(lease.during(work).await.unwrap(), 7);
    }
}
