//! A segment of an index, and whether it still fits the table.

use std::collections::BTreeSet;
use std::sync::Arc;

use lance::Dataset;
use lance_core::datatypes::Field;
use lance_table::format::{DataFile, Fragment, IndexMetadata, RowIdMeta};

use crate::error::Result;

/// A segment that no version names yet.
pub struct Segment {
    pub entry: IndexMetadata,
    /// The version from which it was built.
    pub source: Arc<Dataset>,
    /// Ids of its fragments.
    pub fragments: Vec<u64>,
}

impl Segment {
    /// Whether its rows are those of a version, apart from deleted ones. A row that an update moved to another fragment
    /// is deleted in its former one.
    pub async fn fits(&self, newest: &Dataset, fields: &BTreeSet<i32>) -> Result<bool> {
        if self.source.version_id() == newest.version_id() {
            return Ok(true);
        }
        for id in &self.fragments {
            if !is_unchanged(&self.source, newest, *id as usize, fields).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The ids of a field and of those around and within it: their values may have common files.
pub fn read_fields(dataset: &Dataset, field: i32) -> BTreeSet<i32> {
    fn add(field: &Field, ids: &mut BTreeSet<i32>) {
        ids.insert(field.id);
        for child in &field.children {
            add(child, ids);
        }
    }
    let mut ids = BTreeSet::from([field]);
    let ancestry = dataset.schema().field_ancestry_by_id(field);
    if let Some(root) = ancestry.iter().flatten().next() {
        add(root, &mut ids);
    }
    ids
}

/// Whether a fragment has the same rows and values in two versions, or has lost some rows.
async fn is_unchanged(
    before: &Dataset,
    after: &Dataset,
    id: usize,
    fields: &BTreeSet<i32>,
) -> Result<bool> {
    let (Some(old), Some(new)) = (before.get_fragment(id), after.get_fragment(id)) else {
        return Ok(false);
    };
    let (then, now) = (old.metadata(), new.metadata());
    if State::of(then, fields) != State::of(now, fields) {
        return Ok(false);
    }
    if then.deletion_file.is_none() || then.deletion_file == now.deletion_file {
        return Ok(true);
    }
    // The segment does not have the rows that were deleted then. A restore can bring them back.
    let (Some(then), Some(now)) = (
        old.get_deletion_vector().await?,
        new.get_deletion_vector().await?,
    ) else {
        return Ok(false);
    };
    Ok(then.iter().all(|row| now.contains(row)))
}

/// What determines the rows of a fragment and the values of some fields, apart from deletions.
#[derive(Debug, PartialEq)]
pub struct State<'a> {
    physical_rows: Option<usize>,
    /// Paths, and the table that has them, if it is another one.
    files: Vec<(&'a str, Option<u32>)>,
    row_ids: Option<&'a RowIdMeta>,
}

impl<'a> State<'a> {
    pub fn of(fragment: &'a Fragment, fields: &BTreeSet<i32>) -> Self {
        let is_read = |file: &&DataFile| file.fields.iter().any(|id| fields.contains(id));
        let overlays = fragment.overlays.iter().map(|overlay| &overlay.data_file);
        let files = fragment.files.iter().chain(overlays);
        Self {
            physical_rows: fragment.physical_rows,
            files: files
                .filter(is_read)
                .map(|file| (file.path.as_str(), file.base_id))
                .collect(),
            row_ids: fragment.row_id_meta.as_ref(),
        }
    }
}
