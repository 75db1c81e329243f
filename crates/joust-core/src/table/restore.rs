//! Restore an old version.

use super::{ReadOptions, Table};
use crate::error::Result;

impl Table {
    /// Makes an old version's state the newest version; the version that this made.
    pub async fn restore(&self, version: u64) -> Result<u64> {
        self.changeable().await?;
        let mut dataset = self
            .dataset(ReadOptions::at(version))
            .await?
            .as_ref()
            .clone();
        dataset.restore().await?;
        Ok(self.committed(dataset))
    }
}
