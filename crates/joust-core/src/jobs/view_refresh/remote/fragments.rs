//! The order of a refresh, and the checks of what workers hand over.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::Stream;
use lance::Dataset;
use lance::dataset::fragment::FileFragment;
use lance::dataset::rowids::load_row_id_sequence;
use lance_table::format::Fragment;
use serde::{Deserialize, Serialize};

use super::super::schema::columns_of;
use super::WorkerQuery;
use super::worker_datafusion::WorkerDataFusion;
use crate::error::{Error, Result};
use crate::functions::BatchBounds;
use crate::jobs::remote::{
    CheckParts, Order, Part, RemoteWork, Task, WorkerFiles, details, key_of,
};
use crate::jobs::row_failures::{RowFailure, of_worker};
use crate::query::ChangedRows;
use crate::schema::{Arguments, ViewFunction};
use crate::work::WorkContext;

/// Rows of a file, as Lance's default.
pub const MAX_ROWS_PER_FRAGMENT: usize = 1 << 20;

/// How workers compute the rows of a view.
pub struct RemoteFragments<'a> {
    pub view: &'a Arc<Dataset>,
    pub source: &'a Arc<Dataset>,
    pub query: &'a WorkerQuery,
    /// Makes the rows of the view of those of the query; `None`: they are those of the query.
    pub function: Option<&'a RemoteFunction>,
    pub max_rows_per_fragment: Option<usize>,
    /// The most tasks at the same time.
    pub concurrency: Option<usize>,
}

/// The function of a view.
pub struct RemoteFunction {
    pub function: ViewFunction,
    /// As its client sent it.
    pub payload: Vec<u8>,
    /// Among the columns of the query.
    pub arguments: Arguments,
    pub batches: BatchBounds,
}

/// The rows of the view that come from one fragment of the source, in files that no version names.
pub struct FragmentRows {
    /// The fragment of the source.
    pub source: Fragment,
    pub fragments: Vec<Fragment>,
    pub rows: u64,
    /// Without a function: the ids of the source's rows, in the order of the rows.
    pub ids: Vec<u64>,
    /// Rows that the function got.
    pub called: u64,
    /// Those of them for which it failed.
    pub failed: u64,
    /// The first of them.
    pub failures: Vec<RowFailure>,
}

/// The members of an order of this kind. It has the view as its table.
#[derive(Serialize)]
struct OrderDetails<'a> {
    source: OrderSource<'a>,
    /// Names and SQL of Lance.
    columns: &'a [(String, String)],
    filter: Option<&'a str>,
    /// SQL of DataFusion over the scanned rows.
    sql: Option<&'a str>,
    /// What runs it.
    datafusion: Option<WorkerDataFusion>,
    /// Only rows that were created or updated after this version of the source.
    after: Option<u64>,
    max_rows_per_fragment: usize,
    /// The first rows of the view suffice; there is one task.
    room: Option<u64>,
    function: Option<&'a ViewFunction>,
    /// The names from the root to each argument of the function.
    arguments: Option<&'a [Vec<String>]>,
    batches: Option<BatchBounds>,
}

/// A table that workers read.
#[derive(Serialize)]
pub struct OrderSource<'a> {
    location: &'a str,
    version: u64,
}

impl<'a> OrderSource<'a> {
    pub fn of(source: &'a Dataset) -> Self {
        Self {
            location: source.uri(),
            version: source.version_id(),
        }
    }
}

/// The members of a task: its units are stored rows, deleted ones included.
#[derive(Serialize)]
struct TaskDetails {
    /// Of the source.
    fragment: u64,
}

/// The rows of a fragment, as a worker hands them over.
#[derive(Deserialize)]
struct Written {
    /// Names of the files in the data directory of the view. Each is a new fragment.
    files: Vec<String>,
    /// Without a function: a bit for each stored row of the source's fragment, the first one in the lowest bit of the first
    /// byte, in base64. It is 1 if the view has the row.
    selected: Option<String>,
    called: u64,
    failed: u64,
    failures: Vec<RowFailure>,
}

