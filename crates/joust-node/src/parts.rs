//! Writes in several parts.

use joust_core::table;
use napi::Env;
use napi::bindgen_prelude::{Buffer, Either, PromiseRaw};
use napi_derive::napi;

use crate::promise::promise;
use crate::table::{Table, version_number};
use crate::upload::{Upload, reader};

/// What one part of a write put into the table's data directory.
#[napi(object)]
pub struct PartResult {
    /// What `commitParts` and `removeParts` need to know of it.
    pub contents: Buffer,
    /// Rows the upload held.
    pub num_rows: f64,
}

/// A whole write, ready to become a version.
#[napi(object)]
pub struct PartsCommit {
    /// Unique to the write, and kept with the version: see `committedParts`.
    pub id: String,
    /// The version that the parts were written against.
    pub version: f64,
    /// Replace schema and rows; else append.
    pub overwrite: bool,
    /// `contents` of each part.
    pub parts: Vec<Buffer>,
}

#[napi]
impl Table {
    /// Writes one part of a larger write against a version; nobody sees it.
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

    /// Makes the rows of all parts visible in one version, whose number it gives back. Code 19 when
    /// the table was changed so that they do not fit any more.
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

    /// The version that the commit of a write made, or the oldest after it that is not cleaned up and has
    /// the rows; null if none was made. `began`: the version that the write's parts were written against;
    /// `parts`: `contents` of each. Code 14 when that can't be told any more.
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
