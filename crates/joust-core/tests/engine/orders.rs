//! The orders of jobs whose workers are outside of the engine.

use std::sync::Arc;
use std::time::Duration;

use joust_core::jobs::remote::{Order, RemoteWork};

/// Waits for an order after the one with that number.
pub async fn next_order(work: &RemoteWork, after: u64) -> (u64, Arc<Order>) {
    loop {
        match work.order() {
            Some((number, order)) if number > after => return (number, order),
            _ => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}
