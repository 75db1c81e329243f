//! Plans and runs a statement.

use std::sync::Arc;

use arrow::array::{RecordBatch, StringArray};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::TreeNode;
use datafusion::dataframe::DataFrame;
use datafusion::physical_plan::{
    EmptyRecordBatchStream, ExecutionPlan, displayable, execute_stream,
};
use futures::future::try_join_all;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use lance::Dataset;
use lance::dataset::scanner::DatasetRecordBatchStream;
use lance::io::RecordBatchStream;

use super::information::Information;
use super::output::Output;
use super::request::Request;
use super::search::{OpenSearch, OpenTable, SearchPlan, SearchTable, with_searches};
use super::session;
use super::source::{ScanSize, SourceTable};
use super::statement::{Explain, Statement, TableName};
use super::thread::{Gone, interruptible, on_own_thread};
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::ipc::Format;
use crate::json::guarded;
use crate::memory::{Budget, Memory, Reservation, Use};
use crate::planning::planned;
use crate::query::Answer;
use crate::table::{ReadOptions, Table, in_memory, rows_in};

/// Memory of a statement besides its rows, bytes.
const FIXED: usize = 256 << 10;
/// Bytes of a result that are encoded before the first are sent, and of batches in transit.
const ANSWER: usize = 8 << 20;
/// Minimum read-ahead of one scan, bytes.
const LEAST_READ_AHEAD: usize = 1 << 20;
/// Limits of a batch that is read.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_ROWS: usize = 1_024;
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

/// Runs the statement of a request over `sources`, in the order of [`tables`](super::tables).
pub async fn run(
    body: &[u8],
    sources: Vec<Source>,
    output: Output,
    resources: Resources,
) -> Result<Answer> {
    let mut deadline = resources.deadline;
    let work = answer(body, sources, output, &resources.memory, resources.disk);
    let mut answer = deadline.spend(work).await?;
    answer.set_deadline(deadline);
    Ok(answer)
}

async fn answer(
    body: &[u8],
    sources: Vec<Source>,
    output: Output,
    memory: &Memory,
    disk: u64,
) -> Result<Answer> {
    let request = Request::decode(body)?;
    let mut statement = request.statement()?;
    let names = statement.tables()?;
    let scanned = statement.scanned()?;
    let mut tables = Tables::open(names, &scanned, sources, memory.budget()).await?;
    tables.search(&mut statement).await?;
    if let Some(explain) = statement.explain {
        let searches = tables.search_plans(explain).await?;
        let text = planned(tables.explained(statement, request.limit, explain, searches)).await?;
        let taken = memory.take(Use::Query, FIXED).await?;
        let encoder = output.encoder(text.schema_ref())?;
        return Ok(Answer::of_statement(one(text), encoder, taken));
    }
    let most = [request.limit, output.most_rows()];
    let most = most.into_iter().flatten().min();
    let started = start(tables, statement, most, memory, disk).await?;
    let encoder = output.encoder(&started.rows.schema())?;
    let rows = started.rows.map(|batch| batch.map_err(Error::of_input));
    let rows = on_own_thread(rows.boxed(), started.holding, started.gone).await?;
    Ok(Answer::of_statement(rows, encoder, started.memory))
}

/// The rows that a statement writes, as an Arrow stream: the result of its query, with the columns that the change
/// needs. `table`: the table that it changes, if its columns matter.
pub async fn written_rows(
    body: &[u8],
    sources: Vec<Source>,
    table: Option<(Table, ReadOptions)>,
    resources: Resources,
) -> Result<Answer> {
    let mut deadline = resources.deadline;
    let work = converted(body, sources, table, &resources.memory, resources.disk);
    let mut answer = deadline.spend(work).await?;
    answer.set_deadline(deadline);
    Ok(answer)
}

