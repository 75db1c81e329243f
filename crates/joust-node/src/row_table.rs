//! A table for a caller that may use only some rows.
//!
//! It has only the methods that apply the row filter: work that has none fails, instead of using all rows.

use joust_core::RowFilter;
use napi::Env;
use napi::bindgen_prelude::{Buffer, Either, PromiseRaw};
use napi_derive::napi;

use crate::blobs::{Blob, BlobsResult};
use crate::changes::ChangeOptions;
use crate::error::js_error;
use crate::parts::{PartResult, PartsCommit};
use crate::promise::promise;
use crate::query::{QueryAnswer, QueryOptions};
use crate::rows::{MergeOptions, MergeResult, UpdateOptions, UpdateResult};
use crate::table::{CountOptions, DeleteResult, ReadOptions, Table, WriteResult};
use crate::task::Task;
use crate::upload::Upload;

/// The rows of a table that one caller may use.
#[napi]
pub struct RowTable {
    table: Table,
}

/// Checks the form of a row filter, independent of a table.
// Test builds register nothing with Node, so the compiler considers it unused.
#[cfg_attr(test, allow(dead_code))]
#[napi]
pub fn check_row_filter(env: &Env, condition: String) -> napi::Result<()> {
    let checked = RowFilter::any(&[condition]);
    checked.map(drop).map_err(|error| js_error(env, &error))
}

#[napi]
impl Table {
    /// The same table, for a caller that may use only the rows for which one of the SQL conditions is true.
    #[napi]
    pub fn with_rows(&self, env: &Env, conditions: Vec<String>) -> napi::Result<RowTable> {
        let rows = RowFilter::any(&conditions).map_err(|error| js_error(env, &error))?;
        Ok(RowTable {
            table: Table::new(self.inner.with_rows(rows)),
        })
    }

    /// Checks that a SQL condition can be a row filter of the newest version.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn check_row_filter<'env>(
        &self,
        env: &'env Env,
        condition: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let work = async move { table.check_row_filter(&condition).await };
        promise(env, work, |()| ())
    }
}

#[napi]
impl RowTable {
    /// As `Table.onBranch`.
    #[napi]
    pub fn on_branch(&self, branch: Option<String>) -> RowTable {
        RowTable {
            table: self.table.on_branch(branch),
        }
    }

    /// As `Table.forRequest`.
    #[napi]
    pub fn for_request(&self, request: String, since: Option<f64>) -> RowTable {
        RowTable {
            table: self.table.for_request(request, since),
        }
    }

    /// As `Table.query`, over these rows.
    #[napi(ts_return_type = "Promise<QueryAnswer>")]
    pub fn query<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: QueryOptions,
    ) -> napi::Result<PromiseRaw<'env, QueryAnswer>> {
        self.table.query(env, body, options)
    }

    /// As `Table.explainPlan`, over these rows. Steps that would describe other rows are left out.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn explain_plan<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: QueryOptions,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        self.table.explain_plan(env, body, options)
    }

    /// As `Table.analyzePlan`, over these rows. Only the first step has metrics: those of the result.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn analyze_plan<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: QueryOptions,
        task: &Task,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        self.table.analyze_plan(env, body, options, task)
    }

    /// As `Table.countRows`, over these rows.
    #[napi(ts_return_type = "number | Promise<number>")]
    pub fn count_rows<'env>(
        &self,
        env: &'env Env,
        options: Option<CountOptions>,
    ) -> napi::Result<Either<f64, PromiseRaw<'env, f64>>> {
        self.table.count_rows(env, options)
    }

    /// As `Table.changes`, of a table that has only these rows.
    #[napi(ts_return_type = "Promise<QueryAnswer>")]
    pub fn changes<'env>(
        &self,
        env: &'env Env,
        options: ChangeOptions,
    ) -> napi::Result<PromiseRaw<'env, QueryAnswer>> {
        self.table.changes(env, options)
    }

    /// As `Table.fetchBlobs`, of these rows.
    #[napi(ts_return_type = "Promise<BlobsResult>")]
    pub fn fetch_blobs<'env>(
        &self,
        env: &'env Env,
        column: String,
        row_ids: Vec<f64>,
        options: Option<ReadOptions>,
        task: &Task,
    ) -> napi::Result<PromiseRaw<'env, BlobsResult>> {
        self.table.fetch_blobs(env, column, row_ids, options, task)
    }

    /// As `Table.blob`, of one of these rows.
    #[napi(ts_return_type = "Promise<Blob>")]
    pub fn blob<'env>(
        &self,
        env: &'env Env,
        column: String,
        row: f64,
        is_address: bool,
        options: Option<ReadOptions>,
        timeout_ms: Option<f64>,
    ) -> napi::Result<PromiseRaw<'env, Blob>> {
        self.table
            .blob(env, column, row, is_address, options, timeout_ms)
    }

    /// As `Table.append`. Code 15 if a row is not one of these rows.
    #[napi(ts_return_type = "Promise<WriteResult>")]
    pub fn append<'env>(
        &self,
        env: &'env Env,
        body: Either<&[u8], &Upload>,
    ) -> napi::Result<PromiseRaw<'env, WriteResult>> {
        self.table.append(env, body)
    }

    /// As `Table.writePart`. Code 15 if a row is not one of these rows.
    #[napi(ts_return_type = "Promise<PartResult>")]
    pub fn write_part<'env>(
        &self,
        env: &'env Env,
        body: Either<&[u8], &Upload>,
        overwrite: bool,
        version: f64,
    ) -> napi::Result<PromiseRaw<'env, PartResult>> {
        self.table.write_part(env, body, overwrite, version)
    }

    /// As `Table.commitParts`, of parts whose rows were checked when they were written. Code 15 for an overwrite.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn commit_parts<'env>(
        &self,
        env: &'env Env,
        commit: PartsCommit,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        self.table.commit_parts(env, commit)
    }

    /// As `Table.committedParts`.
    #[napi(ts_return_type = "Promise<number | null>")]
    pub fn committed_parts<'env>(
        &self,
        env: &'env Env,
        id: String,
        began: f64,
        parts: Vec<Buffer>,
    ) -> napi::Result<PromiseRaw<'env, Option<f64>>> {
        self.table.committed_parts(env, id, began, parts)
    }

    /// As `Table.removeParts`.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn remove_parts<'env>(
        &self,
        env: &'env Env,
        parts: Vec<Buffer>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        self.table.remove_parts(env, parts)
    }

    /// As `Table.mergeInsert`, with these rows as the table. Code 15 if a row of the upload is not one of them, or if the
    /// conditions do not permit a merge.
    #[napi(ts_return_type = "Promise<MergeResult>")]
    pub fn merge_insert<'env>(
        &self,
        env: &'env Env,
        body: Either<&[u8], &Upload>,
        options: MergeOptions,
    ) -> napi::Result<PromiseRaw<'env, MergeResult>> {
        self.table.merge_insert(env, body, options)
    }

    /// As `Table.delete`, of these rows.
    #[napi(ts_return_type = "Promise<DeleteResult>")]
    pub fn delete<'env>(
        &self,
        env: &'env Env,
        predicate: String,
    ) -> napi::Result<PromiseRaw<'env, DeleteResult>> {
        self.table.delete(env, predicate)
    }

    /// As `Table.update`, of these rows. Code 15 if it sets a column that the condition reads.
    #[napi(ts_return_type = "Promise<UpdateResult>")]
    pub fn update<'env>(
        &self,
        env: &'env Env,
        options: UpdateOptions,
    ) -> napi::Result<PromiseRaw<'env, UpdateResult>> {
        self.table.update(env, options)
    }
}
