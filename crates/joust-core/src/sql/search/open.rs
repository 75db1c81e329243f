//! Opens the searches of a statement: resolves their tables and chooses their strategies.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::sql::sqlparser::ast::Statement;
use lance::Dataset;

use super::function::Function;
use super::plan::{SearchPlan, operator};
use super::prefilter::{Relation, prefilters};
use super::{Search, Searches, name};
use crate::error::{Code, Error, Result};
use crate::names::short;
use crate::planning::planned;
use crate::query::RowSearch;
use crate::schema::expression;
use crate::sql::source::{ScanSize, SourceTable};
use crate::sql::statement::TableName;
use crate::table::Table;

/// A table that a statement names.
pub struct OpenTable {
    pub name: TableName,
    pub table: Table,
    pub dataset: Arc<Dataset>,
}

/// A search whose strategy is chosen.
pub struct OpenSearch {
    function: Function,
    /// The name in its place.
    pub name: TableName,
    pub(super) rows: RowSearch,
    pub(super) table: Table,
    pub(super) dataset: Arc<Dataset>,
    /// The table's columns and the results of the search.
    pub(super) schema: SchemaRef,
    /// Bytes that it may hold.
    pub bytes: usize,
}

impl Searches {
    /// `tables`: all tables of the statement. Reports the errors of the searches.
    pub async fn open(
        self,
        query: &Statement,
        tables: &[OpenTable],
    ) -> Result<Vec<Arc<OpenSearch>>> {
        let mut places = Vec::with_capacity(self.all.len());
        for (number, search) in self.all.into_iter().enumerate() {
            let Some(table) = tables.iter().find(|table| table.name == search.table) else {
                let message = "it searches a table; information_schema has none that it could";
                return Err(search.function.error(Code::InvalidInput, message));
            };
            let results = RowSearch::results(&search.query);
            places.push((
                number,
                search,
                table,
                columns(&table.dataset, &results),
                results,
            ));
        }
        let relations: Vec<Relation> = places
            .iter()
            .map(|(_, search, _, columns, _)| Relation {
                alias: search.alias.clone(),
                columns: columns.iter().map(|field| field.name().clone()).collect(),
            })
            .collect();
        let filters = prefilters(query, &relations);
        let mut open = Vec::with_capacity(places.len());
        for ((number, search, table, columns, results), filter) in places.into_iter().zip(filters) {
            let schema = Arc::new(Schema::new([columns, results].concat()));
            open.push(Arc::new(
                opened(number, search, table, schema, filter).await?,
            ));
        }
        Ok(open)
    }
}

async fn opened(
    number: usize,
    search: Search,
    open: &OpenTable,
    schema: SchemaRef,
    filter: Option<String>,
) -> Result<OpenSearch> {
    let Search {
        function,
        mut query,
        ..
    } = search;
    if let Some(filter) = &filter {
        check(open, filter).await.map_err(|error| {
            let message = format!(
                "the WHERE restricts the search by `{}`, and a filter can't have that: {}; put the search \
                 into a subquery to apply the condition to the rows found",
                short(filter),
                error.message()
            );
            function.error(error.code(), &message)
        })?;
    }
    query.filter = filter;
    if let Some(rows) = open.table.rows() {
        query.restrict(rows)?;
    }
    let rows = Box::pin(RowSearch::new(
        open.table.clone(),
        open.dataset.clone(),
        query,
    ));
    let rows = rows.await.map_err(|error| match error.code() {
        Code::InvalidInput => function.error(Code::InvalidInput, error.message()),
        _ => error,
    })?;
    Ok(OpenSearch {
        bytes: rows.bytes()?,
        function,
        name: TableName::internal(name(number)),
        rows,
        table: open.table.clone(),
        dataset: open.dataset.clone(),
        schema,
    })
}

impl OpenSearch {
    /// Its plan, as an explanation of a query shows it. A caller with a row filter does not see the steps: they show the
    /// filter and what it admits.
    pub async fn plan(&self, verbose: bool) -> Result<SearchPlan> {
        let steps = match self.table.rows() {
            Some(_) => String::new(),
            None => self.rows.explain(verbose).await?,
        };
        Ok(SearchPlan {
            name: self.name.name.join("."),
            function: self.function.name(),
            steps,
        })
    }

    pub(super) fn operator(&self) -> String {
        operator(&self.name.name.join("."))
    }

    pub fn function(&self) -> &'static str {
        self.function.name()
    }
}

/// Reports a condition that Lance cannot evaluate, and one that could reveal rows which the caller may not use.
async fn check(OpenTable { table, dataset, .. }: &OpenTable, filter: &str) -> Result<()> {
    if let Some(rows) = table.rows() {
        rows.admit(dataset, Some(filter)).await?;
    }
    let sql = expression::whole(filter)?;
    let dataset = dataset.clone();
    planned(async move {
        let mut scan = dataset.scan();
        scan.filter(&sql).map_err(Error::of_input)?;
        scan.get_expr_filter().map_err(Error::of_input)?;
        Ok(())
    })
    .await
}

/// The columns of the table. The results of the search hide those of the same name.
fn columns(dataset: &Arc<Dataset>, results: &[Arc<Field>]) -> Vec<Arc<Field>> {
    let schema = SourceTable::new(dataset.clone(), ScanSize::default()).into_schema();
    let columns = schema.fields().iter().cloned();
    columns
        .filter(|own| results.iter().all(|result| result.name() != own.name()))
        .collect()
}