async fn converted(
    body: &[u8],
    sources: Vec<Source>,
    table: Option<(Table, ReadOptions)>,
    memory: &Memory,
    disk: u64,
) -> Result<Answer> {
    let (statement, shape) = Request::decode(body)?.rows()?;
    let columns = match table {
        Some((table, options)) if shape.needs_table() => {
            sent_columns(table.dataset(options).await?)
        }
        _ => Arc::new(Schema::empty()),
    };
    let (names, scanned) = (statement.tables()?, statement.scanned()?);
    let tables = Tables::open(names, &scanned, sources, memory.budget()).await?;
    let started = start(tables, statement, None, memory, disk).await?;
    let conversion = shape.conversion(&started.rows.schema(), &columns)?;
    let encoder = Output::Arrow(Format::Stream).encoder(conversion.schema())?;
    let rows = started
        .rows
        .map(move |batch| conversion.apply(&batch.map_err(Error::of_input)?));
    let rows = on_own_thread(rows.boxed(), started.holding, started.gone).await?;
    Ok(Answer::of_statement(rows, encoder, started.memory))
}

/// The columns of a table, in the form in which a client sends them: JSON is text.
fn sent_columns(dataset: Arc<Dataset>) -> SchemaRef {
    let stored = SourceTable::new(dataset, ScanSize::default()).schema();
    let stored = Box::pin(EmptyRecordBatchStream::new(stored));
    DatasetRecordBatchStream::new(stored).schema()
}

/// A query that runs.
struct Started {
    rows: DatasetRecordBatchStream,
    memory: Reservation,
    /// The part of the memory that its operators hold.
    holding: Reservation,
    gone: Gone,
}

async fn start(
    tables: Tables,
    statement: Statement,
    most: Option<u64>,
    memory: &Memory,
    disk: u64,
) -> Result<Started> {
    let reads = tables.bytes;
    let plan = planned(tables.plan(statement, most)).await?;
    let holding = match holds_rows(&plan)? {
        true => memory.budget().sorting(),
        false => SMALL,
    };
    let mut taken = memory
        .take(Use::Query, FIXED + ANSWER + reads + holding)
        .await?;
    let gone = Gone::default();
    let context = session::new(1, holding.min(taken.bytes()), disk)?;
    let rows =
        execute_stream(interruptible(plan, &gone)?, context.task_ctx()).map_err(Error::of_input)?;
    Ok(Started {
        // Values with an internal storage form, such as JSON, are returned in their input form.
        rows: DatasetRecordBatchStream::new(guarded(rows)),
        holding: taken.split(holding),
        memory: taken,
        gone,
    })
}

/// The open tables of a statement.
struct Tables {
    providers: Vec<(TableName, Arc<dyn TableProvider>)>,
    /// Location and name of each: plans show the name.
    locations: Vec<(String, String)>,
    /// The same tables as far as they have versions.
    open: Vec<OpenTable>,
    searches: Vec<Arc<OpenSearch>>,
    /// Bytes that their scans and searches hold.
    bytes: usize,
}

impl Tables {
    /// `scanned`: the names that a FROM has; the others are only searched.
    async fn open(
        names: Vec<TableName>,
        scanned: &[TableName],
        sources: Vec<Source>,
        budget: &Budget,
    ) -> Result<Self> {
        if names.len() != sources.len() {
            return Err(Error::invalid(format!(
                "the statement reads {} tables, and {} are given",
                names.len(),
                sources.len()
            )));
        }
        let read_ahead = (budget.read_ahead() / sources.len().max(1)).max(LEAST_READ_AHEAD);
        let mut tables = Self {
            providers: Vec::with_capacity(sources.len()),
            locations: Vec::new(),
            open: Vec::new(),
            searches: Vec::new(),
            bytes: 0,
        };
        let opened = sources.into_iter().map(|source| async {
            Ok::<_, Error>(match source {
                Source::Table { table, options } => {
                    let dataset = table.dataset(options).await?;
                    Opened::Table(dataset, table)
                }
                Source::Information(information) => Opened::Information(information),
            })
        });
        for (name, opened) in names.into_iter().zip(try_join_all(opened).await?) {
            let provider: Arc<dyn TableProvider> = match opened {
                Opened::Table(dataset, table) => {
                    let location = table.handle().location().to_string();
                    tables.locations.push((location, name.name.join(".")));
                    tables.open.push(OpenTable {
                        name: name.clone(),
                        table,
                        dataset: dataset.clone(),
                    });
                    if !scanned.contains(&name) {
                        continue;
                    }
                    let size = ScanSize {
                        read_ahead,
                        batch: Some(rows_in(&dataset, BATCH_BYTES).min(BATCH_ROWS)),
                    };
                    tables.bytes += in_memory(&dataset, 2 * read_ahead + 2 * BATCH_BYTES);
                    Arc::new(SourceTable::new(dataset, size))
                }
                Opened::Information(information) => Arc::new(information),
            };
            tables.providers.push((name, provider));
        }
        Ok(tables)
    }

