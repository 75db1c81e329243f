//! Builds a text index: reads the column, builds segments in a scratch directory, copies them into the table and
//! commits them as manifest entries.

use std::sync::Arc;

use joust_text::analysis::{Analysis, Params};
use joust_text::segment::{Builder, Built, Files};
use lance::Dataset;
use lance::index::{DatasetIndexExt, IndexSegment};
use lance_table::format::Fragment;
use uuid::Uuid;

use super::column::TextColumn;
use super::entry::{Details, FORMAT};
use super::files::{Scratch, remove_segment, store_segment};
use super::fill::{Making, Rows};
use crate::commit::{Attempts, LastCommit, Policy};
use crate::error::{Code, Error, Result};
use crate::table::Table;
use crate::work::{Progress, WorkContext};

/// The most memory for terms and postings until they are written: a quarter of the memory of a job.
const MEMORY: usize = 128 << 20;
/// tantivy's minimum.
const LEAST_MEMORY: usize = 16 << 20;
/// The most rows of one segment: tantivy has 31-bit document ids.
const SEGMENT_ROWS: usize = 100_000_000;

/// The definition of an index to build.
pub struct Target<'a> {
    pub name: &'a str,
    pub column: &'a TextColumn,
}

/// A segment that is not in a table yet.
pub struct Made {
    /// Fragments whose rows it contains.
    pub covered: Vec<u32>,
    pub documents: u64,
    /// `None` if it has no documents.
    pub files: Option<Files>,
}

/// The analysis for the parameters.
pub fn check(params: &Params) -> Result<Analysis> {
    Ok(Analysis::new(params)?)
}

/// Builds and commits. Dropping the future cancels it; a cancelled build leaves nothing.
pub async fn build(
    table: &Table,
    target: Target<'_>,
    analysis: &Analysis,
    work: &WorkContext,
) -> Result<()> {
    let mut attempts = Attempts::at(Policy::TextIndex);
    loop {
        match attempt_build(table, &target, analysis, work).await {
            Err(error) => attempts.lost(error).await?,
            done => return done,
        }
    }
}

async fn attempt_build(
    table: &Table,
    target: &Target<'_>,
    analysis: &Analysis,
    work: &WorkContext,
) -> Result<()> {
    let table = &table.begun().await?;
    let dataset = table.newest().await?;
    let mut progress = Progress {
        stage: "index_text".to_string(),
        completed: 0,
        total: Some(dataset.count_rows(None).await? as u64),
    };
    work.report_progress(progress.clone());
    let mut report = |rows: u64| {
        progress.completed += rows;
        work.report_progress(progress.clone());
    };
    let source = Source {
        dataset: &dataset,
        column: target.column,
        analysis,
        memory: memory(table),
    };
    let mut made = Vec::new();
    for fragments in groups(&dataset) {
        made.push(segment_of(&source, fragments, &mut report).await?);
    }
    commit(table, &dataset, target, analysis, made, work).await?;
    Ok(())
}

/// Copies segments into the table and adds them to the index. They replace all segments that cover any of their
/// fragments. They were built from `dataset`. Returns the version.
pub async fn commit(
    table: &Table,
    dataset: &Arc<Dataset>,
    target: &Target<'_>,
    analysis: &Analysis,
    made: Vec<Made>,
    work: &WorkContext,
) -> Result<u64> {
    let field = dataset
        .schema()
        .field(&target.column.field)
        .map(|field| field.id)
        .ok_or_else(|| Error::invalid(format!("there is no column `{}`", target.column.field)))?;
    let context = table.commit_context(Policy::TextIndex, || 0).of_work(work);
    let last = context.last_commit();
    let mut uncommitted = Uncommitted {
        dataset,
        segments: Vec::new(),
        last,
    };
    let mut segments = Vec::new();
    for made in made {
        let uuid = Uuid::new_v4();
        uncommitted.segments.push(uuid);
        store_segment(dataset, uuid, made.files).await?;
        let details = Details {
            format: FORMAT,
            analysis: analysis.clone(),
            documents: made.documents,
            json_keys: target.column.keys.clone(),
        };
        segments.push(IndexSegment::new(
            uuid,
            made.covered,
            [field],
            Arc::new(details.to_any()?),
            FORMAT as i32,
            dataset.version_id(),
            [],
        ));
    }
    let (mut newest, _version) = table.copy_of_newest().await?;
    let commit = newest.commit_existing_index_segments(target.name, &target.column.field, segments);
    let committed = table.commit_in(context, commit).await;
    committed.map_err(rearranged)?;
    uncommitted.segments.clear();
    Ok(table.committed(newest))
}

/// Everything was validated before, so Lance only rejects it if the table has changed since.
fn rearranged(error: lance::Error) -> Error {
    let error = Error::from(error);
    match error.code() {
        Code::InvalidInput => Error::new(
            Code::ConcurrentModification,
            "the table was rearranged while its text index was made; try again",
        ),
        _ => error,
    }
}

/// Removes the files of segments unless they were committed.
struct Uncommitted<'a> {
    dataset: &'a Arc<Dataset>,
    segments: Vec<Uuid>,
    last: LastCommit,
}

impl Drop for Uncommitted<'_> {
    fn drop(&mut self) {
        if self.segments.is_empty() {
            return;
        }
        let (dataset, segments) = (self.dataset.clone(), std::mem::take(&mut self.segments));
        let last = self.last.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // The build may have been cancelled during its commit, which then continues.
                if last.may_have_committed().await {
                    return;
                }
                for uuid in segments {
                    remove_segment(&dataset, uuid).await;
                }
            });
        }
    }
}

/// The fragments of each segment; an empty table has one segment without any.
fn groups(dataset: &Dataset) -> Vec<Vec<Fragment>> {
    let mut groups = vec![Vec::new()];
    let mut rows = 0;
    for fragment in dataset.manifest().fragments.iter() {
        let own = fragment.physical_rows.unwrap_or(0);
        if rows + own > SEGMENT_ROWS && rows > 0 {
            groups.push(Vec::new());
            rows = 0;
        }
        rows += own;
        if let Some(group) = groups.last_mut() {
            group.push(fragment.clone());
        }
    }
    groups
}

/// The source of segments, and the memory for building them.
pub struct Source<'a> {
    pub dataset: &'a Arc<Dataset>,
    pub column: &'a TextColumn,
    pub analysis: &'a Analysis,
    pub memory: usize,
}

/// Bytes for terms and postings.
pub fn memory(table: &Table) -> usize {
    (table.tables().memory().budget().job() / 4).clamp(LEAST_MEMORY, MEMORY)
}

/// A segment of some fragments.
pub async fn segment_of(
    source: &Source<'_>,
    fragments: Vec<Fragment>,
    report: &mut (dyn FnMut(u64) + Send),
) -> Result<Made> {
    let covered = fragments
        .iter()
        .map(|fragment| fragment.id as u32)
        .collect();
    if fragments.is_empty() {
        return Ok(Made {
            covered,
            documents: 0,
            files: None,
        });
    }
    let scratch = Scratch::default();
    let making = Making {
        builder: Builder::on_disk(source.analysis, scratch.path(), source.memory)?,
        scratch,
    };
    let rows = Rows {
        dataset: source.dataset,
        column: source.column,
        fragments,
    };
    let files = |built: Option<Built>| match built {
        None => Ok((0, None)),
        Some(built) => Ok((built.documents, Some(built.files()?))),
    };
    let (documents, files) = rows.fill(making, files, report).await?;
    Ok(Made {
        covered,
        documents,
        files,
    })
}
