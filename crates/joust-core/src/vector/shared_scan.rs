//! Shared scans: concurrent scans of the same vectors share their passes over them.
//!
//! Reading vectors from memory takes several times longer than comparing them. So a scan that arrives during a
//! pass waits for its end, and all waiting scans share the next pass. A scan that arrives alone does not wait.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::try_join_all;
use lance_core::utils::tokio::{get_num_compute_intensive_cpus, spawn_cpu};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::flat_scan::{Scan, Target, nearest, shares};
use super::{Neighbor, top_k};
use crate::error::{Code, Error, Result};

/// Most scans that share a pass: each waits for all of them.
const MOST: usize = 32;

/// The scans that wait for a pass, by their vectors.
#[derive(Default)]
pub struct SharedScan(Arc<Queues>);

type Queues = Mutex<HashMap<Wanted, Vec<Waiting>>>;

/// The address of a column, and how many of its fragments are scanned.
type Wanted = (usize, usize);

struct Waiting {
    scan: Arc<Scan>,
    found: oneshot::Sender<Result<Vec<Neighbor>>>,
}

impl SharedScan {
    /// The nearest rows for each scan, the nearest first.
    pub async fn scan(&self, scans: Vec<Arc<Scan>>, target: Target) -> Result<Vec<Vec<Neighbor>>> {
        // `Passes` keeps the column alive, so its address is unique meanwhile.
        let wanted = (Arc::as_ptr(&target.column) as usize, target.numbers.len());
        let waiting = scans.into_iter().map(|scan| {
            let (found, answer) = oneshot::channel();
            (Waiting { scan, found }, answer)
        });
        let (waiting, answers): (Vec<Waiting>, Vec<_>) = waiting.unzip();
        let is_first = {
            let mut all = self.0.lock();
            match all.get_mut(&wanted) {
                Some(others) => {
                    others.extend(waiting);
                    false
                }
                None => {
                    all.insert(wanted, waiting);
                    true
                }
            }
        };
        if is_first {
            let passes = Passes {
                all: self.0.clone(),
                wanted,
                ended: false,
            };
            tokio::spawn(passes.run(target));
        }
        let found = answers.into_iter().map(async |answer| {
            let lost = |_| Error::new(Code::Internal, "a scan of vectors was cut off");
            answer.await.map_err(lost)?
        });
        try_join_all(found).await
    }
}

/// Runs passes while scans wait for one.
struct Passes {
    all: Arc<Queues>,
    wanted: Wanted,
    /// No scan waits: the next one starts passes of its own.
    ended: bool,
}

impl Passes {
    async fn run(mut self, target: Target) {
        while let Some(pass_of) = self.next() {
            let scans: Vec<Arc<Scan>> =
                pass_of.iter().map(|waiting| waiting.scan.clone()).collect();
            let found = pass(&scans, &target).await;
            match found {
                Ok(found) => {
                    for (waiting, found) in pass_of.into_iter().zip(found) {
                        // A cancelled scan needs no result.
                        let _ = waiting.found.send(Ok(found));
                    }
                }
                Err(error) => {
                    for waiting in pass_of {
                        let error = Error::new(error.code(), error.to_string());
                        let _ = waiting.found.send(Err(error));
                    }
                }
            }
        }
    }

    /// The scans of the next pass; `None` when none waits: the next scan is a first one again.
    fn next(&mut self) -> Option<Vec<Waiting>> {
        let mut all = self.all.lock();
        let waiting = all.entry(self.wanted).or_default();
        waiting.retain(|waiting| !waiting.found.is_closed());
        if waiting.is_empty() {
            all.remove(&self.wanted);
            self.ended = true;
            return None;
        }
        let count = waiting.len().min(MOST);
        Some(waiting.drain(..count).collect())
    }
}

impl Drop for Passes {
    /// Fails the waiting scans if a pass was aborted, so that the next scan is a first one again.
    fn drop(&mut self) {
        if !self.ended {
            self.all.lock().remove(&self.wanted);
        }
    }
}

/// One pass over the vectors, each thread over its share.
async fn pass(scans: &[Arc<Scan>], target: &Target) -> Result<Vec<Vec<Neighbor>>> {
    let shares = shares(target, get_num_compute_intensive_cpus().max(1));
    let work = shares.into_iter().map(|share| {
        let (scans, target) = (scans.to_vec(), target.clone());
        spawn_cpu(move || nearest(&scans, &share, &target))
    });
    let parts = try_join_all(work).await?;
    let mut found: Vec<Vec<Neighbor>> = scans.iter().map(|_| Vec::new()).collect();
    for part in parts {
        for (all, own) in found.iter_mut().zip(part) {
            all.extend(own);
        }
    }
    for (found, scan) in found.iter_mut().zip(scans) {
        top_k::sort(found, scan.k);
    }
    Ok(found)
}
