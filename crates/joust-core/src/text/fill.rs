//! Feeds the texts of fragments into a segment.

use std::sync::Arc;

use futures::StreamExt;
use joust_text::segment::{Builder, Built};
use lance::Dataset;
use lance_table::format::Fragment;

use super::column::TextColumn;
use super::files::{Scratch, blocking};
use super::source::{add, batches};
use crate::error::Result;

/// Texts of a column at a version.
pub struct Rows<'a> {
    pub dataset: &'a Arc<Dataset>,
    pub column: &'a TextColumn,
    pub fragments: Vec<Fragment>,
}

/// A segment under construction.
pub struct Making {
    pub builder: Builder,
    /// The directory of its files. All users of the files share it, so that it is not removed meanwhile.
    pub scratch: Scratch,
}

impl Rows<'_> {
    /// Adds them to a segment; returns the result of `finish`. Calls `report` with the number of added rows.
    ///
    /// Rows are read while previous ones are indexed. Neither blocks a thread to wait for the other: files are read on
    /// the same threads, and if all of them waited, none would read.
    pub async fn fill<T: Send + 'static>(
        self,
        mut making: Making,
        finish: impl FnOnce(Option<Built>) -> Result<T> + Send + 'static,
        report: &mut (dyn FnMut(u64) + Send),
    ) -> Result<T> {
        let mut batches = batches(self.dataset, self.column, self.fragments).await?;
        let mut next = batches.next().await;
        while let Some(batch) = next {
            let batch = batch?;
            let rows = batch.num_rows() as u64;
            let column = self.column.clone();
            let indexing = blocking(move || {
                add(&mut making.builder, &batch, &column)?;
                Ok(making)
            });
            let (indexed, read) = tokio::join!(indexing, batches.next());
            making = indexed?;
            report(rows);
            next = read;
        }
        blocking(move || {
            let Making { builder, scratch } = making;
            let made = finish(builder.finish()?);
            drop(scratch);
            made
        })
        .await
    }
}

#[cfg(test)]
#[path = "fill_tests.rs"]
mod tests;
