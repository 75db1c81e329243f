//! Clones of tables.

use joust_core::table;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::promise::promise;
use crate::table::{Table, version_number};

/// The state of a table to clone; the newest when neither is set.
#[napi(object)]
pub struct CloneSource {
    pub version: Option<f64>,
    pub tag: Option<String>,
}

impl From<CloneSource> for table::CloneSource {
    fn from(state: CloneSource) -> Self {
        Self {
            version: state.version.map(version_number),
            tag: state.tag,
        }
    }
}

#[napi]
impl Table {
    /// Creates a table here from a version of another, with copies of all its files; returns the version. Code 5 when
    /// there is a table here. On failure, the caller must remove the files.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn clone_from<'env>(
        &self,
        env: &'env Env,
        source: &Table,
        state: CloneSource,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let (table, source) = (self.inner.clone(), source.inner.clone());
        let work = async move { table.clone_from(&source, state.into()).await };
        promise(env, work, |version| version as f64)
    }

    /// Tags a state of this table for a shallow clone: no clean-up removes the files of the tagged version.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn tag_for_clone<'env>(
        &self,
        env: &'env Env,
        state: CloneSource,
        name: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let work = async move { table.tag_for_clone(state.into(), &name).await };
        promise(env, work, |()| ())
    }

    /// Creates a table here that reads the files of a tagged version of another; returns the version. Code 5 when there
    /// is a table here. On failure, the caller must remove the files.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn clone_shallow<'env>(
        &self,
        env: &'env Env,
        source: &Table,
        tag: String,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let (table, source) = (self.inner.clone(), source.inner.clone());
        let work = async move { table.clone_shallow(&source, &tag).await };
        promise(env, work, |version| version as f64)
    }
}
