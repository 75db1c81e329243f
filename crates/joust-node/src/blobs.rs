//! Large values.

use std::sync::Arc;

use joust_core::table;
use joust_core::work::cancelled;
use napi::Env;
use napi::bindgen_prelude::{Buffer, PromiseRaw};
use napi_derive::napi;

use crate::promise::promise;
use crate::table::{ReadOptions, Table, millis, version_number};
use crate::task::Task;

/// The values of one column in some rows.
#[napi(object)]
pub struct BlobsResult {
    /// The version of the table that was read.
    pub version: f64,
    /// An Arrow IPC stream of one `large_binary` column.
    pub bytes: Buffer,
}

/// One large value, for reads of ranges until `end` is called, which also pins its version.
#[napi]
pub struct Blob {
    version: f64,
    size: Option<f64>,
    inner: Option<Arc<table::Blob>>,
}

#[napi]
impl Blob {
    /// The version of the table that holds the value.
    #[napi(getter)]
    pub fn version(&self) -> f64 {
        self.version
    }

    /// Bytes; null for a null value.
    #[napi(getter)]
    pub fn size(&self) -> Option<f64> {
        self.size
    }

    /// The bytes from `start` to before `end`.
    #[napi(ts_return_type = "Promise<Buffer>")]
    pub fn read<'env>(
        &self,
        env: &'env Env,
        start: f64,
        end: f64,
    ) -> napi::Result<PromiseRaw<'env, Buffer>> {
        let blob = self.inner.clone();
        let work = async move {
            let blob = blob.ok_or_else(cancelled)?;
            blob.read(start as u64..end as u64).await
        };
        promise(env, work, |bytes| Buffer::from(bytes.to_vec()))
    }

    /// Ends the reads and unpins the version. May be called repeatedly.
    #[napi]
    pub fn end(&mut self) {
        self.inner = None;
    }
}

#[napi]
impl Table {
    /// The values of a binary or blob column in the rows with these ids, in their order.
    #[napi(ts_return_type = "Promise<BlobsResult>")]
    pub fn fetch_blobs<'env>(
        &self,
        env: &'env Env,
        column: String,
        row_ids: Vec<f64>,
        options: Option<ReadOptions>,
        task: &Task,
    ) -> napi::Result<PromiseRaw<'env, BlobsResult>> {
        let table = self.inner.clone();
        let options = options.unwrap_or_default().into();
        // An invalid row id becomes one that no table has, as with versions.
        let ids: Vec<u64> = row_ids.into_iter().map(version_number).collect();
        let work = task.guard(async move { table.fetch_blobs(&column, &ids, options).await });
        promise(env, work, |(version, bytes)| BlobsResult {
            version: version as f64,
            bytes: bytes.into(),
        })
    }

    /// The value of a binary or blob column in one row, given by its id or its address. `timeout_ms`: the time that the
    /// request has left, for this call and the reads of the value.
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
        let table = self.inner.clone();
        let options = options.unwrap_or_default().into();
        let row = match is_address {
            true => table::Row::Address(version_number(row)),
            false => table::Row::Id(version_number(row)),
        };
        let timeout = timeout_ms.map(millis);
        let work = async move { table.blob(&column, row, options, timeout).await };
        promise(env, work, |blob| Blob {
            version: blob.version() as f64,
            size: blob.size().map(|size| size as f64),
            inner: Some(Arc::new(blob)),
        })
    }
}
