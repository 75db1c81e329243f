//! Plans the query of a view over its source tables.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::dataframe::DataFrame;
use datafusion::prelude::SessionContext;
use lance::Dataset;

use crate::error::Result;
use crate::sql::{ScanSize, SourceTable, Statement};

/// The names of the tables in a query, each in parts, as written.
pub fn tables(sql: &str) -> Result<Vec<Vec<String>>> {
    let tables = Statement::of_view(sql)?.tables()?;
    Ok(tables.into_iter().map(|table| table.name).collect())
}

/// Plans a query over the tables given, by their names in it.
pub async fn plan(
    context: &SessionContext,
    sql: &str,
    tables: &[(Vec<String>, Arc<Dataset>)],
) -> Result<DataFrame> {
    let statement = Statement::of_view(sql)?;
    let named = statement.tables()?.into_iter().filter_map(|name| {
        let (_, dataset) = tables.iter().find(|(given, _)| *given == name.name)?;
        let table = SourceTable::new(dataset.clone(), ScanSize::default());
        Some((name, Arc::new(table) as Arc<dyn TableProvider>))
    });
    let named = named.collect();
    statement.plan(context, named).await
}
