//! `information_schema`: the catalog as tables.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::logical_expr::{
    BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType,
};
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt, stream};

use crate::error::{Code, Error, Result};
use crate::table::{ReadOptions, Table};

/// The name of the only catalog.
const CATALOG: &str = "joust";
/// Tables that are opened concurrently.
const AT_ONCE: usize = 16;

/// A table of the catalog.
#[derive(Debug, Clone)]
pub struct Listed {
    pub schema: String,
    pub name: String,
    pub location: String,
    pub storage_options: HashMap<String, String>,
}

/// The content of the catalog.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub schemata: Vec<String>,
    pub tables: Vec<Listed>,
}

/// Opens a listed table.
pub type Opener = Arc<dyn Fn(&Listed) -> Table + Send + Sync>;

/// One of the tables of `information_schema`.
#[derive(Clone)]
pub struct Information {
    kind: Kind,
    schema: SchemaRef,
    listing: Arc<Listing>,
    open: Opener,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Schemata,
    Tables,
    Columns,
}

impl Information {
    /// `name` is in lower case.
    pub fn new(name: &str, listing: Arc<Listing>, open: Opener) -> Result<Self> {
        let kind = match name {
            "schemata" => Kind::Schemata,
            "tables" => Kind::Tables,
            "columns" => Kind::Columns,
            _ => {
                return Err(Error::new(
                    Code::TableNotFound,
                    "information_schema has schemata, tables and columns",
                ));
            }
        };
        Ok(Self {
            kind,
            schema: Arc::new(schema(kind)),
            listing,
            open,
        })
    }

    async fn rows(&self, wanted: &Wanted<'_>) -> Result<RecordBatch> {
        let tables: Vec<&Listed> = self
            .listing
            .tables
            .iter()
            .filter(|table| wanted.has(table))
            .collect();
        let catalog = |rows: usize| texts(std::iter::repeat_n(CATALOG, rows));
        let columns = match self.kind {
            Kind::Schemata => {
                let schemata = &self.listing.schemata;
                vec![
                    catalog(schemata.len()),
                    texts(schemata.iter().map(String::as_str)),
                ]
            }
            Kind::Tables => {
                vec![
                    catalog(tables.len()),
                    texts(tables.iter().map(|table| table.schema.as_str())),
                    texts(tables.iter().map(|table| table.name.as_str())),
                    texts(std::iter::repeat_n("BASE TABLE", tables.len())),
                ]
            }
            Kind::Columns => {
                let of_tables: Vec<Vec<Column>> =
                    stream::iter(tables.into_iter().cloned().collect::<Vec<_>>())
                        .map(|table| columns_of((self.open)(&table), table))
                        .buffered(AT_ONCE)
                        .try_collect()
                        .await?;
                let columns: Vec<Column> = of_tables.into_iter().flatten().collect();
                let places = columns.iter().map(|column| column.place);
                let places: ArrayRef = Arc::new(Int64Array::from_iter_values(places));
                vec![
                    catalog(columns.len()),
                    texts(columns.iter().map(|column| column.schema.as_str())),
                    texts(columns.iter().map(|column| column.table.as_str())),
                    texts(columns.iter().map(|column| column.name.as_str())),
                    places,
                    texts(columns.iter().map(|column| column.nullable)),
                    texts(columns.iter().map(|column| column.data_type.as_str())),
                ]
            }
        };
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
}

impl fmt::Debug for Information {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Information")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for Information {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let rows = self
            .rows(&Wanted::new(filters))
            .await
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        let table = MemTable::try_new(self.schema.clone(), vec![vec![rows]])?;
        table.scan(session, projection, &[], limit).await
    }

    /// The filters select the tables to open, and are evaluated again afterwards.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> PlanResult<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}

/// The tables that pass some filters.
#[derive(Default)]
struct Wanted<'a> {
    schema: Option<&'a str>,
    name: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    fn new(filters: &'a [Expr]) -> Self {
        let mut wanted = Self::default();
        for filter in filters {
            let Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::Eq,
                right,
            }) = filter
            else {
                continue;
            };
            let (Expr::Column(column), Expr::Literal(value, _)) = (left.as_ref(), right.as_ref())
            else {
                continue;
            };
            let Some(Some(text)) = value.try_as_str() else {
                continue;
            };
            match column.name() {
                "table_schema" => wanted.schema = Some(text),
                "table_name" => wanted.name = Some(text),
                _ => {}
            }
        }
        wanted
    }

    fn has(&self, table: &Listed) -> bool {
        self.schema.is_none_or(|schema| schema == table.schema)
            && self.name.is_none_or(|name| name == table.name)
    }
}

struct Column {
    schema: String,
    table: String,
    name: String,
    place: i64,
    nullable: &'static str,
    data_type: String,
}

/// No columns for a table that is only declared, or that was dropped meanwhile.
async fn columns_of(table: Table, listed: Listed) -> Result<Vec<Column>> {
    let dataset = match table.dataset(ReadOptions::default()).await {
        Err(error) if error.code() == Code::TableNotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let schema = Schema::from(dataset.schema());
    let fields = schema.fields().iter().zip(1..);
    Ok(fields
        .map(|(field, place)| Column {
            schema: listed.schema.clone(),
            table: listed.name.clone(),
            name: field.name().clone(),
            place,
            nullable: if field.is_nullable() { "YES" } else { "NO" },
            data_type: field.data_type().to_string(),
        })
        .collect())
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn schema(kind: Kind) -> Schema {
    let names: &[&str] = match kind {
        Kind::Schemata => &["catalog_name", "schema_name"],
        Kind::Tables => &["table_catalog", "table_schema", "table_name", "table_type"],
        Kind::Columns => &[
            "table_catalog",
            "table_schema",
            "table_name",
            "column_name",
            "ordinal_position",
            "is_nullable",
            "data_type",
        ],
    };
    let fields = names.iter().map(|name| {
        let data_type = match *name {
            "ordinal_position" => DataType::Int64,
            _ => DataType::Utf8,
        };
        Field::new(*name, data_type, false)
    });
    Schema::new(fields.collect::<Vec<_>>())
}
