//! What keeps a table fit to be read.

use joust_core::maintain;
use napi::Env;
use napi::bindgen_prelude::{Function, PromiseRaw};
use napi_derive::napi;

use crate::progress::{Progress, reporter};
use crate::promise::promise;
use crate::table::{Table, millis, version_number};
use crate::task::Task;

/// What a table's next maintenance has to do.
#[napi(object)]
pub struct Upkeep {
    /// Fragments with fewer rows are to be put together; absent when the fragments are fine.
    pub compact_below: Option<f64>,
    /// Rows that an index does not cover yet, when they are worth covering.
    pub unindexed_rows: f64,
}

/// Indexes that were brought up to date.
#[napi(object)]
pub struct CaughtUp {
    pub indexes: Vec<String>,
    /// Absent when there was nothing to do.
    pub published_version: Option<f64>,
}

/// Versions that were removed, and the bytes of the files that only they named.
#[napi(object)]
pub struct CleanedUp {
    pub versions: f64,
    pub bytes: f64,
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

    /// Removes versions that were committed longer ago than `age_ms`; tagged ones, those that branches
    /// start from, and the newest stay.
    #[napi(ts_return_type = "Promise<CleanedUp>")]
    pub fn clean_up<'env>(
        &self,
        env: &'env Env,
        age_ms: f64,
        below: Option<f64>,
        task: &Task,
    ) -> napi::Result<PromiseRaw<'env, CleanedUp>> {
        let table = self.inner.clone();
        let below = below.map(version_number);
        let work = async move { table.clean_up(millis(age_ms), below).await };
        promise(env, task.guard(work), |done| CleanedUp {
            versions: done.versions as f64,
            bytes: done.bytes as f64,
        })
    }
}

impl From<maintain::Upkeep> for Upkeep {
    fn from(due: maintain::Upkeep) -> Self {
        Self {
            compact_below: due.compact_below.map(|rows| rows as f64),
            unindexed_rows: due.unindexed_rows as f64,
        }
    }
}
