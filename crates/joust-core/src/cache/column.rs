//! A column in memory.

use std::sync::OnceLock;

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::{interleave, take};

use crate::error::Result;

/// A column of a version.
pub struct Column {
    /// An array for each fragment of the version, in its order.
    pub fragments: Vec<ArrayRef>,
    /// Whether the sorted lookups of all fragments fit: see [`RowCaches`](super::RowCaches).
    pub sorted_lookups_fit: OnceLock<bool>,
}

impl Column {
    pub fn new(fragments: Vec<ArrayRef>) -> Self {
        Self {
            fragments,
            sorted_lookups_fit: OnceLock::new(),
        }
    }

    /// The values at some places: a fragment's number and an offset. `None` when a place is not in memory.
    pub fn take(&self, places: &[(usize, usize)]) -> Result<Option<ArrayRef>> {
        let known = |(fragment, offset): &(usize, usize)| {
            self.fragments
                .get(*fragment)
                .is_some_and(|values| *offset < values.len())
        };
        if !places.iter().all(known) {
            return Ok(None);
        }
        if let [values] = self.fragments.as_slice() {
            let offsets = places.iter().map(|(_, offset)| *offset as u32);
            let offsets = UInt32Array::from_iter_values(offsets);
            return Ok(Some(take(values, &offsets, None)?));
        }
        let arrays: Vec<&dyn Array> = self.fragments.iter().map(AsRef::as_ref).collect();
        Ok(Some(interleave(&arrays, places)?))
    }
}
