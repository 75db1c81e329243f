//! The parameters of a change whose values are not known, or that has several rows of values.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::datasource::empty::EmptyTable;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, ObjectName, Query, Select, SelectItem, SetExpr, Statement as Ast,
    TableFactor, TableWithJoins, Value as Literal, Visit, VisitMut, Visitor, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::super::names;
use super::super::parameters::number;
use super::super::plain::plain_type;
use super::super::search::Searches;
use super::super::statement::{Statement, TableName};
use super::super::unbound::Unbound;
use super::grammar::unreadable;
use crate::error::Result;

/// The name of the changed table in a query that is only planned. No name of a client contains this character.
const TARGET: &str = "\u{2}target";
/// The name of the table whose rows are the parameters: column *i* is `$i`.
const ROWS: &str = "\u{2}rows";

/// The parts of a statement that determine the types of its parameters.
#[derive(Default)]
pub struct Open {
    /// Numbers of parameters that are values of columns, and the positions of these columns in `columns`.
    values: Vec<(usize, usize)>,
    /// Names of columns; none: all columns of the table.
    columns: Vec<String>,
    /// The name of the changed table in `conditions`.
    alias: String,
    /// The source of MERGE.
    source: Option<TableFactor>,
    /// Expressions with parameters over the columns of the changed table and of the source.
    conditions: Vec<Expr>,
    /// The row of `INSERT INTO t VALUES (…)` as a query over rows of parameters.
    row: Option<Statement>,
}

impl Open {
    /// The name of the changed table in conditions.
    pub(super) fn name_target(&mut self, alias: &str) {
        self.alias = alias.to_string();
    }

    /// The other table in the conditions of MERGE. `name`: its name there.
    pub(super) fn add_source(&mut self, mut source: TableFactor, name: &str) {
        if let TableFactor::Table { alias, .. } = &mut source {
            alias.get_or_insert_with(|| names::named(name));
        }
        self.source = Some(source);
    }

    /// A condition: each side of an AND is planned by itself, so that one of unknown type hides no other.
    pub(super) fn add_condition(&mut self, condition: &Expr) {
        match condition {
            Expr::Nested(inner) => self.add_condition(inner),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => {
                self.add_condition(left);
                self.add_condition(right);
            }
            other if other.visit(&mut Placeholders).is_break() => {
                self.conditions.push(other.clone());
            }
            _ => {}
        }
    }

    /// `column = value`
    pub(super) fn add_assignment(&mut self, path: &[String], value: &Expr) {
        let idents = path.iter().map(|part| Ident::with_quote('"', part));
        let idents: Vec<Ident> = idents.collect();
        self.add_condition(&Expr::BinaryOp {
            left: Box::new(match idents.as_slice() {
                [column] => Expr::Identifier(column.clone()),
                _ => Expr::CompoundIdentifier(idents),
            }),
            op: BinaryOperator::Eq,
            right: Box::new(value.clone()),
        });
    }

    /// The query of INSERT. `columns`: the columns that it names.
    pub(super) fn add_values(&mut self, query: &Query, columns: &[String]) -> Result<()> {
        self.columns = columns.to_vec();
        self.add_values_of(&query.body);
        self.row = only_row(query).map(row_query).transpose()?;
        Ok(())
    }

    fn add_values_of(&mut self, body: &SetExpr) {
        let mut add = |at: usize, value: &Expr| {
            if let Some(number) = placeholder(value) {
                self.values.push((number, at));
            }
        };
        match body {
            SetExpr::Values(values) => {
                for row in &values.rows {
                    for (at, value) in row.iter().enumerate() {
                        add(at, value);
                    }
                }
            }
            SetExpr::Select(select) => {
                for (at, item) in select.projection.iter().enumerate() {
                    match item {
                        SelectItem::UnnamedExpr(value)
                        | SelectItem::ExprWithAlias { expr: value, .. } => add(at, value),
                        // The positions behind it are not known.
                        _ => break,
                    }
                }
            }
            SetExpr::Query(query) => self.add_values_of(&query.body),
            _ => {}
        }
    }

    /// Whether one execution writes the rows of all parameters.
    pub fn takes_rows(&self) -> bool {
        self.row.is_some()
    }

    /// The query that gives the rows to write, over a table of parameters with this name.
    pub fn into_rows(self) -> Option<(Statement, TableName)> {
        Some((self.row?, TableName::internal(ROWS.to_string())))
    }

