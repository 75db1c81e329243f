//! The reservations of work on a table from the shared [memory](crate::memory).

use arrow::datatypes::Schema;
use lance::Dataset;
use lance_file::writer::FileWriterOptions;

use super::Table;
use crate::error::{Error, Result};
use crate::memory::{Reservation, Use, pieces};
use crate::schema::Evaluation;

/// Memory of a query besides its rows, bytes.
const FIXED: usize = 64 << 10;
/// Bytes of an answer that are encoded before the first are sent, and of batches in transit.
const ANSWER: usize = 8 << 20;
/// Files that Lance copies concurrently through memory, and the bytes that it reads of each at once.
const TRANSFERS: usize = 4;
const TRANSFER: usize = 16 << 20;
/// Rows per batch when Lance computes the values of a new column.
pub(super) const ROWS_AT_ONCE: usize = 1_024;

impl Table {
    /// Reserves memory for the buffers of written files and for multipart chunks. `held`: bytes of rows that wait for
    /// it; `is_all`: there are no others.
    pub(super) async fn memory_for_writing(
        &self,
        held: usize,
        is_all: bool,
    ) -> Result<Reservation> {
        let memory = self.tables().memory();
        let budget = memory.budget();
        let most = budget.writing() + budget.pieces().unwrap_or(0);
        let bytes = if is_all { held.min(most) } else { most };
        let mut patience = memory.patience();
        memory
            .take_holding(held, &mut patience, Use::Upload, bytes)
            .await
    }

    /// Whether memory is reserved for multipart chunks.
    pub(super) fn writes_pieces(&self) -> bool {
        self.tables().memory().budget().pieces().is_some()
    }

    /// Writer options for such rows that share this memory among the buffers.
    pub(super) fn file_options(&self, rows: &Schema) -> Option<FileWriterOptions> {
        let bytes = self.tables().memory().budget().writing();
        // Lance divides by the number of columns.
        (!rows.fields().is_empty()).then(|| FileWriterOptions {
            data_cache_bytes: Some(bytes as u64),
            ..FileWriterOptions::default()
        })
    }

    /// Reserves memory for a scan that answers a client. `sorts`: its rows are sorted, as far as memory allows.
    /// `computed`: the size of the results of its expressions. Code 13 if they cannot fit.
    pub(crate) async fn memory_for_query(
        &self,
        dataset: &Dataset,
        sorts: bool,
        computed: Option<Evaluation>,
    ) -> Result<Reservation> {
        let bytes = self.bytes_for_query(dataset, sorts, computed)?;
        self.tables().memory().take(Use::Query, bytes).await
    }

    /// The bytes of the same.
    pub(crate) fn bytes_for_query(
        &self,
        dataset: &Dataset,
        sorts: bool,
        computed: Option<Evaluation>,
    ) -> Result<usize> {
        let budget = self.tables().memory().budget();
        let sorting = if sorts { budget.sorting() } else { 0 };
        let most = 2 * budget.read_ahead() + ANSWER + sorting;
        let computed = self.bytes_of(computed)?;
        Ok(FIXED + in_memory(dataset, most) + computed)
    }

    /// Reserves memory for a change without a lock: it reads rows and writes the changed ones.
    pub(crate) async fn memory_for_change(
        &self,
        dataset: &Dataset,
        computed: Option<Evaluation>,
    ) -> Result<Reservation> {
        let bytes = self.bytes_of_change(dataset, computed)?;
        self.tables().memory().take(Use::Change, bytes).await
    }

    /// Memory of an update, a delete, a merge or a change of columns. `computed`: the size of the results of its
    /// expressions. Code 13 if they cannot fit.
    pub(super) fn bytes_of_change(
        &self,
        dataset: &Dataset,
        computed: Option<Evaluation>,
    ) -> Result<usize> {
        let budget = self.tables().memory().budget();
        let most = 2 * budget.read_ahead() + budget.sorting() + budget.writing();
        let computed = self.bytes_of(computed)?;
        Ok(FIXED + in_memory(dataset, most) + computed)
    }

