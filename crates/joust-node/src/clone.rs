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
        let state = table::CloneSource {
            version: state.version.map(version_number),
            tag: state.tag,
        };
        let work = async move { table.clone_from(&source, state).await };
        promise(env, work, |version| version as f64)
    }
}
