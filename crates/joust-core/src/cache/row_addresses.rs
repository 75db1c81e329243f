//! Where the rows of a version lie.

use std::collections::HashMap;
use std::sync::Arc;

use lance::Dataset;
use lance::dataset::rowids::get_row_id_index;
use lance_table::rowids::RowIdIndex;

use crate::error::Result;

/// Maps row ids to places: a fragment by its number among those of the version, and an offset into
/// its rows, deleted ones counted.
pub struct RowAddresses {
    numbers: HashMap<u32, u32>,
    /// `None`: a row's id is its address.
    stable: Option<Arc<RowIdIndex>>,
}

impl RowAddresses {
    pub async fn of(dataset: &Dataset) -> Result<Self> {
        let fragments = dataset.manifest().fragments.iter();
        let numbers = fragments
            .zip(0..)
            .map(|(fragment, number)| (fragment.id as u32, number));
        Ok(Self {
            numbers: numbers.collect(),
            stable: get_row_id_index(dataset).await?,
        })
    }

    /// The place of a row; `None` when it is not in the version.
    pub fn place(&self, row: u64) -> Option<(usize, usize)> {
        let address = match &self.stable {
            Some(index) => index.get(row).ok()??.into(),
            None => row,
        };
        let number = self.numbers.get(&((address >> 32) as u32))?;
        Some((*number as usize, (address & 0xffff_ffff) as usize))
    }

    /// The places of some rows, when all of them are in the version.
    pub fn places(&self, rows: &[u64]) -> Option<Vec<(usize, usize)>> {
        rows.iter().map(|row| self.place(*row)).collect()
    }

    /// Bytes that this takes, about.
    pub fn weight(&self) -> usize {
        self.numbers.len() * 64
    }
}