    /// The types of `count` parameters, as far as the statement determines them and a client can bind them. `context`
    /// has the tables that the statement reads; `of_query`: the types that its query determines; `table`: the columns of
    /// the changed table.
    pub async fn types(
        &self,
        count: usize,
        context: &SessionContext,
        of_query: Vec<Option<DataType>>,
        table: &SchemaRef,
    ) -> Result<Vec<Option<DataType>>> {
        let mut types = vec![None; count];
        for (number, at) in &self.values {
            let field = match self.columns.as_slice() {
                [] => table.fields().get(*at),
                names => names.get(*at).and_then(|name| {
                    let mut fields = table.fields().iter();
                    fields.find(|field| field.name() == name)
                }),
            };
            let determined = field.map(|field| field.data_type().clone());
            merge(&mut types, vec![(number - 1, determined)]);
        }
        merge(&mut types, of_query.into_iter().enumerate());
        if !self.conditions.is_empty() {
            let target = Arc::new(EmptyTable::new(table.clone()));
            let target_name = TableName::internal(TARGET.to_string());
            target_name.register(context, target)?;
        }
        for condition in &self.conditions {
            let unbound = Unbound::new(Ast::Query(self.select(condition.clone())?), count);
            let determined = unbound.parameter_types(context).await;
            merge(&mut types, determined.into_iter().enumerate());
        }
        let bindable = |determined: DataType| Some(determined).filter(is_bindable);
        let types = types.into_iter();
        Ok(types
            .map(|determined| {
                determined
                    .map(|known| plain_type(&known))
                    .and_then(bindable)
            })
            .collect())
    }

    /// `SELECT 1 FROM target [, source] WHERE condition`
    fn select(&self, condition: Expr) -> Result<Box<Query>> {
        select_from(TARGET, &self.alias, |select| {
            let source = self.source.clone().map(|relation| TableWithJoins {
                relation,
                joins: Vec::new(),
            });
            select.from.extend(source);
            select.selection = Some(condition);
        })
    }
}

/// Keeps the first type of each parameter.
fn merge(
    types: &mut [Option<DataType>],
    determined: impl IntoIterator<Item = (usize, Option<DataType>)>,
) {
    for (at, determined) in determined {
        if let Some(place) = types.get_mut(at)
            && place.as_ref().is_none_or(DataType::is_null)
        {
            *place = determined;
        }
    }
}

/// Whether a value of the type can be bound: see `sql/bound.rs`. The others are bound as text, which is cast.
fn is_bindable(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::List(item) | T::LargeList(item) | T::FixedSizeList(item, _) => {
            is_bindable(item.data_type())
        }
        T::Dictionary(_, values) => is_bindable(values),
        T::Boolean | T::Utf8 | T::LargeUtf8 => true,
        other => other.is_numeric() || (other.is_temporal() && !is_span(other)),
    }
}

fn is_span(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Duration(_) | DataType::Interval(_))
}

/// The values of a query that is VALUES with one row and nothing else.
fn only_row(query: &Query) -> Option<&[Expr]> {
    let has_more = query.with.is_some()
        || query.order_by.is_some()
        || query.limit_clause.is_some()
        || query.fetch.is_some();
    match (query.body.as_ref(), has_more) {
        // A query among the values would see the parameters as columns of another query.
        (SetExpr::Values(values), false) if !values.visit(&mut Queries).is_break() => {
            match values.rows.as_slice() {
                [row] => Some(row),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `SELECT value AS c0, … FROM rows`
fn row_query(values: &[Expr]) -> Result<Statement> {
    let items = values.iter().enumerate().map(|(at, value)| {
        let mut expr = value.clone();
        let _: ControlFlow<()> = VisitMut::visit(&mut expr, &mut Columns);
        SelectItem::ExprWithAlias {
            expr,
            alias: Ident::with_quote('"', format!("c{at}")),
        }
    });
    let items: Vec<SelectItem> = items.collect();
    let query = select_from(ROWS, "rows", |select| select.projection = items)?;
    Statement::of_query(Ast::Query(query), Searches::default())
}

/// `SELECT 1 FROM table AS alias`, with changes.
fn select_from(table: &str, alias: &str, change: impl FnOnce(&mut Select)) -> Result<Box<Query>> {
    let mut parser = Parser::new(&GenericDialect)
        .try_with_sql("SELECT 1 FROM t AS a")
        .map_err(unreadable)?;
    let mut query = parser.parse_query().map_err(unreadable)?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        for from in &mut select.from {
            if let TableFactor::Table {
                name, alias: named, ..
            } = &mut from.relation
            {
                *name = ObjectName::from(vec![Ident::with_quote('"', table)]);
                *named = Some(names::named(alias));
            }
        }
        change(select);
    }
    Ok(query)
}

/// The number of a placeholder.
fn placeholder(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Nested(inner) => placeholder(inner),
        Expr::Value(value) => match &value.value {
            Literal::Placeholder(name) => number(name),
            _ => None,
        },
        _ => None,
    }
}

/// Finds a placeholder.
struct Placeholders;

impl Visitor for Placeholders {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match placeholder(expr) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Replaces placeholders by the columns of the same name.
struct Columns;

/// Ends at a query.
struct Queries;

impl Visitor for Queries {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

impl VisitorMut for Columns {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr
            && let Literal::Placeholder(name) = &value.value
        {
            *expr = Expr::Identifier(Ident::with_quote('"', name));
        }
        ControlFlow::Continue(())
    }
}
