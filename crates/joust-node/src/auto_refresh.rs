//! Columns and views that refresh themselves.

use joust_core::jobs::{auto_refresh, backfill, view_refresh};
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::promise::promise;
use crate::table::{Table, version_number};

/// How a view refreshes itself.
#[napi(object)]
pub struct AutoRefresh {
    /// The time between two refreshes, if the declaration has one.
    pub interval_seconds: Option<f64>,
}

/// A column or view that refreshes itself.
#[napi(object)]
pub struct AutoRefreshDeclaration {
    /// The computed column; absent: the table is a view.
    pub column: Option<String>,
    /// The time between two refreshes, if the declaration has one.
    pub interval_seconds: Option<f64>,
}

/// The versions of an earlier refresh of all rows.
#[napi(object)]
pub struct Since {
    /// The version whose rows it read.
    pub computed: f64,
    /// The version with the values that it computed: of a column, it may have rows that were not read.
    pub published: f64,
}

/// The changes of a table since an earlier refresh.
#[napi(object)]
pub struct Changes {
    pub has_changed: bool,
    /// The newest version, for which it is true.
    pub version: f64,
}

impl From<Since> for backfill::Since {
    fn from(since: Since) -> Self {
        Self {
            computed: version_number(since.computed),
            published: version_number(since.published),
        }
    }
}

impl From<AutoRefresh> for view_refresh::AutoRefresh {
    fn from(refresh: AutoRefresh) -> Self {
        Self {
            interval_seconds: refresh.interval_seconds,
        }
    }
}

impl From<view_refresh::AutoRefresh> for AutoRefresh {
    fn from(refresh: view_refresh::AutoRefresh) -> Self {
        Self {
            interval_seconds: refresh.interval_seconds,
        }
    }
}

#[napi]
impl Table {
    /// What refreshes itself in the newest version.
    #[napi(ts_return_type = "Promise<Array<AutoRefreshDeclaration>>")]
    pub fn auto_refreshes<'env>(
        &self,
        env: &'env Env,
    ) -> napi::Result<PromiseRaw<'env, Vec<AutoRefreshDeclaration>>> {
        let table = self.inner.clone();
        let work = async move { table.auto_refreshes().await };
        promise(env, work, |declarations| {
            declarations
                .into_iter()
                .map(
                    |auto_refresh::Declaration { column, refresh }| AutoRefreshDeclaration {
                        column,
                        interval_seconds: refresh.interval_seconds,
                    },
                )
                .collect()
        })
    }

    /// Whether a refresh would compute something: the rows or the schema of the table have changed since `since`, or with
    /// a computed column, its inputs, its values or its declaration. Also true if those versions do not exist any more. A
    /// compaction counts as a change, a new index does not.
    #[napi(ts_return_type = "Promise<Changes>")]
    pub fn changes_since<'env>(
        &self,
        env: &'env Env,
        since: Since,
        column: Option<String>,
    ) -> napi::Result<PromiseRaw<'env, Changes>> {
        let table = self.inner.clone();
        let work = async move { table.changes_since(since.into(), column.as_deref()).await };
        promise(env, work, |changes| Changes {
            has_changed: changes.has_changed,
            version: changes.version as f64,
        })
    }
}
