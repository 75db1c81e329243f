//! Update and merge rows.

use joust_core::table;
use napi::Env;
use napi::bindgen_prelude::{Either, PromiseRaw};
use napi_derive::napi;

use crate::job_threads::on_threads_for;
use crate::promise::promise;
use crate::table::{Table, millis};
use crate::upload::{Upload, reader};

/// The values that an update sets, and its predicate.
#[napi(object)]
pub struct UpdateOptions {
    /// [column, SQL expression] pairs.
    pub updates: Vec<Vec<String>>,
    /// SQL; all rows when absent.
    pub predicate: Option<String>,
}

#[napi(object)]
pub struct UpdateResult {
    pub version: f64,
    pub num_updated_rows: f64,
}

/// How the rows of an upload are merged with those of a table.
#[napi(object)]
pub struct MergeOptions {
    /// Rows match if they are equal in these columns.
    pub on: Vec<String>,
    pub when_matched_update_all: Option<bool>,
    /// SQL over `source.` and `target.` columns.
    pub when_matched_update_all_filter: Option<String>,
    pub when_not_matched_insert_all: Option<bool>,
    pub when_not_matched_by_source_delete: Option<bool>,
    /// SQL over the table's columns.
    pub when_not_matched_by_source_delete_filter: Option<String>,
    /// Match through a scalar index if there is one; default true.
    pub use_index: Option<bool>,
    /// How long to retry after conflicts with other writers, ms.
    pub timeout_ms: Option<f64>,
    /// The table has no version yet: the rows become the first one. Code 5 if it has one. Default false.
    pub first: Option<bool>,
}

#[napi(object)]
pub struct MergeResult {
    pub version: f64,
    pub num_inserted_rows: f64,
    pub num_updated_rows: f64,
    pub num_deleted_rows: f64,
    /// Attempts that conflicts with other writers caused.
    pub num_attempts: f64,
    /// Rows of the upload.
    pub num_rows: f64,
}

#[napi]
impl Table {
    /// Sets columns of the rows for which the predicate is true, in one commit.
    #[napi(ts_return_type = "Promise<UpdateResult>")]
    pub fn update<'env>(
        &self,
        env: &'env Env,
        options: UpdateOptions,
    ) -> napi::Result<PromiseRaw<'env, UpdateResult>> {
        let table = self.inner.clone();
        let set = options.updates.into_iter().map(|pair| {
            let mut pair = pair.into_iter();
            (
                pair.next().unwrap_or_default(),
                pair.next().unwrap_or_default(),
            )
        });
        let update = table::Update {
            set: set.collect(),
            predicate: options.predicate,
        };
        promise(
            env,
            async move {
                let values = update.set.iter().map(|(_, value)| value);
                let expressions: Vec<_> = values.chain(&update.predicate).cloned().collect();
                let change = async move { table.update(update).await };
                on_threads_for(&expressions, change).await
            },
            |updated| UpdateResult {
                version: updated.version as f64,
                num_updated_rows: updated.num_updated_rows as f64,
            },
        )
    }

    /// Merges the upload's rows, in one commit.
    #[napi(ts_return_type = "Promise<MergeResult>")]
    pub fn merge_insert<'env>(
        &self,
        env: &'env Env,
        body: Either<&[u8], &Upload>,
        options: MergeOptions,
    ) -> napi::Result<PromiseRaw<'env, MergeResult>> {
        let table = self.inner.clone();
        let reader = reader(&self.inner, body);
        let first = options.first.unwrap_or(false);
        let merge = table::Merge {
            on: options.on,
            when_matched_update_all: options.when_matched_update_all.unwrap_or(false),
            when_matched_update_all_filter: options.when_matched_update_all_filter,
            when_not_matched_insert_all: options.when_not_matched_insert_all.unwrap_or(false),
            when_not_matched_by_source_delete: options
                .when_not_matched_by_source_delete
                .unwrap_or(false),
            when_not_matched_by_source_delete_filter: options
                .when_not_matched_by_source_delete_filter,
            use_index: options.use_index,
            timeout: options.timeout_ms.map(millis),
        };
        promise(
            env,
            async move {
                let conditions = [
                    &merge.when_matched_update_all_filter,
                    &merge.when_not_matched_by_source_delete_filter,
                ];
                let expressions: Vec<_> = conditions.into_iter().flatten().cloned().collect();
                let change = async move {
                    match first {
                        true => table.merge_insert_first(reader?, merge).await,
                        false => table.merge_insert(reader?, merge).await,
                    }
                };
                on_threads_for(&expressions, change).await
            },
            |merged| MergeResult {
                version: merged.version as f64,
                num_inserted_rows: merged.num_inserted_rows as f64,
                num_updated_rows: merged.num_updated_rows as f64,
                num_deleted_rows: merged.num_deleted_rows as f64,
                num_attempts: f64::from(merged.num_attempts),
                num_rows: merged.num_rows as f64,
            },
        )
    }
}
