//! What work on a table takes from the [memory](crate::memory) that all share.

use arrow::datatypes::Schema;
use lance::Dataset;
use lance_file::writer::FileWriterOptions;

use super::Table;
use crate::Result;
use crate::memory::{Reservation, Use};

/// What a query takes besides its rows.
const FIXED: usize = 64 << 10;
/// Bytes of an answer that are made before any is sent, and of batches on their way to it.
const ANSWER: usize = 8 << 20;

impl Table {
    /// For the buffers of the files that an upload is written to.
    pub(crate) async fn memory_for_writing(&self) -> Result<Reservation> {
        let memory = self.engine().memory();
        memory.take(Use::Upload, memory.budget().writing()).await
    }

    /// How a file of such rows is written with so much: the buffers share it.
    pub(crate) fn file_options(&self, rows: &Schema) -> Option<FileWriterOptions> {
        let bytes = self.engine().memory().budget().writing();
        // Lance divides by the number of columns.
        (!rows.fields().is_empty()).then(|| FileWriterOptions {
            data_cache_bytes: Some(bytes as u64),
            ..FileWriterOptions::default()
        })
    }

    /// For a scan that answers a client. `sorts`: its rows are sorted, as far as memory goes.
    pub(crate) async fn memory_for_query(
        &self,
        dataset: &Dataset,
        sorts: bool,
    ) -> Result<Reservation> {
        let memory = self.engine().memory();
        let budget = memory.budget();
        let sorting = if sorts { budget.sorting() } else { 0 };
        let most = 2 * budget.read_ahead() + ANSWER + sorting;
        memory
            .take(Use::Query, FIXED + in_memory(dataset, most))
            .await
    }

    /// For an update, a delete or a merge: it reads rows, and writes those that change.
    pub(crate) async fn memory_for_change(&self, dataset: &Dataset) -> Result<Reservation> {
        let memory = self.engine().memory();
        let budget = memory.budget();
        let most = 2 * budget.read_ahead() + budget.sorting() + budget.writing();
        memory
            .take(Use::Change, FIXED + in_memory(dataset, most))
            .await
    }

    /// For work that nobody waits for on a connection. It may take `bytes`, or its usual share when
    /// that is more. `report` hears of it when it has to wait.
    pub(crate) async fn memory_for_job(
        &self,
        bytes: usize,
        report: impl FnOnce(&str),
    ) -> Reservation {
        let memory = self.engine().memory();
        let bytes = bytes.max(memory.budget().job());
        if let Some(taken) = memory.try_take(Use::Job, bytes) {
            return taken;
        }
        report("wait for memory");
        memory.take_for_job(bytes).await
    }
}

/// Rows of a version that take about so many bytes, at least one.
pub(crate) fn rows_in(dataset: &Dataset, bytes: usize) -> usize {
    let rows = dataset.manifest().fragments.iter();
    let rows: usize = rows
        .map(|fragment| fragment.physical_rows.unwrap_or(0))
        .sum();
    let each = in_memory(dataset, usize::MAX) / rows.max(1);
    (bytes / each.max(1)).max(1)
}

/// Bytes that a version's rows take when they are read, at most `most`.
fn in_memory(dataset: &Dataset, most: usize) -> usize {
    /// What files hold is packed.
    const UNPACKED: u64 = 4;
    let mut bytes: u64 = 0;
    for fragment in dataset.manifest().fragments.iter() {
        for file in &fragment.files {
            let Some(size) = file.file_size_bytes.get() else {
                return most;
            };
            bytes += UNPACKED * size.get();
        }
        if bytes >= most as u64 {
            return most;
        }
    }
    bytes as usize
}
