//! Multipart writes.

use joust_core::table;
use napi::Env;
use napi::bindgen_prelude::{Buffer, Either, PromiseRaw};
use napi_derive::napi;

use crate::promise::promise;
use crate::table::{Table, version_number};
use crate::upload::{Upload, reader};

/// The files that one part of a write put into the table's data directory.
#[napi(object)]
pub struct PartResult {
    /// The description for `commitParts` and `removeParts`.
    pub contents: Buffer,
    /// Rows of the upload.
    pub num_rows: f64,
}

/// A whole write, ready to commit.
#[napi(object)]
pub struct PartsCommit {
    /// Unique to the write; stored with the version: see `committedParts`.
    pub id: String,
    /// The version for which the parts were written.
    pub version: f64,
    /// Replace schema and rows; else append.
    pub overwrite: bool,
    /// `contents` of each part.
    pub parts: Vec<Buffer>,
}

#[napi]
impl Table {
    /// Writes one part of a larger write for a version; the part is not visible yet.
    #[napi(ts_return_type = "Promise<PartResult>")]
    pub fn write_part<'env>(
        &self,
        env: &'env Env,
        body: Either<&[u8], &Upload>,
        overwrite: bool,
        version: f64,
    ) -> napi::Result<PromiseRaw<'env, PartResult>> {
        let table = self.inner.clone();
        let reader = reader(&self.inner, body);
        let version = version_number(version);
        promise(
            env,
            async move { table.write_part(reader?, overwrite, version).await },
            |part| PartResult {
                contents: part.contents.into(),
                num_rows: part.num_rows as f64,
            },
        )
    }

    /// Makes the rows of all parts visible in one version; returns it. Code 19 if the table has changed so that the
    /// parts no longer fit.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn commit_parts<'env>(
        &self,
        env: &'env Env,
        commit: PartsCommit,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let commit = table::PartsCommit {
            id: commit.id,
            version: version_number(commit.version),
            overwrite: commit.overwrite,
            parts: bytes(commit.parts),
        };
        promise(
            env,
            async move { table.commit_parts(commit).await },
            |version| version as f64,
        )
    }

    /// The version that the commit of a write created, or the oldest remaining later version with its rows; null if
    /// there was no commit. `began`: the version for which the parts were written; `parts`: `contents` of each. Code 14
    /// if it can no longer be determined.
    #[napi(ts_return_type = "Promise<number | null>")]
    pub fn committed_parts<'env>(
        &self,
        env: &'env Env,
        id: String,
        began: f64,
        parts: Vec<Buffer>,
    ) -> napi::Result<PromiseRaw<'env, Option<f64>>> {
        let table = self.inner.clone();
        let (began, parts) = (version_number(began), bytes(parts));
        let work = async move { table.committed_parts(&id, began, &parts).await };
        promise(env, work, |version| version.map(|version| version as f64))
    }

    /// Removes the files of parts that will not be committed.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn remove_parts<'env>(
        &self,
        env: &'env Env,
        parts: Vec<Buffer>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let parts = bytes(parts);
        promise(
            env,
            async move { table.remove_parts(&parts).await },
            |()| {},
        )
    }
}

fn bytes(parts: Vec<Buffer>) -> Vec<Vec<u8>> {
    parts.iter().map(|part| part.to_vec()).collect()
}
