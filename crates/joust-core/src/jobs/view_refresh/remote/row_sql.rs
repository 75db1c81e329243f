//! The query of a view over one table in the SQL of DataFusion, with which workers compute what they cannot scan with the
//! SQL of Lance.
//!
//! A session as that of the workers reads the text again. Only if it gives the plan of the query again, the text means
//! the same to them.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::Column;
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::{Expr, SessionContext};
use datafusion::sql::TableReference;
use datafusion::sql::unparser::Unparser;
use datafusion::sql::unparser::dialect::CustomDialectBuilder;
use lance::Dataset;
use lance_core::{ROW_ADDR, ROW_ADDR_FIELD, ROW_ID, ROW_ID_FIELD};

use super::super::schema::is_extension;
use super::expressions::Expressions;
use super::plain_columns::has_plain;
use super::worker_datafusion::is_shallow;
use crate::sql::{plain_type, session};

/// The table of the scanned rows.
const ROWS: &str = "source_rows";

/// A query over scanned rows.
pub struct RowSql {
    /// The columns to scan.
    pub columns: Vec<Arc<Field>>,
    /// A SELECT over the table `source_rows` of these columns, the row ids and the row addresses. The last two columns of
    /// the result are these.
    pub text: String,
}

impl RowSql {
    /// `None`: workers would read the text in another way. `fields`: those of the query's result.
    pub async fn of(source: &Dataset, query: &Expressions, fields: &[Arc<Field>]) -> Option<Self> {
        let columns = columns_of(source, query)?;
        let mut scanned = columns.clone();
        scanned.extend([&*ROW_ID_FIELD, &*ROW_ADDR_FIELD].map(|field| Arc::new(field.clone())));
        let schema = Arc::new(Schema::new(scanned));
        let table: Arc<dyn TableProvider> = Arc::new(EmptyTable::new(schema));
        let text = text_of(query)?;
        let own = plan_of(query, &table)?;
        let context = session::of_workers().ok()?;
        let name = TableReference::full(session::CATALOG, session::SCHEMA, ROWS);
        context.register_table(name, table).ok()?;
        let read = context.state().create_logical_plan(&text).await.ok()?;
        if !is_shallow(&read) {
            return None;
        }
        let read = optimized(&context, &read)?;
        let is_same = read == optimized(&context, &own)?;
        let mut types = fields.iter().zip(read.schema().fields());
        let has_types = types.all(|(own, read)| {
            plain_type(own.data_type()) == plain_type(read.data_type()) && !is_extension(read)
        });
        (is_same && has_types && is_shallow(&read)).then_some(Self { columns, text })
    }
}

/// The columns of the source that the query reads, in the order of the source.
fn columns_of(source: &Dataset, query: &Expressions) -> Option<Vec<Arc<Field>>> {
    let expressions = query.columns.iter().map(|(_, own)| own);
    let expressions = expressions.chain(&query.conditions);
    let names: BTreeSet<String> = expressions
        .flat_map(|own| own.column_refs())
        .map(|column| column.name().to_string())
        .collect();
    if !names.iter().all(|name| has_plain(source, name)) {
        return None;
    }
    let all = Schema::from(source.schema());
    let read = all.fields().iter();
    let read = read.filter(|field| names.contains(field.name()));
    Some(read.cloned().collect())
}

fn text_of(query: &Expressions) -> Option<String> {
    let dialect = CustomDialectBuilder::new()
        .with_identifier_quote_style('"')
        .build();
    // Without needless brackets: the parser bounds how deep they are nested.
    let unparser = Unparser::new(&dialect).with_pretty(true);
    let text = |own: &Expr| Some(unparser.expr_to_sql(own).ok()?.to_string());
    let columns = query.columns.iter();
    let mut columns = columns
        .map(|(name, own)| Some(format!("{} AS {}", text(own)?, quoted(name))))
        .collect::<Option<Vec<_>>>()?;
    columns.extend([quoted(ROW_ID), quoted(ROW_ADDR)]);
    let condition = match all_of(&query.conditions) {
        Some(condition) => format!(" WHERE {}", text(&condition)?),
        None => String::new(),
    };
    let columns = columns.join(", ");
    Some(format!("SELECT {columns} FROM {}{condition}", quoted(ROWS)))
}

/// The plan that the text stands for.
fn plan_of(query: &Expressions, table: &Arc<dyn TableProvider>) -> Option<LogicalPlan> {
    let mut plan = LogicalPlanBuilder::scan(ROWS, provider_as_source(table.clone()), None).ok()?;
    if let Some(condition) = all_of(&query.conditions) {
        plan = plan.filter(condition).ok()?;
    }
    let columns = query.columns.iter();
    let columns = columns.map(|(name, own)| match own {
        // As the planner reads `a AS a`.
        Expr::Column(column) if column.name() == name => own.clone(),
        _ => own.clone().alias(name),
    });
    let own = [ROW_ID, ROW_ADDR].map(column);
    let plan = plan.project(columns.chain(own).collect::<Vec<_>>()).ok()?;
    plan.build().ok()
}

fn optimized(context: &SessionContext, plan: &LogicalPlan) -> Option<LogicalPlan> {
    context.state().optimize(plan).ok()
}

fn all_of(conditions: &[Expr]) -> Option<Expr> {
    conditions.iter().cloned().reduce(Expr::and)
}

fn column(name: &str) -> Expr {
    Expr::Column(Column::from_name(name))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
