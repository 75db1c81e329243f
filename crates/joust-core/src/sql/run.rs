//! Plans and runs a statement.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNode;
use datafusion::physical_plan::{EmptyRecordBatchStream, ExecutionPlan};
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use lance::dataset::scanner::DatasetRecordBatchStream;
use lance::io::RecordBatchStream;
use tracing::{Instrument, info_span};

use super::information::Information;
use super::merge_join::Planned;
use super::output::Output;
use super::plain::{plain, plain_schema};
use super::request::Request;
use super::rows::{Description, Rows, Started};
use super::session;
use super::statement::Statement;
use super::tables::{Tables, explanation_schema};
use super::thread::{Computed, ReaderDropped, on_own_thread};
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::json::guarded;
use crate::memory::{Memory, Reservation, Use};
use crate::planning::planned;
use crate::query::Answer;
use crate::table::{ReadOptions, Table};

/// Memory of a statement besides its rows, bytes.
const FIXED: usize = 256 << 10;
/// Bytes of a result that are encoded before the first are sent, and of batches in transit.
const ANSWER: usize = 8 << 20;
/// Bytes for operators that only hold a few rows.
const SMALL: usize = 1 << 20;

/// The resolution of a name in a statement.
pub enum Source {
    Table { table: Table, options: ReadOptions },
    Information(Information),
}

/// The resources of a statement.
pub struct Resources {
    pub memory: Memory,
    pub deadline: Deadline,
    /// The most bytes of its temporary files.
    pub disk: u64,
}

/// Runs the statement of a request over `sources`, in the order of its [tables](super::read_statement).
pub async fn run(
    body: &[u8],
    sources: Vec<Source>,
    output: Output,
    resources: Resources,
) -> Result<Answer> {
    let mut deadline = resources.deadline;
    let work = async {
        let started = start(body, sources, Some(output), &resources).await?;
        let encoder = output.encoder(&started.schema, &resources.memory)?;
        Ok(started.into_answer(encoder))
    };
    let mut answer = deadline.spend(work).await?;
    answer.set_deadline(deadline);
    Ok(answer)
}

/// As [`run`], without an encoding.
pub async fn rows(body: &[u8], sources: Vec<Source>, resources: Resources) -> Result<Rows> {
    let mut deadline = resources.deadline;
    let work = start(body, sources, None, &resources);
    let started = deadline.spend(work).await?;
    Ok(Rows::new(started, deadline))
}

/// The columns of the result of a query, which is planned and not run.
pub async fn describe(
    body: &[u8],
    sources: Vec<Source>,
    resources: Resources,
) -> Result<Description> {
    let mut deadline = resources.deadline;
    deadline.spend(description(body, sources, &resources)).await
}

async fn description(
    body: &[u8],
    sources: Vec<Source>,
    resources: &Resources,
) -> Result<Description> {
    let request = Request::decode(body)?;
    let mut statement = request.statement()?;
    if let Some(count) = statement.open_searches_of() {
        return Ok(Description::unknown(count));
    }
    let mut tables = Tables::of(&statement, sources, resources).await?;
    tables.search(&mut statement).await?;
    if statement.explain.is_some() {
        return Ok(Description {
            schema: explanation_schema(),
            parameters: Vec::new(),
        });
    }
    planned(async move {
        let context = session::for_planning()?;
        let parameters = statement
            .parameter_types(&context, &tables.providers)
            .await?;
        let plan = tables.plan(statement, request.limit).await?;
        let schema = plain_schema(&returned_schema(plan.schema()));
        Ok(Description { schema, parameters })
    })
    .await
}

async fn start(
    body: &[u8],
    sources: Vec<Source>,
    output: Option<Output>,
    resources: &Resources,
) -> Result<Started> {
    let encoding = output.map_or(0, Output::bytes);
    let request = Request::decode(body)?;
    request.check_bound()?;
    let mut statement = request.statement()?;
    let mut tables = Tables::of(&statement, sources, resources)
        .instrument(info_span!("open versions"))
        .await?;
    let search = tables.search(&mut statement);
    search.instrument(info_span!("search")).await?;
    if let Some(explain) = statement.explain {
        let searches = tables.search_plans(explain).await?;
        let text = planned(tables.explained(statement, request.limit, explain, searches)).await?;
        return Ok(Started {
            schema: text.schema(),
            batches: one(text),
            memory: resources.memory.take(Use::Query, FIXED + encoding).await?,
        });
    }
    let most_rows = output.and_then(Output::most_rows);
    let most = [request.limit, most_rows].into_iter().flatten().min();
    let execution = execute(tables, statement, most, encoding, resources).await?;
    let schema = plain_schema(&execution.rows.schema());
    let columns = schema.clone();
    execution
        .start(schema, move |batch| {
            plain(&batch.map_err(Error::of_input)?, &columns)
        })
        .await
}

/// The columns in the form in which a client sends and gets them: JSON is text.
pub(super) fn returned_schema(stored: SchemaRef) -> SchemaRef {
    let none = EmptyRecordBatchStream::new(stored);
    DatasetRecordBatchStream::new(Box::pin(none)).schema()
}

/// A query that runs when its rows are read.
pub(super) struct Execution {
    pub rows: DatasetRecordBatchStream,
    memory: Reservation,
    /// The part of the memory that its operators hold.
    holding: Reservation,
    reader_dropped: ReaderDropped,
}

impl Execution {
    /// Computes the rows ahead of their reader. `schema`: that of the converted batches.
    pub async fn start(
        self,
        schema: SchemaRef,
        convert: impl FnMut(lance::Result<RecordBatch>) -> Result<RecordBatch> + Send + 'static,
    ) -> Result<Started> {
        let rows = self.rows.map(convert).boxed();
        Ok(Started {
            schema,
            batches: on_own_thread(rows, self.holding, self.reader_dropped).await?,
            memory: self.memory,
        })
    }
}

/// `encoding`: memory that the encoder of the rows needs.
pub(super) async fn execute(
    tables: Tables,
    statement: Statement,
    most: Option<u64>,
    encoding: usize,
    Resources { memory, disk, .. }: &Resources,
) -> Result<Execution> {
    let reads = tables.bytes;
    let query =
        planned(async move { Planned::new(tables.frame(statement, most).await?).await }).await?;
    let holding = match holds_rows(query.plan())? {
        true => memory.budget().sorting(),
        false => SMALL,
    };
    let mut taken = memory
        .take(Use::Query, FIXED + ANSWER + reads + holding + encoding)
        .await?;
    let reader_dropped = ReaderDropped::default();
    let rows = query.rows(holding.min(taken.bytes()), *disk, &reader_dropped)?;
    Ok(Execution {
        // Values with an internal storage form, such as JSON, are returned in their input form.
        rows: DatasetRecordBatchStream::new(guarded(rows)),
        holding: taken.split(holding),
        memory: taken,
        reader_dropped,
    })
}

pub(super) fn one(batch: RecordBatch) -> BoxStream<'static, Computed> {
    stream::iter([Computed::now(Some(Ok(batch)))]).boxed()
}

/// Whether a plan has operators that hold many rows.
fn holds_rows(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    const KINDS: [&str; 4] = ["Sort", "Join", "Aggregate", "Window"];
    let found = plan.exists(|node| Ok(KINDS.iter().any(|kind| node.name().contains(kind))));
    found.map_err(Error::of_input)
}
