//! What keeps a table fit to be read.

use joust_core::jobs::maintenance;
use napi::Env;
use napi::bindgen_prelude::{Function, PromiseRaw};
use napi_derive::napi;

use crate::progress::{Progress, reporter};
use crate::promise::promise;
use crate::table::Table;
use crate::task::Task;

/// What a table's next maintenance has to do.
#[napi(object)]
pub struct Upkeep {
    /// Fragments with fewer rows are to be put together; absent when the fragments are fine.
    pub compact_below: Option<f64>,
    /// Rows that an index does not cover yet.
    pub unindexed_rows: f64,
    /// They are worth a commit also while more are written. Once a table is quiet, any are.
    pub worth_indexing: bool,
}

/// Indexes that were brought up to date.
#[napi(object)]
pub struct CaughtUp {
    pub indexes: Vec<String>,
    /// Absent when there was nothing to do.
    pub published_version: Option<f64>,
}

#[napi]
impl Table {
    /// What is due.
    #[napi(ts_return_type = "Promise<Upkeep>")]
    pub fn upkeep<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Upkeep>> {
        let table = self.inner.clone();
        promise(env, async move { table.upkeep().await }, Upkeep::from)
    }

    /// Adds the rows that they lack to all indexes.
    #[napi(ts_return_type = "Promise<CaughtUp>")]
    pub fn catch_up<'env>(
        &self,
        env: &'env Env,
        task: &Task,
        on_progress: Function<'_, Progress, ()>,
    ) -> napi::Result<PromiseRaw<'env, CaughtUp>> {
        let report = reporter(on_progress)?;
        let table = self.inner.clone();
        let work = async move { table.catch_up(report).await };
        promise(env, task.guard(work), |done| CaughtUp {
            indexes: done.indexes,
            published_version: done.published_version.map(|version| version as f64),
        })
    }
}

impl From<maintenance::Upkeep> for Upkeep {
    fn from(due: maintenance::Upkeep) -> Self {
        Self {
            compact_below: due.compact_below.map(|rows| rows as f64),
            unindexed_rows: due.unindexed_rows as f64,
            worth_indexing: due.worth_indexing,
        }
    }
}
