//! Compares a branch with the main branch.

use joust_core::index;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::index::IndexDescription;
use crate::promise::promise;
use crate::table::{Table, millis, version_number};

/// A column in a comparison.
#[napi(object)]
pub struct ColumnFacts {
    pub name: String,
    /// Lance's logical name of the type.
    pub data_type: String,
    pub nullable: bool,
    /// Its values are beside the rows: scans return descriptors of them.
    pub is_blob: bool,
}

/// One column on both branches.
#[napi(object)]
pub struct ColumnChange {
    pub main: ColumnFacts,
    pub branch: ColumnFacts,
}

/// Rows of both branches, by changes since the branch began.
#[napi(object)]
pub struct RowDifference {
    /// In both, and updated in neither.
    pub unchanged: f64,
    /// In both, and updated in one of them or both.
    pub changed: f64,
    pub new_on_main: f64,
    pub new_on_branch: f64,
}

#[napi(object)]
pub struct BranchDifference {
    /// Absent: the branch began on the main branch.
    pub parent_branch: Option<String>,
    /// The version at which the branch began.
    pub parent_version: f64,
    pub main_version: f64,
    pub branch_version: f64,
    pub rows_on_main: f64,
    pub rows_on_branch: f64,
    /// Absent if the rows have no stable ids.
    pub rows: Option<RowDifference>,
    pub added_columns: Vec<ColumnFacts>,
    pub removed_columns: Vec<ColumnFacts>,
    pub changed_columns: Vec<ColumnChange>,
    pub added_indices: Vec<IndexDescription>,
    pub removed_indices: Vec<IndexDescription>,
}

#[napi]
impl Table {
    /// Compares a branch's newest version with the main branch's. `timeout_ms`: the time that the request has left.
    #[napi(ts_return_type = "Promise<BranchDifference>")]
    pub fn difference<'env>(
        &self,
        env: &'env Env,
        branch: String,
        timeout_ms: Option<f64>,
    ) -> napi::Result<PromiseRaw<'env, BranchDifference>> {
        let table = self.inner.clone();
        let timeout = timeout_ms.map(millis);
        let work = async move { table.difference(&branch, timeout).await };
        promise(env, work, BranchDifference::from)
    }

    /// Copies columns of a branch to the main branch, in one commit; returns its version. Code 14 if a newest version
    /// differs from the given one, code 19 if the rows differ.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn promote_columns<'env>(
        &self,
        env: &'env Env,
        branch: String,
        columns: Vec<String>,
        main_version: f64,
        branch_version: f64,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let (main, other) = (version_number(main_version), version_number(branch_version));
        let work = async move { table.promote_columns(&branch, &columns, main, other).await };
        promise(env, work, |version| version as f64)
    }
}

impl From<index::Difference> for BranchDifference {
    fn from(found: index::Difference) -> Self {
        let columns = |columns: Vec<index::ColumnFacts>| columns.into_iter().map(Into::into);
        Self {
            parent_branch: found.parent_branch,
            parent_version: found.parent_version as f64,
            main_version: found.main_version as f64,
            branch_version: found.branch_version as f64,
            rows_on_main: found.rows_on_main as f64,
            rows_on_branch: found.rows_on_branch as f64,
            rows: found.rows.map(|rows| RowDifference {
                unchanged: rows.unchanged as f64,
                changed: rows.changed as f64,
                new_on_main: rows.new_on_main as f64,
                new_on_branch: rows.new_on_branch as f64,
            }),
            added_columns: columns(found.added_columns).collect(),
            removed_columns: columns(found.removed_columns).collect(),
            changed_columns: found
                .changed_columns
                .into_iter()
                .map(|(main, branch)| ColumnChange {
                    main: main.into(),
                    branch: branch.into(),
                })
                .collect(),
            added_indices: found.added_indices.into_iter().map(Into::into).collect(),
            removed_indices: found.removed_indices.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<index::ColumnFacts> for ColumnFacts {
    fn from(column: index::ColumnFacts) -> Self {
        Self {
            name: column.name,
            data_type: column.data_type,
            nullable: column.nullable,
            is_blob: column.is_blob,
        }
    }
}
