//! Versions, tags, branches, and the table of an idempotent request.

use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

use joust_core::table::{self, Attempt, NewVersion};
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::promise::promise;
use crate::table::{Table, version_number};

/// A version in a listing.
#[napi(object)]
pub struct TableVersion {
    pub version: f64,
    /// Path of the manifest in its store.
    pub manifest_path: String,
    /// Bytes.
    pub manifest_size: f64,
    pub e_tag: Option<String>,
    /// When the manifest was written, ms since the epoch.
    pub timestamp_millis: f64,
}

/// A range of versions, for deletion.
#[napi(object)]
pub struct VersionRange {
    /// Inclusive.
    pub start: f64,
    /// Exclusive; open when absent.
    pub end: Option<f64>,
}

/// A named pointer to a version.
#[napi(object)]
pub struct TableTag {
    pub name: String,
    pub version: f64,
    /// Absent for the main branch.
    pub branch: Option<String>,
    /// Bytes.
    pub manifest_size: f64,
    pub created_at_millis: Option<f64>,
    pub updated_at_millis: Option<f64>,
    pub metadata: HashMap<String, String>,
}

/// A line of versions that starts at a version of another line.
#[napi(object)]
pub struct TableBranch {
    pub name: String,
    /// Absent for the main branch.
    pub parent_branch: Option<String>,
    pub parent_version: f64,
    /// Distinguishes the branch from earlier and later ones of its name.
    pub identity: String,
    /// Seconds since the epoch.
    pub created_at_seconds: f64,
    /// Bytes.
    pub manifest_size: f64,
    pub metadata: HashMap<String, String>,
}

#[napi]
impl Table {
    /// The same table on a branch; `main` or null is the main branch. Does not access storage.
    #[napi]
    pub fn on_branch(&self, branch: Option<String>) -> Table {
        Table::new(self.inner.on_branch(branch.as_deref()))
    }

    /// The same table, for the changes of a request that takes effect once; `request` is unique to it. `since` (ms
    /// since the epoch): start of an earlier attempt that may have committed. If it has, append, create, overwrite, merge,
    /// update and delete return the answer of that attempt, and an index build changes nothing.
    #[napi]
    pub fn for_request(&self, request: String, since: Option<f64>) -> Table {
        let since = since.map(|millis| UNIX_EPOCH + Duration::from_millis(millis.max(0.0) as u64));
        Table::new(self.inner.for_request(Attempt { id: request, since }))
    }

