//! How much memory is in use.

use joust_core::memory::Usage;
use napi_derive::napi;

/// The memory budget and what is taken of it at a moment, bytes.
#[napi(object)]
pub struct MemoryUsage {
    /// All of it.
    pub budget: f64,
    /// The share of caches: opened index data, file metadata, text search.
    pub caches: f64,
    /// The share of requests and jobs, which the following are taken from.
    pub work: f64,
    pub uploads: f64,
    pub queries: f64,
    /// Updates, deletes and merges.
    pub changes: f64,
    pub jobs: f64,
    /// Requests and jobs that wait for memory.
    pub waiting: f64,
    /// Requests that were refused for want of memory, since the start.
    pub refused: f64,
}

impl From<Usage> for MemoryUsage {
    fn from(usage: Usage) -> Self {
        let budget = usage.budget;
        let caches = budget.index_cache + budget.metadata_cache + budget.text_caches;
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