    /// Memory of an evaluation: an estimate, so at most half of the total.
    fn bytes_of(&self, evaluation: Option<Evaluation>) -> Result<usize> {
        let Some(evaluation) = evaluation else {
            return Ok(0);
        };
        let room = self.tables().memory().budget().work;
        if evaluation.least_bytes > room {
            return Err(Error::invalid(format!(
                "the expressions make values of {} MiB in all of {} rows, which are computed at the same time, and \
                 the server has {} MiB for requests; make shorter texts and lists, or have its --memory raised",
                evaluation.least_bytes >> 20,
                evaluation.in_flight,
                room >> 20
            )));
        }
        Ok(evaluation.bytes.min(room / 2))
    }

    /// Rows per batch when computing the values of a new column, if Lance's number would be too large.
    pub(super) fn rows_at_once(
        &self,
        dataset: &Dataset,
        computed: Option<Evaluation>,
    ) -> Option<u32> {
        let made = computed.map_or(ROWS_AT_ONCE, |computed| computed.rows);
        let is_known = packed(dataset, usize::MAX) < usize::MAX;
        let read = match is_known {
            true => rows_in(dataset, self.tables().memory().budget().sorting()),
            false => ROWS_AT_ONCE,
        };
        let rows = read.min(made);
        (rows < ROWS_AT_ONCE).then_some(rows as u32)
    }

    /// Reserves memory for a copy of another table's files to here. A copy between local paths does not pass through
    /// this process.
    pub(super) async fn memory_for_copy(&self, from: &Dataset) -> Result<Option<Reservation>> {
        let (here, _) = self.handle.store().await?;
        let there = from.object_store(None).await?;
        if here.has_direct_local_paths() && there.has_direct_local_paths() {
            return Ok(None);
        }
        let memory = self.tables().memory();
        let most = TRANSFER
            .saturating_add(pieces())
            .saturating_mul(TRANSFERS)
            .min(memory.budget().job());
        // The manifest does not have the sizes of index files.
        let bytes = match from.manifest().index_section {
            Some(_) => most,
            None => packed(from, most),
        };
        let taken = memory.take(Use::Change, FIXED + bytes).await?;
        Ok(Some(taken))
    }

    /// Reserves memory for a background job: `bytes`, or the usual share of a job if that is more. Calls `report` if it
    /// has to wait.
    pub(crate) async fn memory_for_job(
        &self,
        bytes: usize,
        report: impl FnOnce(&str),
    ) -> Reservation {
        let memory = self.tables().memory();
        let bytes = bytes.max(memory.budget().job());
        if let Some(taken) = memory.try_take(Use::Job, bytes) {
            return taken;
        }
        report("wait for memory");
        memory.take_for_job(bytes).await
    }
}

/// The number of rows of a version that take about this many bytes, at least one.
pub(crate) fn rows_in(dataset: &Dataset, bytes: usize) -> usize {
    let rows = dataset.manifest().fragments.iter();
    let rows: usize = rows
        .map(|fragment| fragment.physical_rows.unwrap_or(0))
        .sum();
    let each = in_memory(dataset, usize::MAX) / rows.max(1);
    (bytes / each.max(1)).max(1)
}

/// Memory of all rows of a version, at most `most`.
pub(crate) fn in_memory(dataset: &Dataset, most: usize) -> usize {
    /// Memory for each byte of a compressed file.
    const UNPACKED: usize = 4;
    packed(dataset, most).saturating_mul(UNPACKED).min(most)
}

/// Bytes of a version's files, at most `most`.
fn packed(dataset: &Dataset, most: usize) -> usize {
    let mut bytes: u64 = 0;
    for fragment in dataset.manifest().fragments.iter() {
        for file in &fragment.files {
            let Some(size) = file.file_size_bytes.get() else {
                return most;
            };
            bytes += size.get();
        }
        if bytes >= most as u64 {
            return most;
        }
    }
    bytes as usize
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
