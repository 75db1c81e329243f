//! Indexes.

use joust_core::index;
use joust_core::jobs::remote;
use napi::Env;
use napi::bindgen_prelude::{ClassInstance, Function, PromiseRaw};
use napi_derive::napi;

use crate::job_threads::on_job_threads;
use crate::progress::{Progress, reporter};
use crate::promise::promise;
use crate::remote_work::RemoteWork;
use crate::table::{ReadOptions, Table};
use crate::task::Task;

/// A validated index definition.
#[napi(object)]
pub struct PlannedIndex {
    pub name: String,
    pub columns: Vec<String>,
    /// The interface's name of its kind: `IVF_PQ`, `BTREE` and so on.
    pub index_type: String,
}

/// An index in a listing.
#[napi(object)]
pub struct IndexDescription {
    pub name: String,
    pub uuid: String,
    /// Canonical field paths.
    pub columns: Vec<String>,
    /// The interface's name of its kind; `Unknown` for internal kinds.
    pub index_type: String,
    pub type_url: Option<String>,
    pub num_indexed_rows: f64,
    pub num_unindexed_rows: f64,
    pub size_bytes: Option<f64>,
    pub num_segments: f64,
    pub created_at_millis: Option<f64>,
    pub index_version: i32,
    /// JSON text; its content depends on the kind.
    pub details: Option<String>,
}

/// The coverage of an index.
#[napi(object)]
pub struct IndexStats {
    pub index_type: String,
    pub distance_type: Option<String>,
    pub num_indexed_rows: f64,
    pub num_unindexed_rows: f64,
    pub num_indices: f64,
}

/// A finished index build.
#[napi(object)]
pub struct BuiltIndex {
    /// The segments that workers made; 0: the engine built the index.
    pub remote_segments: f64,
}

#[napi(object)]
pub struct DropIndexResult {
    pub version: f64,
}

/// What a table has in memory for queries.
#[napi(object)]
pub struct Prewarmed {
    pub version: f64,
    pub indexes: Vec<String>,
    /// Columns that are in memory as a whole.
    pub columns: Vec<String>,
}

#[napi]
impl Table {
    /// Validates a create-index request (its body as JSON text) without building anything: column, type, parameters,
    /// name.
    #[napi(ts_return_type = "Promise<PlannedIndex>")]
    pub fn plan_index<'env>(
        &self,
        env: &'env Env,
        spec: String,
    ) -> napi::Result<PromiseRaw<'env, PlannedIndex>> {
        let table = self.inner.clone();
        promise(
            env,
            async move { table.plan_index(&spec).await },
            |planned| PlannedIndex {
                name: planned.name,
                columns: planned.columns,
                index_type: planned.index_type,
            },
        )
    }

    /// Builds an index and commits it. `workers`: they build its segments, if that is possible and the table is large.
    #[napi(ts_return_type = "Promise<BuiltIndex>")]
    pub fn build_index<'env>(
        &self,
        env: &'env Env,
        spec: String,
        task: &Task,
        on_progress: Function<'_, Progress, ()>,
        workers: Option<ClassInstance<'_, RemoteWork>>,
    ) -> napi::Result<PromiseRaw<'env, BuiltIndex>> {
        let work = task.context(reporter(on_progress)?);
        let workers = workers.map(|workers| workers.inner.clone());
        let begun = workers.as_ref().map(remote::RemoteWork::begin);
        let table = self.inner.clone();
        let built = async move {
            let _begun = begun;
            work.run(table.build_index(&spec, workers.as_ref(), &work))
                .await
        };
        promise(env, on_job_threads(built), |built| BuiltIndex {
            remote_segments: built.remote_segments as f64,
        })
    }

    /// All indexes, in the order of their names.
    #[napi(ts_return_type = "Promise<Array<IndexDescription>>")]
    pub fn list_indices<'env>(
        &self,
        env: &'env Env,
        options: Option<ReadOptions>,
    ) -> napi::Result<PromiseRaw<'env, Vec<IndexDescription>>> {
        let table = self.inner.clone();
        let options = options.unwrap_or_default().into();
        promise(
            env,
            async move { table.list_indices(options).await },
            |found| found.into_iter().map(IndexDescription::from).collect(),
        )
    }

    #[napi(ts_return_type = "Promise<IndexStats>")]
    pub fn index_stats<'env>(
        &self,
        env: &'env Env,
        name: String,
        options: Option<ReadOptions>,
    ) -> napi::Result<PromiseRaw<'env, IndexStats>> {
        let table = self.inner.clone();
        let options = options.unwrap_or_default().into();
        let work = async move { table.index_stats(&name, options).await };
        promise(env, work, |stats| IndexStats {
            index_type: stats.index_type,
            distance_type: stats.distance_type,
            num_indexed_rows: stats.num_indexed_rows as f64,
            num_unindexed_rows: stats.num_unindexed_rows as f64,
            num_indices: stats.num_indices as f64,
        })
    }

    /// Loads an index into memory, as far as it fits. Code 6 if it does not exist.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn prewarm_index<'env>(
        &self,
        env: &'env Env,
        name: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let work = async move { table.prewarm_index(&name).await };
        promise(env, work, |()| ())
    }

    /// Loads indexes and columns of the newest version into memory, as far as they fit.
    #[napi(ts_return_type = "Promise<Prewarmed>")]
    pub fn prewarm<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Prewarmed>> {
        let table = self.inner.clone();
        let work = async move { table.prewarm().await };
        promise(env, work, |ready| Prewarmed {
            version: ready.version as f64,
            indexes: ready.indexes,
            columns: ready.columns,
        })
    }

    /// Reads columns once, all if none is named, so that later reads find them in memory.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn prewarm_columns<'env>(
        &self,
        env: &'env Env,
        columns: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let work = async move { table.prewarm_columns(&columns).await };
        promise(env, work, |()| ())
    }

    /// The canonical paths of columns. Code 12 for a column that does not exist.
    #[napi(ts_return_type = "Promise<Array<string>>")]
    pub fn resolve_columns<'env>(
        &self,
        env: &'env Env,
        columns: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, Vec<String>>> {
        let table = self.inner.clone();
        let work = async move { table.resolve_columns(&columns).await };
        promise(env, work, |columns| columns)
    }

    /// Removes an index.
    #[napi(ts_return_type = "Promise<DropIndexResult>")]
    pub fn drop_index<'env>(
        &self,
        env: &'env Env,
        name: String,
    ) -> napi::Result<PromiseRaw<'env, DropIndexResult>> {
        let table = self.inner.clone();
        let work = async move { table.drop_index(&name).await };
        promise(env, work, |version| DropIndexResult {
            version: version as f64,
        })
    }
}

impl From<index::IndexDescription> for IndexDescription {
    fn from(index: index::IndexDescription) -> Self {
        Self {
            name: index.name,
            uuid: index.uuid,
            columns: index.columns,
            index_type: index.index_type,
            type_url: index.type_url,
            num_indexed_rows: index.num_indexed_rows as f64,
            num_unindexed_rows: index.num_unindexed_rows as f64,
            size_bytes: index.size_bytes.map(|bytes| bytes as f64),
            num_segments: index.num_segments as f64,
            created_at_millis: index.created_at_millis.map(|millis| millis as f64),
            index_version: index.index_version,
            details: index.details,
        }
    }
}
