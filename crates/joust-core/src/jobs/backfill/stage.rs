//! Writes the column of one fragment to a file that no version references yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::{Schema as ArrowSchema, UInt64Type};
use datafusion::error::DataFusionError;
use futures::StreamExt;
use lance::Dataset;
use lance::dataset::fragment::{FileFragment, FragReadConfig, FragmentReader};
use lance::dataset::transaction::DataReplacementGroup;
use lance_core::ROW_LAST_UPDATED_AT_VERSION;
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_table::format::{DeletionFile, Fragment};
use lance_table::io::deletion::read_deletion_file;
use object_store::path::Path;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::binding::Binding;
use super::changed::Since;
use super::evaluate::{Rows, Tally};
use super::staged_files::StagedFiles;
use crate::error::{Error, Result};
use crate::functions::FunctionRun;
use crate::jobs::checkpoint::Checkpoint;
use crate::jobs::row_failures::MOST_FAILURES;
use crate::jobs::unnamed_files::remove_in_background;

/// Rows per batch.
const BATCH: u32 = 4_096;
/// Bytes of the rows that are read for a function at once.
const INPUT_BYTES: usize = 16 << 20;
/// Rows that tell the size of the others.
const PROBED_ROWS: usize = 8;
/// Bytes that may be read ahead of the computation.
const READ_AHEAD_BYTES: u64 = 32 << 20;

/// The state of a fragment from which values were computed; another state needs other values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    physical_rows: Option<usize>,
    /// Files that contain an input, or the column itself.
    files: Vec<String>,
}

impl Basis {
    /// Only considers the fields with these ids.
    pub fn of(fragment: &Fragment, ids: &[i32]) -> Self {
        let is_read = |fields: &[i32]| fields.iter().any(|id| ids.contains(id));
        Self {
            physical_rows: fragment.physical_rows,
            files: fragment
                .files
                .iter()
                .filter(|file| is_read(&file.fields))
                .map(|file| file.path.clone())
                .collect(),
        }
    }
}

/// The staged column of a fragment.
pub struct Staged {
    pub group: DataReplacementGroup,
    pub basis: Basis,
    /// The rows that were deleted then.
    pub deletions: Option<DeletionFile>,
    pub tally: Tally,
}

impl Staged {
    /// Whether the rows that were deleted then still are. A restore brings deleted rows back, which were not computed.
    pub async fn has_deletions_of(&self, dataset: &Dataset, now: &FileFragment) -> bool {
        let Some(then) = &self.deletions else {
            return true;
        };
        now.metadata().deletion_file.as_ref() == Some(then)
            || self.are_deleted(then, dataset, now).await.unwrap_or(false)
    }

    async fn are_deleted(
        &self,
        then: &DeletionFile,
        dataset: &Dataset,
        now: &FileFragment,
    ) -> Result<bool> {
        // The file is not in the directory of the table: its rows are computed again.
        if then.base_id.is_some() {
            return Ok(false);
        }
        let Some(now) = now.get_deletion_vector().await? else {
            return Ok(false);
        };
        let data = dataset.data_dir();
        let mut table: Vec<_> = data.parts().collect();
        table.pop();
        let (table, store) = (Path::from_iter(table), dataset.object_store(None).await?);
        let then = read_deletion_file(self.group.0, then, &table, &store).await?;
        Ok(then.iter().all(|row| now.contains(row)))
    }
}

/// Staged files. Dropping this removes them, unless they are committed or in the checkpoint.
///
/// Another run of the job may continue with the files of the checkpoint, also on another server while this run has not
/// noticed that it lost the job. It may even have committed them. So only the clean-up of versions removes them.
pub struct Staging {
    dataset: Dataset,
    /// By fragment id.
    pub files: BTreeMap<u64, Staged>,
    /// A version may reference the files, so they must stay.
    pub committing: bool,
    /// Absent if no later run can continue.
    checkpoint: Option<StagedFiles>,
}

