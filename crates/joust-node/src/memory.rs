//! Memory use.

use joust_core::memory::Usage;
use napi_derive::napi;

/// The memory budget and its current use, bytes.
#[napi(object)]
pub struct MemoryUsage {
    /// The whole budget.
    pub budget: f64,
    /// The share of caches: opened index data, file metadata, text search, rows.
    pub caches: f64,
    /// The share of requests and jobs, of which the following are parts.
    pub work: f64,
    pub uploads: f64,
    pub queries: f64,
    /// Updates, deletes and merges.
    pub changes: f64,
    pub jobs: f64,
    /// Requests and jobs that wait for memory.
    pub waiting: f64,
    /// Requests that were rejected for lack of memory, since the start.
    pub refused: f64,
}

impl From<Usage> for MemoryUsage {
    fn from(usage: Usage) -> Self {
        let budget = usage.budget;
        let caches =
            budget.index_cache + budget.metadata_cache + budget.text_caches + budget.row_cache;
        Self {
            budget: budget.total as f64,
            caches: caches as f64,
            work: budget.work as f64,
            uploads: usage.taken.uploads as f64,
            queries: usage.taken.queries as f64,
            changes: usage.taken.changes as f64,
            jobs: usage.taken.jobs as f64,
            waiting: usage.waiting as f64,
            refused: usage.refused as f64,
        }
    }
}
