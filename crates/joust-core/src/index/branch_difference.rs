//! Compares a branch with the main branch.

use std::collections::HashMap;
use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::ROW_ID;
use lance_core::datatypes::{Field, Schema};
use lance_table::format::{DataFile, Fragment};
use roaring::RoaringTreemap;

use super::IndexDescription;
use crate::error::{Code, Error, Result};
use crate::names::short;
use crate::table::{ReadOptions, Table};

/// A column in a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFacts {
    pub name: String,
    /// Lance's logical name of the type.
    pub data_type: String,
    pub nullable: bool,
    /// Its values are beside the rows: scans return descriptors of them.
    pub is_blob: bool,
}

/// Rows of both branches, by changes since the branch began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowDifference {
    /// In both, and updated in neither.
    pub unchanged: u64,
    /// In both, and updated in one of them or both.
    pub changed: u64,
    pub new_on_main: u64,
    pub new_on_branch: u64,
}

/// A branch compared with the main branch.
#[derive(Debug, Clone)]
pub struct Difference {
    /// `None`: the branch began on the main branch.
    pub parent_branch: Option<String>,
    /// The version at which the branch began.
    pub parent_version: u64,
    pub main_version: u64,
    pub branch_version: u64,
    pub rows_on_main: u64,
    pub rows_on_branch: u64,
    /// `None` if rows cannot be matched: the table has no stable row ids, or the version at which the branch began is
    /// removed, or it began on another branch.
    pub rows: Option<RowDifference>,
    pub added_columns: Vec<ColumnFacts>,
    pub removed_columns: Vec<ColumnFacts>,
    /// On the main branch and on this one.
    pub changed_columns: Vec<(ColumnFacts, ColumnFacts)>,
    pub added_indices: Vec<IndexDescription>,
    pub removed_indices: Vec<IndexDescription>,
}

impl Table {
    /// Compares a branch's newest version with the main branch's.
    pub async fn difference(&self, branch: &str, timeout: Option<Duration>) -> Result<Difference> {
        let mut deadline = self.tables().query_deadline(timeout);
        deadline.spend(self.differences(branch)).await
    }

    async fn differences(&self, branch: &str) -> Result<Difference> {
        let main = self.on_branch(None);
        let found = main
            .list_branches()
            .await?
            .into_iter()
            .find(|known| known.name == branch)
            .ok_or_else(|| {
                Error::new(
                    Code::TableBranchNotFound,
                    format!("there is no branch `{}`", short(branch)),
                )
            })?;
        let other = self.on_branch(Some(branch));
        let (base, tip) = (main.newest().await?, other.newest().await?);
        let of_main = main.list_indices(ReadOptions::default()).await?;
        let of_branch = other.list_indices(ReadOptions::default()).await?;
        let rows = match found.parent_branch {
            None => rows(&base, &tip, found.parent_version).await?,
            Some(_) => None,
        };
        let (schema, other_schema) = (base.schema(), tip.schema());
        Ok(Difference {
            parent_branch: found.parent_branch,
            parent_version: found.parent_version,
            main_version: base.version_id(),
            branch_version: tip.version_id(),
            rows_on_main: base.count_rows(None).await? as u64,
            rows_on_branch: tip.count_rows(None).await? as u64,
            rows,
            added_columns: lacking(other_schema, schema),
            removed_columns: lacking(schema, other_schema),
            changed_columns: changed(schema, other_schema),
            added_indices: without(&of_branch, &of_main),
            removed_indices: without(&of_main, &of_branch),
        })
    }
}

/// The columns of `schema` that `other` does not have.
fn lacking(schema: &Schema, other: &Schema) -> Vec<ColumnFacts> {
    let missing = |field: &&Field| other.field(&field.name).is_none();
    schema.fields.iter().filter(missing).map(facts).collect()
}

fn changed(main: &Schema, branch: &Schema) -> Vec<(ColumnFacts, ColumnFacts)> {
    main.fields
        .iter()
        .filter_map(|field| Some((facts(field), facts(branch.field(&field.name)?))))
        .filter(|(before, after)| before != after)
        .collect()
}

fn facts(field: &Field) -> ColumnFacts {
    ColumnFacts {
        name: field.name.clone(),
        data_type: field.logical_type.to_string(),
        nullable: field.nullable,
        is_blob: field.is_blob(),
    }
}

fn without(indices: &[IndexDescription], others: &[IndexDescription]) -> Vec<IndexDescription> {
    indices
        .iter()
        .filter(|index| others.iter().all(|other| other.name != index.name))
        .cloned()
        .collect()
}

/// Row ids below the next free one at the start of the branch identify the same row on both sides.
async fn rows(main: &Dataset, branch: &Dataset, began: u64) -> Result<Option<RowDifference>> {
    if !main.manifest().uses_stable_row_ids() {
        return Ok(None);
    }
    let Ok(origin) = main.checkout_version(began).await else {
        return Ok(None);
    };
    let first_new = origin.manifest().next_row_id;
    let old = format!("{ROW_ID} < {first_new}");
    let new = format!("{ROW_ID} >= {first_new}");
    let common = row_ids(main, &old, None).await? & row_ids(branch, &old, None).await?;
    let unchanged = unchanged(main, &origin).await? & unchanged(branch, &origin).await?;
    Ok(Some(RowDifference {
        unchanged: unchanged.len(),
        changed: common.len() - unchanged.len(),
        new_on_main: row_ids(main, &new, None).await?.len(),
        new_on_branch: row_ids(branch, &new, None).await?.len(),
    }))
}

/// The rows of `origin` with unchanged values. For Lance a new column is an update of every row, but it keeps the
/// existing files of the fragments.
async fn unchanged(dataset: &Dataset, origin: &Dataset) -> Result<RoaringTreemap> {
    let old = format!("{ROW_ID} < {}", origin.manifest().next_row_id);
    let began = origin.version_id();
    let untouched = format!("{old} AND _row_last_updated_at_version <= {began}");
    let rows = row_ids(dataset, &untouched, None).await?;
    let before: HashMap<u64, &Fragment> = origin
        .fragments()
        .iter()
        .map(|fragment| (fragment.id, fragment))
        .collect();
    let kept: Vec<Fragment> = dataset
        .fragments()
        .iter()
        .filter(|now| {
            let before = before.get(&now.id);
            before.is_some_and(|old| old.files.iter().all(|file| has_file(now, file)))
        })
        .cloned()
        .collect();
    if kept.is_empty() {
        return Ok(rows);
    }
    Ok(rows | row_ids(dataset, &old, Some(kept)).await?)
}

fn has_file(fragment: &Fragment, wanted: &DataFile) -> bool {
    fragment.files.iter().any(|file| file.path == wanted.path)
}

async fn row_ids(
    dataset: &Dataset,
    filter: &str,
    fragments: Option<Vec<Fragment>>,
) -> Result<RoaringTreemap> {
    let mut scanner = dataset.scan();
    scanner.project::<&str>(&[])?.with_row_id().filter(filter)?;
    if let Some(fragments) = fragments {
        scanner.with_fragments(fragments);
    }
    let mut batches = scanner.try_into_stream().await?;
    let mut ids = RoaringTreemap::new();
    while let Some(batch) = batches.try_next().await? {
        if let Some(column) = batch.column_by_name(ROW_ID) {
            ids.extend(column.as_primitive::<UInt64Type>().values().iter().copied());
        }
    }
    Ok(ids)
}
