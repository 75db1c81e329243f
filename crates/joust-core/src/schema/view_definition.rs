//! A view's definition in its schema metadata, where other Lance tools look for it.

use std::collections::{BTreeMap, HashMap};

use arrow::datatypes::Schema;
use lance::Dataset;
use serde::{Deserialize, Serialize};

use super::function_column::is_sha256;
use crate::error::{Code, Error, Result};

/// Key of the definition: `{"format": 1, "kind": "query", "query": SQL}`. The kind of a view with a function is `chunker`.
const DEFINITION: &str = "mv.definition";
/// Keys that only joust writes start with it.
pub const VIEW_PREFIX: &str = "joust.view.";
/// Key of the tables in the SQL, a JSON list.
const TABLES: &str = "joust.view.tables";
/// Key of the declaration of a view that refreshes itself, an [`AutoRefresh`] as JSON.
const AUTO_REFRESH: &str = "joust.view.auto_refresh";
/// Key of the function of a view that makes several rows of each row, a [`ViewFunction`] as JSON.
const FUNCTION: &str = "joust.view.function";
const FORMAT: u32 = 1;
const QUERY: &str = "query";
const CHUNKER: &str = "chunker";

#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    kind: String,
    query: String,
}

/// The definition of a view.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewDefinition {
    pub sql: String,
    pub tables: Vec<NamedTable>,
    /// `None`: only requests refresh it.
    pub auto_refresh: Option<AutoRefresh>,
    /// `None`: the rows of the view are those of the query.
    pub function: Option<ViewFunction>,
}

/// A function that makes rows of a view from each row of its query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewFunction {
    pub name: String,
    /// As its client declared it.
    pub version: Option<String>,
    /// SHA-256 of the payload, hex.
    pub sha256: String,
    /// Paths of the columns of the query that are its arguments, in their order.
    pub inputs: Vec<String>,
    /// The columns of the query that the view has, too.
    pub inherited: Vec<String>,
}

/// A view or column that refreshes itself.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct AutoRefresh {
    /// The time between two refreshes, if the declaration has one.
    pub interval_seconds: Option<f64>,
}

/// A table name in a view's SQL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTable {
    /// As written in the query, in parts.
    pub name: Vec<String>,
    /// The identifier of the table.
    pub table: Vec<String>,
}

impl ViewDefinition {
    /// The definition as schema metadata.
    pub fn metadata(&self) -> Result<HashMap<String, String>> {
        let stored = Stored {
            format: FORMAT,
            kind: match self.function {
                Some(_) => CHUNKER,
                None => QUERY,
            }
            .to_string(),
            query: self.sql.clone(),
        };
        let text = |value: serde_json::Result<String>| {
            value.map_err(|error| Error::internal("the definition can't be stored", error))
        };
        let mut metadata = HashMap::from([
            (DEFINITION.into(), text(serde_json::to_string(&stored))?),
            (TABLES.into(), text(serde_json::to_string(&self.tables))?),
        ]);
        if let Some(refresh) = &self.auto_refresh {
            metadata.insert(AUTO_REFRESH.into(), text(serde_json::to_string(refresh))?);
        }
        if let Some(function) = &self.function {
            metadata.insert(FUNCTION.into(), text(serde_json::to_string(function))?);
        }
        Ok(metadata)
    }

    /// The definition of a view; code 19 for a table that is not a view, or that joust did not create.
    pub fn of(dataset: &Dataset) -> Result<Self> {
        let metadata = &dataset.schema().metadata;
        let refused = |message: &str| Error::new(Code::InvalidTableState, message);
        let (Some(definition), Some(tables)) = (metadata.get(DEFINITION), metadata.get(TABLES))
        else {
            return Err(refused(match metadata.contains_key(DEFINITION) {
                true => "the view was made by another tool: refresh it there",
                false => "the table is not a materialized view: only views can be refreshed",
            }));
        };
        let stored: Option<Stored> = serde_json::from_str(definition).ok();
        let unknown = || refused("the view's definition is in a format that is not known");
        let stored = stored
            .filter(|stored| stored.format <= FORMAT)
            .ok_or_else(unknown)?;
        let function = match metadata.get(FUNCTION) {
            Some(declared) => {
                let function: Option<ViewFunction> = serde_json::from_str(declared).ok();
                let function = function.filter(|function| is_sha256(&function.sha256));
                Some(function.ok_or_else(unknown)?)
            }
            None => None,
        };
        if (stored.kind == CHUNKER) != function.is_some() {
            return Err(unknown());
        }
        Ok(Self {
            sql: stored.query,
            tables: serde_json::from_str(tables)
                .map_err(|_| refused("the view's list of tables can't be read"))?,
            auto_refresh: metadata
                .get(AUTO_REFRESH)
                .and_then(|declared| serde_json::from_str(declared).ok()),
            function,
        })
    }
}

/// A schema without a view's definition: rows that were read from a view have it in their schema, and must not turn the
/// target table into a view.
pub fn without_definition(mut schema: Schema) -> Schema {
    for key in [DEFINITION, TABLES, AUTO_REFRESH, FUNCTION] {
        schema.metadata.remove(key);
    }
    schema
}

/// Whether schema metadata has exactly the keys and values of `known` that start with [`VIEW_PREFIX`].
pub fn has_view_keys_of(
    metadata: &HashMap<String, String>,
    known: Option<&HashMap<String, String>>,
) -> bool {
    let of_views = |metadata: &HashMap<String, String>| -> BTreeMap<String, String> {
        let keys = metadata
            .iter()
            .filter(|(key, _)| key.starts_with(VIEW_PREFIX));
        keys.map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    of_views(metadata) == known.map(of_views).unwrap_or_default()
}

/// Rejects any change of a view but its refresh.
pub fn check_not_view(dataset: &Dataset) -> Result<()> {
    if !dataset.schema().metadata.contains_key(TABLES) {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidTableState,
        "the table is a materialized view, which only its refresh changes: change the tables that it \
         reads, or drop it",
    ))
}
