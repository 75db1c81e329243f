//! The open tables of a statement, and its plan over them.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::MemTable;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use futures::future::try_join_all;
use lance::Dataset;

use super::information::Information;
use super::run::{Resources, Source};
use super::search::{OpenSearch, OpenTable, SearchPlan, SearchTable, with_searches};
use super::session;
use super::source::{ScanSize, SourceTable};
use super::statement::{Explain, Statement, TableName};
use super::visible_rows::VisibleRows;
use crate::error::{Error, Result};
use crate::table::{Table, in_memory, rows_in};

/// Minimum read-ahead of one scan, bytes.
const LEAST_READ_AHEAD: usize = 1 << 20;
/// Limits of a batch that is read.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_ROWS: usize = 1_024;

/// The open tables of a statement.
pub(super) struct Tables {
    pub providers: Vec<(TableName, Arc<dyn TableProvider>)>,
    /// Location and name of each: plans show the name.
    locations: Vec<(String, String)>,
    /// The same tables as far as they have versions.
    open: Vec<OpenTable>,
    searches: Vec<Arc<OpenSearch>>,
    /// Bytes that their scans and searches hold.
    pub bytes: usize,
}

impl Tables {
    /// `sources`: one for each table of the statement.
    pub async fn of(
        statement: &Statement,
        sources: Vec<Source>,
        resources: &Resources,
    ) -> Result<Self> {
        // The other tables are only searched.
        let (names, scanned) = (statement.tables()?, statement.scanned()?);
        let budget = resources.memory.budget();
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
                    if let Some(rows) = table.rows() {
                        rows.admit(&dataset, None).await?;
                    }
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
                    let filter = table.rows().map(|rows| rows.and(None)).transpose()?;
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
                    let source = SourceTable::new(dataset, size);
                    match filter {
                        Some(filter) => Arc::new(VisibleRows::new(source, filter)),
                        None => Arc::new(source),
                    }
                }
                Opened::Information(information) => Arc::new(information),
            };
            tables.providers.push((name, provider));
        }
        Ok(tables)
    }

    /// Opens the searches of a statement.
    pub async fn search(&mut self, statement: &mut Statement) -> Result<()> {
        self.searches = statement.open_searches(&self.open).await?;
        for search in &self.searches {
            self.bytes += search.bytes;
            let provider: Arc<dyn TableProvider> = Arc::new(SearchTable::new(search.clone()));
            self.providers.push((search.name.clone(), provider));
        }
        Ok(())
    }

    /// Adds a table of rows that are in memory.
    pub fn bind(&mut self, name: TableName, rows: RecordBatch) -> Result<()> {
        self.bytes += rows.get_array_memory_size();
        let table = MemTable::try_new(rows.schema(), vec![vec![rows]])?;
        self.providers.push((name, Arc::new(table)));
        Ok(())
    }

    /// The plans of the searches.
    pub async fn search_plans(&self, explain: Explain) -> Result<Vec<SearchPlan>> {
        let plans = self
            .searches
            .iter()
            .map(|search| search.plan(explain.verbose));
        try_join_all(plans).await
    }

    /// The query, not yet planned by the optimizer.
    pub async fn frame(self, statement: Statement, most: Option<u64>) -> Result<DataFrame> {
        let context = session::for_planning()?;
        let frame = statement.plan(&context, self.providers).await?;
        match most.map(|most| usize::try_from(most).unwrap_or(usize::MAX)) {
            Some(most) if most < usize::MAX => frame.limit(0, Some(most)).map_err(Error::of_input),
            _ => Ok(frame),
        }
    }

    pub async fn plan(
        self,
        statement: Statement,
        most: Option<u64>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let frame = self.frame(statement, most).await?;
        frame.create_physical_plan().await.map_err(Error::of_input)
    }

    /// The plans of a statement as rows, without the locations of the tables.
    pub async fn explained(
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
        let columns: Vec<ArrayRef> = vec![Arc::new(kinds), Arc::new(plans)];
        Ok(RecordBatch::try_new(explanation_schema(), columns)?)
    }
}

enum Opened {
    Table(Arc<Dataset>, Table),
    Information(Information),
}

/// The columns of an EXPLAIN.
pub(super) fn explanation_schema() -> SchemaRef {
    let fields = ["plan_type", "plan"].map(|name| Field::new(name, DataType::Utf8, false));
    Arc::new(Schema::new(fields.to_vec()))
}
