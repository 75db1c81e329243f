//! The places of tables in a session.
//!
//! A name of one part is in the default catalog and schema of the session. In the sessions of this server they have a
//! name that no client can write, so each name in a statement has a place of its own.

use std::sync::Arc;

use datafusion::catalog::{MemoryCatalogProvider, MemorySchemaProvider, TableProvider};
use datafusion::prelude::SessionContext;
use datafusion::sql::TableReference;

use super::session::UNQUALIFIED;
use crate::error::{Error, Result};

/// Registers a table under its name in the query.
///
/// Two names may have one place in a session of workers: `t` and `"".t`. The second one is refused, so that no plan
/// reads one table for the other.
pub fn register(
    context: &SessionContext,
    name: &[String],
    provider: Arc<dyn TableProvider>,
) -> Result<()> {
    let config = context.copied_config();
    let defaults = &config.options().catalog;
    let (catalog, schema, table) = match name {
        [table] => (
            defaults.default_catalog.as_str(),
            defaults.default_schema.as_str(),
            table,
        ),
        [schema, table] => (defaults.default_catalog.as_str(), schema.as_str(), table),
        [catalog, schema, table] => (catalog.as_str(), schema.as_str(), table),
        _ => {
            return Err(Error::invalid(format!(
                "`{}` has too many parts: put the table's whole identifier into quotes",
                name.join(".")
            )));
        }
    };
    if let [namespace @ .., _] = name
        && namespace.iter().any(|part| part == UNQUALIFIED)
    {
        return Err(Error::invalid(format!(
            "no namespace has the name `{UNQUALIFIED}`: name one that exists"
        )));
    }
    if context.catalog(catalog).is_none() {
        context.register_catalog(catalog, Arc::new(MemoryCatalogProvider::new()));
    }
    let found = context
        .catalog(catalog)
        .ok_or_else(|| {
            Error::invalid(format!(
                "the catalog `{catalog}` of the table `{}` is not known: put the table's whole identifier into quotes",
                name.join(".")
            ))
        })?;
    if found.schema(schema).is_none() {
        found.register_schema(schema, Arc::new(MemorySchemaProvider::new()))?;
    }
    let reference = TableReference::full(catalog, schema, table.as_str());
    if context.table_exist(reference.clone())? {
        return Err(Error::invalid(format!(
            "another table of the statement has the place of `{}`: name only one of them",
            name.join(".")
        )));
    }
    context.register_table(reference, provider)?;
    Ok(())
}
