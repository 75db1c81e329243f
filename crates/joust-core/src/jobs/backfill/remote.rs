//! Fragments that workers outside of this process compute.

use std::collections::HashMap;
use std::sync::Arc;

use futures::Stream;
use lance::Dataset;
use lance::dataset::fragment::FileFragment;
use lance::dataset::transaction::DataReplacementGroup;
use lance_core::datatypes::{NullabilityComparison, SchemaCompareOptions};
use serde::{Deserialize, Serialize};

use super::binding::Binding;
use super::changed::Since;
use super::evaluate::Tally;
use super::stage::{Basis, Staged};
use crate::error::Result;
use crate::functions::BatchBounds;
use crate::jobs::remote::{
    CheckParts, Order, Part, RemoteWork, Task, WorkerFiles, details, key_of, refused,
};
use crate::jobs::row_failures::of_worker;
use crate::schema::FunctionColumn;
use crate::work::WorkContext;

/// The fragments of a column to compute, and how.
pub struct RemoteFragments<'a> {
    pub dataset: Arc<Dataset>,
    pub binding: Arc<Binding>,
    pub fragments: Vec<FileFragment>,
    pub function: &'a FunctionColumn,
    /// The function as its client sent it.
    pub payload: Vec<u8>,
    /// Only rows that have changed since this backfill are computed.
    pub changed_since: Option<Since>,
    pub batches: BatchBounds,
    pub concurrency: Option<usize>,
}

/// The members of an order of this kind.
#[derive(Serialize)]
struct OrderDetails<'a> {
    column: &'a str,
    nullable: bool,
    function: &'a FunctionColumn,
    /// The names from the root to each argument of the function.
    arguments: &'a [Vec<String>],
    /// SQL; rows for which it is not true keep their value.
    condition: Option<&'a str>,
    changed_since: Option<Since>,
    batches: BatchBounds,
}

/// The members of a task: its units are stored rows, deleted ones included.
#[derive(Serialize)]
struct TaskDetails {
    fragment: u64,
}

/// The column of a fragment, as a worker hands it over.
#[derive(Deserialize)]
struct Computed {
    /// Name of the file in the data directory of the table, or of the branch.
    file: String,
    tally: Tally,
}

impl RemoteFragments<'_> {
    /// Leaves the fragments to workers.
    pub fn stage(
        self,
        remote: &RemoteWork,
        work: &WorkContext,
    ) -> Result<impl Stream<Item = Result<Staged>> + Send + use<>> {
        let mut tasks = Vec::with_capacity(self.fragments.len());
        let mut fragments = HashMap::with_capacity(self.fragments.len());
        for fragment in &self.fragments {
            let task = self.task(fragment)?;
            fragments.insert(task.key.clone(), fragment.clone());
            tasks.push(task);
        }
        let order = Order {
            kind: "backfill",
            location: self.dataset.uri().to_string(),
            version: self.dataset.version_id(),
            concurrency: self.concurrency,
            tasks,
            details: details(&OrderDetails {
                column: self.binding.name(),
                nullable: self.binding.nullable,
                function: self.function,
                arguments: self.binding.arguments.places(),
                condition: self.binding.condition_sql.as_deref(),
                changed_since: self.changed_since,
                batches: self.batches,
            })?,
            stage: "backfill",
            function: Some(self.payload),
        };
        let checks = FragmentChecks {
            files: WorkerFiles::of(self.dataset.clone(), remote.began()),
            dataset: self.dataset,
            binding: self.binding,
            fragments,
        };
        Ok(remote.receive(order, checks, work))
    }

    fn task(&self, fragment: &FileFragment) -> Result<Task> {
        let metadata = fragment.metadata();
        let id = fragment.id() as u64;
        let basis = Basis::of(metadata, &self.binding.inputs.field_ids());
        let (deletions, since) = (&metadata.deletion_file, &self.changed_since);
        let state = format!("{id} {basis:?} {deletions:?} {since:?}");
        Ok(Task {
            key: key_of(&(self.binding.identity(), state)),
            units: fragment.fast_physical_rows().unwrap_or(0) as u64,
            details: details(&TaskDetails { fragment: id })?,
        })
    }
}

/// Checks the files of workers.
struct FragmentChecks {
    files: WorkerFiles,
    dataset: Arc<Dataset>,
    binding: Arc<Binding>,
    /// By the key of the task.
    fragments: HashMap<String, FileFragment>,
}

impl CheckParts for FragmentChecks {
    type Output = Staged;

    async fn check(&mut self, task: &Task, part: &Part) -> Result<Staged> {
        let Computed { file, mut tally } = part.read()?;
        let fragment = &self.fragments[&task.key];
        let id = fragment.id() as u64;
        let rows = fragment.physical_rows().await? as u64;
        let stored = self.files.open(&file).await?;
        let comparison = SchemaCompareOptions {
            compare_nullability: NullabilityComparison::Ignore,
            ..SchemaCompareOptions::default()
        };
        stored
            .file_schema
            .check_compatible(&self.binding.target, &comparison)
            .map_err(|_| refused(&file, "has another column"))?;
        if stored.num_rows != rows {
            return Err(refused(&file, "has another number of rows"));
        }
        let failures = std::mem::take(&mut tally.failures);
        tally.failures = of_worker(failures, id, rows, tally.failed)
            .filter(|_| tally.assigned <= rows && tally.changed <= rows)
            .ok_or_else(|| refused(&file, "has counts that do not fit its rows"))?;
        let data_file = self.dataset.create_data_file(&file, None).await?;
        self.files.take(&file);
        Ok(Staged {
            group: DataReplacementGroup(id, data_file),
            basis: Basis::of(fragment.metadata(), &self.binding.inputs.field_ids()),
            deletions: fragment.metadata().deletion_file.clone(),
            tally,
        })
    }
}