impl Staging {
    /// With the files of earlier runs of the same computation.
    pub async fn new(dataset: &Dataset, binding: &Binding, checkpoint: Option<Checkpoint>) -> Self {
        let mut checkpoint = checkpoint.map(StagedFiles::new);
        let files = match &mut checkpoint {
            Some(checkpoint) => checkpoint.load(binding, dataset).await,
            None => BTreeMap::new(),
        };
        Self {
            dataset: dataset.clone(),
            files,
            committing: false,
            checkpoint,
        }
    }

    /// Adds the file of a fragment.
    pub async fn add(&mut self, mut staged: Staged, binding: &Binding) {
        let reported = self.files.values().map(|one| one.tally.failures.len());
        let room = MOST_FAILURES.saturating_sub(reported.sum());
        staged.tally.failures.truncate(room);
        self.files.insert(staged.group.0, staged);
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.save(binding, &self.files).await;
        }
    }

    /// Whether the checkpoint, if there is one, has all files.
    pub fn is_saved(&self) -> bool {
        self.checkpoint.as_ref().is_none_or(StagedFiles::is_saved)
    }

    /// Writes the checkpoint now.
    pub async fn save(&mut self, binding: &Binding) {
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.save_now(binding, &self.files).await;
        }
    }

    /// Forgets the files that version clean-up has removed or is about to remove: work with a function may take days.
    /// Returns whether all are there.
    pub async fn check(&mut self) -> Result<bool> {
        let Some(checkpoint) = &self.checkpoint else {
            return Ok(true);
        };
        let paths: Vec<Path> = self.files.values().map(|one| self.path(one)).collect();
        let lasting = checkpoint.lasting(paths.into_iter()).await?;
        let before = self.files.len();
        let data = self.dataset.data_dir();
        self.files
            .retain(|_, one| lasting.contains(&path_in(&data, one)));
        Ok(self.files.len() == before)
    }

    /// A version may reference the files from here on, even if the outcome never arrives. Code 17 if the job is cancelled.
    pub async fn begin_commit(&mut self) -> Result<()> {
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.begin_commit().await?;
        }
        self.committing = true;
        Ok(())
    }

    /// Removes the checkpoint: the commit has taken effect.
    pub async fn forget(&mut self) {
        if let Some(checkpoint) = self.checkpoint.take() {
            checkpoint.remove().await;
        }
    }

    /// Removes the files of the fragments for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(u64, &Staged) -> bool) {
        let stale: Vec<u64> = self
            .files
            .iter()
            .filter(|(id, staged)| !keep(**id, staged))
            .map(|(id, _)| *id)
            .collect();
        let mut names = Vec::with_capacity(stale.len());
        for id in stale {
            if let Some(staged) = self.files.remove(&id)
                && !self.is_kept(&staged)
            {
                names.push(staged.group.1.path);
            }
        }
        remove_in_background(&self.dataset, names);
    }

    fn is_kept(&self, staged: &Staged) -> bool {
        let checkpoint = self.checkpoint.as_ref();
        checkpoint.is_some_and(|one| one.files.contains(&staged.group.1.path))
    }

    fn path(&self, staged: &Staged) -> Path {
        path_in(&self.dataset.data_dir(), staged)
    }
}

fn path_in(data: &Path, staged: &Staged) -> Path {
    data.clone().join(staged.group.1.path.as_str())
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.committing {
            return;
        }
        let names = self
            .files
            .values()
            .filter(|staged| !self.is_kept(staged))
            .map(|staged| staged.group.1.path.clone())
            .collect();
        remove_in_background(&self.dataset, names);
    }
}

