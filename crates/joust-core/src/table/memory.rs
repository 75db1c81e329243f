//! What work on a table takes from the [memory](crate::memory) that all share.

use arrow::datatypes::Schema;
use lance::Dataset;
use lance_file::writer::FileWriterOptions;

use super::Table;
use crate::error::{Error, Result};
use crate::memory::{Reservation, Use, pieces};
use crate::schema::Evaluation;

/// What a query takes besides its rows.
const FIXED: usize = 64 << 10;
/// Bytes of an answer that are made before any is sent, and of batches on their way to it.
const ANSWER: usize = 8 << 20;
/// Files that Lance copies at the same time where they go through memory, and what it reads of each at once.
const TRANSFERS: usize = 4;
const TRANSFER: usize = 16 << 20;
/// Rows to which Lance computes values of a new column at once.
pub(super) const ROWS_AT_ONCE: usize = 1_024;

impl Table {
    /// For the buffers of the files that rows are written to, and for pieces on their way. `held`: bytes of rows
    /// that wait for it; `is_all`: there are no others.
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

    /// Whether there is memory for pieces of files that wait to be written.
    pub(super) fn writes_pieces(&self) -> bool {
        self.tables().memory().budget().pieces().is_some()
    }

    /// How a file of such rows is written with so much: the buffers share it.
    pub(super) fn file_options(&self, rows: &Schema) -> Option<FileWriterOptions> {
        let bytes = self.tables().memory().budget().writing();
        // Lance divides by the number of columns.
        (!rows.fields().is_empty()).then(|| FileWriterOptions {
            data_cache_bytes: Some(bytes as u64),
            ..FileWriterOptions::default()
        })
    }

    /// For a scan that answers a client. `sorts`: its rows are sorted, as far as memory goes. `computed`: what
    /// its expressions make. Code 13 when that has no room.
    pub(crate) async fn memory_for_query(
        &self,
        dataset: &Dataset,
        sorts: bool,
        computed: Option<Evaluation>,
    ) -> Result<Reservation> {
        let memory = self.tables().memory();
        let budget = memory.budget();
        let sorting = if sorts { budget.sorting() } else { 0 };
        let most = 2 * budget.read_ahead() + ANSWER + sorting;
        let computed = self.bytes_of(computed)?;
        memory
            .take(Use::Query, FIXED + in_memory(dataset, most) + computed)
            .await
    }

    /// For a change that no turn is taken for: it reads rows, and writes what becomes of them.
    pub(crate) async fn memory_for_change(
        &self,
        dataset: &Dataset,
        computed: Option<Evaluation>,
    ) -> Result<Reservation> {
        let bytes = self.bytes_of_change(dataset, computed)?;
        self.tables().memory().take(Use::Change, bytes).await
    }

    /// What an update, a delete, a merge or a change of columns takes. `computed`: what its expressions
    /// make. Code 13 when that has no room.
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

    /// What is taken for an evaluation: an estimate, so at most half of what there is.
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

    /// Rows to which values of a new column are computed at once, where they are too large for as many as
    /// Lance would take.
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

    /// For a copy of another table's files to here. Those of a local disk go past this process to another
    /// local place.
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
        // How large the files of an index are is not in the manifest.
        let bytes = match from.manifest().index_section {
            Some(_) => most,
            None => packed(from, most),
        };
        let taken = memory.take(Use::Change, FIXED + bytes).await?;
        Ok(Some(taken))
    }

    /// For work that nobody waits for on a connection. It may take `bytes`, or its usual share when
    /// that is more. `report` hears of it when it has to wait.
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
pub(crate) fn in_memory(dataset: &Dataset, most: usize) -> usize {
    /// What files hold is packed.
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