impl RemoteFragments<'_> {
    /// Leaves these rows of the source to workers. `room`: the most rows, if the view needs only the first ones of one
    /// fragment.
    pub fn compute(
        &self,
        rows: &ChangedRows,
        room: Option<u64>,
        remote: &RemoteWork,
        work: &WorkContext,
    ) -> Result<impl Stream<Item = Result<FragmentRows>> + Send + use<>> {
        let function = self.function;
        let details = details(&OrderDetails {
            source: OrderSource::of(self.source),
            columns: &self.query.columns,
            filter: self.query.filter.as_deref(),
            sql: self.query.sql.as_deref(),
            datafusion: self.query.sql.as_ref().map(|_| WorkerDataFusion::new()),
            after: rows.after,
            max_rows_per_fragment: self.max_rows_per_fragment.unwrap_or(MAX_ROWS_PER_FRAGMENT),
            room,
            function: function.map(|one| &one.function),
            arguments: function.map(|one| one.arguments.places()),
            batches: function.map(|one| one.batches),
        })?;
        // The same text on each server. Another version of the source may have the fragment as it is.
        let identity = format!(
            "{:?} {:?} {:?} {:?} {room:?} {:?} {:?}",
            self.query,
            rows.after,
            function.map(|one| (&one.function, one.batches)),
            self.max_rows_per_fragment,
            columns_of(self.source),
            columns_of(self.view),
        );
        let mut tasks = Vec::with_capacity(rows.fragments.len());
        let mut fragments = HashMap::with_capacity(rows.fragments.len());
        for fragment in &rows.fragments {
            let state = serde_json::to_string(fragment)
                .map_err(|error| Error::internal("a fragment could not be written", error))?;
            let task = Task {
                key: key_of(&(&identity, state)),
                units: fragment.physical_rows.unwrap_or_default() as u64,
                details: self::details(&TaskDetails {
                    fragment: fragment.id,
                })?,
            };
            fragments.insert(task.key.clone(), fragment.clone());
            tasks.push(task);
        }
        let order = Order {
            kind: "view",
            location: self.view.uri().to_string(),
            version: self.view.version_id(),
            concurrency: self.concurrency,
            tasks,
            details,
            stage: "refresh",
            function: function.map(|one| one.payload.clone()),
        };
        let checks = RowChecks {
            files: WorkerFiles::of(self.view.clone(), remote.began()),
            source: self.source.clone(),
            has_function: function.is_some(),
            room,
            fragments,
        };
        Ok(remote.receive(order, checks, work))
    }
}

/// Checks the rows of workers.
struct RowChecks {
    files: WorkerFiles,
    source: Arc<Dataset>,
    has_function: bool,
    room: Option<u64>,
    /// Of the source, by the key of the task.
    fragments: HashMap<String, Fragment>,
}

impl CheckParts for RowChecks {
    type Output = FragmentRows;

    async fn check(&mut self, task: &Task, part: &Part) -> Result<FragmentRows> {
        let written: Written = part.read()?;
        let source = self.fragments[&task.key].clone();
        let fragments = self.files.fragments(&written.files).await?;
        let rows = fragments.iter().filter_map(|one| one.physical_rows);
        let rows = rows.sum::<usize>() as u64;
        if self.room.is_some_and(|room| rows > room) {
            return Err(Error::invalid(format!(
                "the files of a worker have {rows} rows, which are more than the view may have"
            )));
        }
        let ids = match self.has_function {
            true => Vec::new(),
            false => self.ids(&source, written.selected.as_deref(), rows).await?,
        };
        let (called, failed) = (written.called, written.failed);
        let failures = of_worker(written.failures, source.id, task.units, failed)
            .filter(|_| failed <= called && called <= task.units)
            .ok_or_else(|| {
                Error::invalid("the counts of a worker do not fit the rows of its fragment")
            })?;
        self.files.take_all(&written.files);
        Ok(FragmentRows {
            source,
            fragments,
            rows,
            ids,
            called,
            failed,
            failures,
        })
    }
}

impl RowChecks {
    /// The ids of the rows that a worker has selected, which are `rows`.
    async fn ids(&self, source: &Fragment, selected: Option<&str>, rows: u64) -> Result<Vec<u64>> {
        let selected = selected.and_then(|text| STANDARD.decode(text).ok());
        let selected = selected.ok_or_else(|| {
            Error::invalid(
                "the result of a worker lacks a valid bitmap of the selected rows of its fragment",
            )
        })?;
        let fragment = FileFragment::new(self.source.clone(), source.clone());
        let deleted = fragment.get_deletion_vector().await?;
        let all = load_row_id_sequence(&self.source, source).await?;
        let is_selected = |at: u32| {
            let byte = selected.get(at as usize / 8).copied().unwrap_or_default();
            (byte >> (at % 8)) & 1 == 1
        };
        let is_live = |at: u32| deleted.as_ref().is_none_or(|deleted| !deleted.contains(at));
        let live = all.iter().zip(0_u32..).filter(|(_, at)| is_live(*at));
        let ids: Vec<u64> = live
            .filter(|(_, at)| is_selected(*at))
            .map(|(id, _)| id)
            .collect();
        let set: u64 = selected
            .iter()
            .map(|byte| u64::from(byte.count_ones()))
            .sum();
        if set != rows || ids.len() as u64 != rows {
            return Err(Error::invalid(format!(
                "a worker has written {rows} rows and selected {set} rows of its fragment, of which {} exist",
                ids.len()
            )));
        }
        Ok(ids)
    }
}