    /// Opens the searches of a statement.
    async fn search(&mut self, statement: &mut Statement) -> Result<()> {
        self.searches = statement.open_searches(&self.open).await?;
        for search in &self.searches {
            self.bytes += search.bytes;
            let provider: Arc<dyn TableProvider> = Arc::new(SearchTable::new(search.clone()));
            self.providers.push((search.name.clone(), provider));
        }
        Ok(())
    }

    /// The plans of the searches.
    async fn search_plans(&self, explain: Explain) -> Result<Vec<SearchPlan>> {
        let plans = self
            .searches
            .iter()
            .map(|search| search.plan(explain.verbose));
        try_join_all(plans).await
    }

    async fn frame(self, statement: Statement, most: Option<u64>) -> Result<DataFrame> {
        let context = session::for_planning()?;
        let frame = statement.plan(&context, self.providers).await?;
        match most.map(|most| usize::try_from(most).unwrap_or(usize::MAX)) {
            Some(most) if most < usize::MAX => frame.limit(0, Some(most)).map_err(Error::of_input),
            _ => Ok(frame),
        }
    }

    async fn plan(self, statement: Statement, most: Option<u64>) -> Result<Arc<dyn ExecutionPlan>> {
        let frame = self.frame(statement, most).await?;
        frame.create_physical_plan().await.map_err(Error::of_input)
    }

    /// The plans of a statement as rows, without the locations of the tables.
    async fn explained(
        self,
        statement: Statement,
        most: Option<u64>,
        explain: Explain,
        searches: Vec<SearchPlan>,
    ) -> Result<RecordBatch> {
        let locations = self.locations.clone();
        let frame = self.frame(statement, most).await?;
        let logical = frame.clone().into_optimized_plan();
        let logical = logical
            .map_err(Error::of_input)?
            .display_indent()
            .to_string();
        let physical = frame
            .create_physical_plan()
            .await
            .map_err(Error::of_input)?;
        let physical = displayable(physical.as_ref())
            .set_show_schema(explain.verbose)
            .indent(explain.verbose)
            .to_string();
        let plans = [logical, physical].map(|plan| {
            let plan = with_searches(&plan, &searches);
            locations.iter().fold(plan, |plan, (location, name)| {
                let path = location
                    .split_once("://")
                    .map_or(location.as_str(), |(_, path)| path);
                plan.replace(location, name)
                    .replace(path.trim_matches('/'), name)
            })
        });
        let kinds = StringArray::from(vec!["logical_plan", "physical_plan"]);
        let plans = StringArray::from(plans.to_vec());
        Ok(RecordBatch::try_from_iter([
            ("plan_type", Arc::new(kinds) as _),
            ("plan", Arc::new(plans) as _),
        ])?)
    }
}

enum Opened {
    Table(Arc<Dataset>, Table),
    Information(Information),
}

pub(super) fn one(batch: RecordBatch) -> BoxStream<'static, Result<RecordBatch>> {
    stream::once(async move { Ok(batch) }).boxed()
}

/// Whether a plan has operators that hold many rows.
fn holds_rows(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    const KINDS: [&str; 4] = ["Sort", "Join", "Aggregate", "Window"];
    let found = plan.exists(|node| Ok(KINDS.iter().any(|kind| node.name().contains(kind))));
    found.map_err(Error::of_input)
}
