use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use serde::Serialize;

use crate::ask::Ask;
use crate::tables::Table;
use crate::{Error, Result};

/// Latencies in milliseconds.
#[derive(Serialize)]
pub struct Measured {
    pub rate: f64,
    pub requests: usize,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub failures: usize,
}

/// A closed loop: each client asks again when it has its answer. One that has begun is finished.
pub async fn run(table: &Table, asks: Vec<Ask>, clients: usize, seconds: f64) -> Result<Measured> {
    let asks = Arc::new(asks);
    let next = Arc::new(AtomicUsize::new(0));
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(seconds);
    let clients = (0..clients).map(|_| {
        let (table, asks, next) = (table.clone(), asks.clone(), next.clone());
        tokio::spawn(async move { client(&table, &asks, &next, end).await })
    });
    let mut latencies = Vec::new();
    let mut failures = 0;
    for (own, failed) in try_join_all(clients).await? {
        latencies.extend(own);
        failures += failed;
    }
    let elapsed = begin.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let at = |share| percentile(&latencies, share);
    Ok(Measured {
        rate: latencies.len() as f64 / elapsed,
        requests: latencies.len(),
        p50: at(0.50)?,
        p95: at(0.95)?,
        p99: at(0.99)?,
        failures,
    })
}

async fn client(
    table: &Table,
    asks: &[Ask],
    next: &AtomicUsize,
    end: Instant,
) -> (Vec<Duration>, usize) {
    let (mut latencies, mut failures) = (Vec::new(), 0);
    while Instant::now() < end {
        let ask = &asks[next.fetch_add(1, Ordering::Relaxed) % asks.len()];
        let start = Instant::now();
        match ask.run(table).await {
            Ok(_) => latencies.push(start.elapsed()),
            Err(_) => failures += 1,
        }
    }
    (latencies, failures)
}

/// The least latency that `share` of all do not exceed.
fn percentile(sorted: &[Duration], share: f64) -> Result<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    let latency = sorted.get(rank.saturating_sub(1));
    let latency = latency.ok_or_else(|| Error::from("no request succeeded"))?;
    Ok(latency.as_secs_f64() * 1e3)
}