/// Computes and writes the values of a fragment; calls `on_rows` with the number of processed rows.
///
/// `changed_since`: only of rows that have changed since this earlier backfill.
pub async fn stage(
    dataset: Arc<Dataset>,
    fragment: FileFragment,
    binding: Arc<Binding>,
    run: Option<Arc<FunctionRun>>,
    changed_since: Option<Since>,
    on_rows: Arc<dyn Fn(u64) + Send + Sync>,
) -> Result<Staged> {
    let id = fragment.id() as u64;
    let basis = Basis::of(fragment.metadata(), &binding.inputs.field_ids());
    let deletions = fragment.metadata().deletion_file.clone();
    let scheduler = ScanScheduler::new(
        dataset.object_store(None).await?,
        SchedulerConfig::new(READ_AHEAD_BYTES),
    );
    let read = FragReadConfig::default()
        .with_ignore_deletions(true)
        .with_row_last_updated_at_version(changed_since.is_some())
        .with_scan_scheduler(scheduler);
    let deleted = fragment.get_deletion_vector().await?;
    let reader = fragment.open(&binding.inputs, read).await?;
    let schema = Arc::new(ArrowSchema::from(&binding.target));
    let batch = match binding.evaluation {
        Some(evaluation) => BATCH.min(evaluation.rows as u32),
        None => BATCH,
    };
    let batch = match run {
        Some(_) => batch.min(rows_to_read(&reader, &fragment).await?),
        None => batch,
    };
    let progress = Arc::new(Mutex::new(Progress::default()));
    let batches = reader.read_all(batch).await?.buffered(2);
    let values = batches.map(|batch| {
        let batch = batch.map(|batch| (progress.lock().skip(batch.num_rows()), batch));
        let (binding, progress) = (&binding, &progress);
        let (run, schema, deleted) = (run.as_ref(), &schema, deleted.as_deref());
        let on_rows = &on_rows;
        async move {
            let (offset, batch) = batch?;
            let updated = batch.column_by_name(ROW_LAST_UPDATED_AT_VERSION);
            let updated = updated.map(AsArray::as_primitive::<UInt64Type>);
            let has_changed = |at: usize| match (changed_since, updated) {
                (Some(since), Some(versions)) => {
                    versions.is_null(at) || since.is_before_change(versions.value(at))
                }
                _ => true,
            };
            let selected: BooleanArray = (0..batch.num_rows())
                .map(|at| {
                    let row = u32::try_from(offset + at as u64).unwrap_or(u32::MAX);
                    let is_deleted = deleted.is_some_and(|rows| rows.contains(row));
                    Some(!is_deleted && has_changed(at))
                })
                .collect();
            let rows = Rows {
                fragment: id,
                offset,
                batch: &batch,
                selected: &selected,
            };
            let mut tally = Tally::default();
            let filled = binding.fill(&rows, run, &mut tally).await;
            progress.lock().tally.add(tally);
            on_rows(batch.num_rows() as u64);
            filled
                .and_then(|values| Ok(RecordBatch::try_new(schema.clone(), vec![values])?))
                .map_err(|error| {
                    progress.lock().failure = Some(error.clone());
                    DataFusionError::External(Box::new(error)).into()
                })
        }
    });
    // A process computes the next batch while this one is written.
    let values = values.buffered(if run.is_some() { 2 } else { 1 });
    let group = fragment
        .write_columns(values, &binding.target)
        .await
        // Lance wraps the errors that joust puts into the stream.
        .map_err(|error| match progress.lock().failure.take() {
            Some(own) => own,
            None => Error::from(error),
        })?;
    let mut tally = std::mem::take(&mut progress.lock().tally);
    tally
        .failures
        .sort_unstable_by_key(|failure| failure.offset);
    Ok(Staged {
        group,
        basis,
        deletions,
        tally,
    })
}

/// The rows of a batch for a function, from the size of the first ones: some columns have large values.
async fn rows_to_read(reader: &FragmentReader, fragment: &FileFragment) -> Result<u32> {
    let rows = fragment.physical_rows().await?.min(PROBED_ROWS);
    let Ok(probed @ 1..) = u32::try_from(rows) else {
        return Ok(BATCH);
    };
    let mut batches = reader.read_range(0..probed, probed).await?;
    let mut bytes = 0;
    while let Some(batch) = batches.next().await {
        bytes += batch.await?.get_array_memory_size();
    }
    let fit = INPUT_BYTES / (bytes / rows).max(1);
    Ok(u32::try_from(fit).map_or(BATCH, |fit| fit.clamp(1, BATCH)))
}

#[derive(Default)]
struct Progress {
    rows: u64,
    tally: Tally,
    failure: Option<Error>,
}

impl Progress {
    /// Returns the position of the next row, and passes this many rows.
    fn skip(&mut self, rows: usize) -> u64 {
        let first = self.rows;
        self.rows += rows as u64;
        first
    }
}
