//! Index builds: in this process, or in segments that workers make.
//!
//! [`segment`] is a part of an index and the fragments from which it was built, [`remote`] orders segments of workers and
//! checks them, and [`run`] does so until all segments fit the newest version, and commits them at once.

mod remote;
mod run;
mod segment;
mod staging;

use super::remote::RemoteWork;
use crate::error::Result;
use crate::table::Table;
use crate::work::WorkContext;

/// A finished build.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BuiltIndex {
    /// The segments that workers made; 0: this process built the index.
    pub remote_segments: u64,
}

impl Table {
    /// Builds an index and commits it, as [`create_index`](Table::create_index) does. Workers build its segments, if the
    /// kind of the index permits it and the table is large enough.
    pub async fn build_index(
        &self,
        spec: &str,
        workers: Option<&RemoteWork>,
        work: &WorkContext,
    ) -> Result<BuiltIndex> {
        if let Some(workers) = workers
            && let Some(remote_segments) = run::in_segments(self, spec, workers, work).await?
        {
            return Ok(BuiltIndex { remote_segments });
        }
        self.create_index(spec, work).await?;
        Ok(BuiltIndex::default())
    }
}
