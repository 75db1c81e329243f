//! Maintenance of a table.

use joust_core::jobs::maintenance;
use napi::Env;
use napi::bindgen_prelude::{Function, PromiseRaw};
use napi_derive::napi;

use crate::job_threads::on_job_threads;
use crate::progress::{Progress, reporter};
use crate::promise::promise;
use crate::table::Table;
use crate::task::Task;

/// The maintenance that is due.
#[napi(object)]
pub struct MaintenanceDue {
    /// Merge fragments with fewer rows; absent if no compaction is due.
    pub compact_below: Option<f64>,
    /// Rows that an index does not cover yet.
    pub unindexed_rows: f64,
    /// Whether they justify a commit during continuous writes. Once a table is idle, any number does.
    pub worth_indexing: bool,
}

/// The result of an index optimization.
#[napi(object)]
pub struct OptimizedIndices {
    pub indexes: Vec<String>,
    /// Absent if there was nothing to do.
    pub published_version: Option<f64>,
}

#[napi]
impl Table {
    /// The maintenance that is due.
    #[napi(ts_return_type = "Promise<MaintenanceDue>")]
    pub fn maintenance_due<'env>(
        &self,
        env: &'env Env,
    ) -> napi::Result<PromiseRaw<'env, MaintenanceDue>> {
        let table = self.inner.clone();
        promise(
            env,
            async move { table.maintenance_due().await },
            MaintenanceDue::from,
        )
    }

    /// Adds missing rows to all indexes.
    #[napi(ts_return_type = "Promise<OptimizedIndices>")]
    pub fn optimize_indices<'env>(
        &self,
        env: &'env Env,
        task: &Task,
        on_progress: Function<'_, Progress, ()>,
    ) -> napi::Result<PromiseRaw<'env, OptimizedIndices>> {
        let work = task.context(reporter(on_progress)?);
        let table = self.inner.clone();
        let optimized = async move { work.run(table.optimize_indices(&work)).await };
        promise(env, on_job_threads(optimized), |done| OptimizedIndices {
            indexes: done.indexes,
            published_version: done.published_version.map(|version| version as f64),
        })
    }
}

impl From<maintenance::MaintenanceDue> for MaintenanceDue {
    fn from(due: maintenance::MaintenanceDue) -> Self {
        Self {
            compact_below: due.compact_below.map(|rows| rows as f64),
            unindexed_rows: due.unindexed_rows as f64,
            worth_indexing: due.worth_indexing,
        }
    }
}
