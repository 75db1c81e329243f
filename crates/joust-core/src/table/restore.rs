//! Restore an old version.

use super::{ReadOptions, Table};
use crate::error::Result;

impl Table {
    /// Makes the state of an old version the newest version; returns the new version.
    pub async fn restore(&self, version: u64) -> Result<u64> {
        self.changeable().await?;
        let (old, _pin) = self.pin(ReadOptions::at(version)).await?;
        let mut dataset = old.as_ref().clone();
        dataset.restore().await?;
        Ok(self.committed(dataset))
    }
}