    /// All versions of this branch, oldest first.
    #[napi(ts_return_type = "Promise<Array<TableVersion>>")]
    pub fn list_versions<'env>(
        &self,
        env: &'env Env,
    ) -> napi::Result<PromiseRaw<'env, Vec<TableVersion>>> {
        let table = self.inner.clone();
        promise(
            env,
            async move { table.list_versions().await },
            |versions| versions.into_iter().map(TableVersion::from).collect(),
        )
    }

    #[napi(ts_return_type = "Promise<TableVersion>")]
    pub fn describe_version<'env>(
        &self,
        env: &'env Env,
        version: f64,
    ) -> napi::Result<PromiseRaw<'env, TableVersion>> {
        let table = self.inner.clone();
        let work = async move { table.describe_version(version_number(version)).await };
        promise(env, work, TableVersion::from)
    }

    /// Removes the records of versions; returns their number. If the newest version or one that a tag or branch
    /// references is among them, removes nothing and fails (code 19).
    #[napi(ts_return_type = "Promise<number>")]
    pub fn delete_versions<'env>(
        &self,
        env: &'env Env,
        ranges: Vec<VersionRange>,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let work = async move { table.delete_versions(&bounds(&ranges)).await };
        promise(env, work, |count| count as f64)
    }

    /// The number of versions that `deleteVersions` would remove; fails if it would fail.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn count_deletable<'env>(
        &self,
        env: &'env Env,
        ranges: Vec<VersionRange>,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let work = async move { table.deletable(&bounds(&ranges)).await };
        promise(env, work, |versions| versions.len() as f64)
    }

    /// Publishes a manifest that a client wrote (`staged`: its path in the table's store) as a version. Publishing the
    /// same bytes again succeeds, other bytes are a conflict (code 14). `size`: bytes of the manifest according to the
    /// client; `v1`: the old naming scheme of manifests; if absent, that of the table.
    #[napi(ts_return_type = "Promise<TableVersion>")]
    pub fn publish_version<'env>(
        &self,
        env: &'env Env,
        version: f64,
        staged: String,
        size: Option<f64>,
        v1: Option<bool>,
    ) -> napi::Result<PromiseRaw<'env, TableVersion>> {
        let table = self.inner.clone();
        let work = async move {
            let new = new_version(version, &staged, size, v1);
            table.publish_version(new).await
        };
        promise(env, work, TableVersion::from)
    }

    /// Whether the version is published already; fails if `publishVersion` would fail now.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn is_published<'env>(
        &self,
        env: &'env Env,
        version: f64,
        staged: String,
        size: Option<f64>,
        v1: Option<bool>,
    ) -> napi::Result<PromiseRaw<'env, bool>> {
        let table = self.inner.clone();
        let work = async move {
            let new = new_version(version, &staged, size, v1);
            table.is_published(new).await
        };
        promise(env, work, |published| published)
    }

    /// Reverts `publishVersion` if there is no later version (else code 14): moves the version's manifest back to
    /// `staged`.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn withdraw_version<'env>(
        &self,
        env: &'env Env,
        version: f64,
        staged: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let work = async move {
            table
                .withdraw_version(version_number(version), &staged)
                .await
        };
        promise(env, work, |()| ())
    }

    /// Makes the state of an old version the newest version; returns the new version.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn restore<'env>(
        &self,
        env: &'env Env,
        version: f64,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let work = async move { table.restore(version_number(version)).await };
        promise(env, work, |version| version as f64)
    }

    /// All tags, in the order of their names.
    #[napi(ts_return_type = "Promise<Array<TableTag>>")]
    pub fn list_tags<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Vec<TableTag>>> {
        let table = self.inner.clone();
        promise(env, async move { table.list_tags().await }, |tags| {
            tags.into_iter().map(TableTag::from).collect()
        })
    }

    #[napi(ts_return_type = "Promise<TableTag>")]
    pub fn tag<'env>(
        &self,
        env: &'env Env,
        name: String,
    ) -> napi::Result<PromiseRaw<'env, TableTag>> {
        let table = self.inner.clone();
        promise(env, async move { table.tag(&name).await }, TableTag::from)
    }

    /// Creates a tag for a version of this branch.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn create_tag<'env>(
        &self,
        env: &'env Env,
        name: String,
        version: f64,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let work = async move { table.create_tag(&name, version_number(version)).await };
        promise(env, work, |()| ())
    }

    /// Moves a tag to another version of this branch.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn update_tag<'env>(
        &self,
        env: &'env Env,
        name: String,
        version: f64,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let work = async move { table.update_tag(&name, version_number(version)).await };
        promise(env, work, |()| ())
    }

    #[napi(ts_return_type = "Promise<void>")]
    pub fn delete_tag<'env>(
        &self,
        env: &'env Env,
        name: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        promise(env, async move { table.delete_tag(&name).await }, |()| ())
    }

    /// All branches but the main one, in the order of their names.
    #[napi(ts_return_type = "Promise<Array<TableBranch>>")]
    pub fn list_branches<'env>(
        &self,
        env: &'env Env,
    ) -> napi::Result<PromiseRaw<'env, Vec<TableBranch>>> {
        let table = self.inner.clone();
        promise(
            env,
            async move { table.list_branches().await },
            |branches| branches.into_iter().map(TableBranch::from).collect(),
        )
    }

    /// Creates a branch at a version of this one; at the newest when absent.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn create_branch<'env>(
        &self,
        env: &'env Env,
        name: String,
        version: Option<f64>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let version = version.map(version_number);
        let work = async move { table.create_branch(&name, version).await };
        promise(env, work, |()| ())
    }

    /// Removes a branch and the files that only it references.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn delete_branch<'env>(
        &self,
        env: &'env Env,
        name: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let work = async move { table.delete_branch(&name).await };
        promise(env, work, |()| ())
    }
}

fn new_version(version: f64, staged: &str, size: Option<f64>, v1: Option<bool>) -> NewVersion<'_> {
    NewVersion {
        version: version_number(version),
        staged,
        size: size.map(|size| size as u64),
        v1,
    }
}

fn bounds(ranges: &[VersionRange]) -> Vec<(u64, Option<u64>)> {
    ranges
        .iter()
        .map(|range| (version_number(range.start), range.end.map(version_number)))
        .collect()
}

impl From<table::Version> for TableVersion {
    fn from(version: table::Version) -> Self {
        Self {
            version: version.version as f64,
            manifest_path: version.manifest_path,
            manifest_size: version.manifest_size as f64,
            e_tag: version.e_tag,
            timestamp_millis: version.timestamp_millis as f64,
        }
    }
}

impl From<table::Tag> for TableTag {
    fn from(tag: table::Tag) -> Self {
        Self {
            name: tag.name,
            version: tag.version as f64,
            branch: tag.branch,
            manifest_size: tag.manifest_size as f64,
            created_at_millis: tag.created_at_millis.map(|millis| millis as f64),
            updated_at_millis: tag.updated_at_millis.map(|millis| millis as f64),
            metadata: tag.metadata,
        }
    }
}

impl From<table::Branch> for TableBranch {
    fn from(branch: table::Branch) -> Self {
        Self {
            name: branch.name,
            parent_branch: branch.parent_branch,
            parent_version: branch.parent_version as f64,
            identity: branch.identity,
            created_at_seconds: branch.created_at_seconds as f64,
            manifest_size: branch.manifest_size as f64,
            metadata: branch.metadata,
        }
    }
}
