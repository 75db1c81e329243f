//! A query with GROUP BY over the rows of one table, and its groups of changed rows.
//!
//! A changed row changes the group that it was in and the one that it is in now. A refresh computes these groups again
//! from all of their rows. If rows were only added, and the partial results of both can be merged, it reads no other rows:
//! it merges the results of the new rows with the rows of the view.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::row::{RowConverter, SortField};
use datafusion::logical_expr::{Aggregate, LogicalPlan};
use datafusion::prelude::Expr;

use super::shape::{below, changing, check_row_wise};
use crate::error::Result;

/// The most groups that a refresh computes by themselves, and the most bytes of their keys: they are kept in memory.
const MOST_GROUPS: usize = 1_000_000;
const MOST_KEY_BYTES: usize = 32 << 20;

/// The groups of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// The columns of the result that are the key of a group, by their positions, in the order of GROUP BY. Empty: one
    /// group of all rows.
    pub keys: Vec<usize>,
    /// How two partial results of a group are merged, for each column of the result; `None`: they can't be.
    pub merge: Option<Vec<Merge>>,
}

/// How two partial results are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// They are the same.
    Key,
    Sum,
    Min,
    Max,
}

impl Groups {
    /// The groups of a plan whose projections and filters are above `aggregate`; an error if a refresh needs all rows.
    pub fn of(plan: &LogicalPlan, aggregate: &Aggregate) -> Result<Self, &'static str> {
        let is_plain = matches!(below(&aggregate.input)?, LogicalPlan::TableScan(_));
        if !is_plain {
            return Err("the query has aggregates over more than the rows of one table");
        }
        check_row_wise(&aggregate.group_expr)
            .map_err(|_| "the query has GROUPING SETS or the like")?;
        for expression in &aggregate.aggr_expr {
            check_aggregate(expression)?;
        }
        let (origins, has_filter) = origins(plan)?;
        let groups = aggregate.group_expr.len();
        let key = |group: usize| origins.iter().position(|from| *from == Some(group));
        let keys: Option<Vec<usize>> = (0..groups).map(key).collect();
        let keys = keys.ok_or("an expression of GROUP BY is not a column of the result")?;
        let fields = plan.schema().fields();
        if !keys.iter().all(|key| is_exact(fields[*key].data_type())) {
            return Err("the query has GROUP BY with floating-point, nested or dictionary values");
        }
        let merge = origins
            .iter()
            .zip(fields)
            .map(|(from, field)| match (*from)? {
                group if group < groups => Some(Merge::Key),
                other => merge(&aggregate.aggr_expr[other - groups], field.data_type()),
            });
        Ok(Self {
            keys,
            merge: merge.collect::<Option<_>>().filter(|_| !has_filter),
        })
    }
}

/// An error if an aggregate has another result for the same rows.
fn check_aggregate(expression: &Expr) -> Result<(), &'static str> {
    let Expr::AggregateFunction(call) = expression.clone().unalias_nested().data else {
        return Err("the query has an expression over more than one row");
    };
    if let Some(reason) = changing(call.func.signature().volatility) {
        return Err(reason);
    }
    check_row_wise(&call.params.args)?;
    if let Some(filter) = call.params.filter {
        check_row_wise(&[*filter])?;
    }
    let order: Vec<Expr> = call.params.order_by.into_iter().map(|by| by.expr).collect();
    check_row_wise(&order)
}

/// For each column of a plan the column of the aggregate that it is, if it is one unchanged; and whether there is a filter
/// above the aggregate.
fn origins(plan: &LogicalPlan) -> Result<(Vec<Option<usize>>, bool), &'static str> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let (below, has_filter) = origins(&projection.input)?;
            let schema = projection.input.schema();
            let of = |expression: &Expr| match expression.clone().unalias_nested().data {
                Expr::Column(column) => below[schema.maybe_index_of_column(&column)?],
                _ => None,
            };
            Ok((projection.expr.iter().map(of).collect(), has_filter))
        }
        LogicalPlan::Filter(filter) => Ok((origins(&filter.input)?.0, true)),
        LogicalPlan::SubqueryAlias(alias) => origins(&alias.input),
        LogicalPlan::Aggregate(aggregate) => {
            let columns = 0..aggregate.schema.fields().len();
            Ok((columns.map(Some).collect(), false))
        }
        _ => Err("the query has aggregates over more than the rows of one table"),
    }
}

/// Whether equal values have one representation.
fn is_exact(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_decimal()
        || data_type.is_temporal()
        || data_type.is_string()
        || data_type.is_binary()
        || *data_type == DataType::Boolean
}

fn merge(expression: &Expr, data_type: &DataType) -> Option<Merge> {
    let Expr::AggregateFunction(call) = expression.clone().unalias_nested().data else {
        return None;
    };
    // Sums of floating-point numbers depend on the order of the rows.
    let is_exact_sum = matches!(
        data_type,
        DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..) | DataType::Decimal256(..)
    );
    match call.func.name() {
        "count" if !call.params.distinct => Some(Merge::Sum),
        "sum" if !call.params.distinct && is_exact_sum => Some(Merge::Sum),
        "min" => Some(Merge::Min),
        "max" => Some(Merge::Max),
        _ => None,
    }
}

/// Keys of groups, with the types of the view's columns.
#[derive(Debug)]
pub struct GroupKeys {
    fields: Vec<Field>,
    converter: RowConverter,
    keys: HashSet<Box<[u8]>>,
    bytes: usize,
}

impl GroupKeys {
    /// No keys yet. `fields`: those columns of the view.
    pub fn new(fields: Vec<Field>) -> Result<Self> {
        let types = fields
            .iter()
            .map(|field| SortField::new(field.data_type().clone()));
        Ok(Self {
            converter: RowConverter::new(types.collect())?,
            fields,
            keys: HashSet::new(),
            bytes: 0,
        })
    }

    /// The names of the view's columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name().as_str())
    }

    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Adds the keys of rows for which `is_wanted`; `false` if there are too many.
    pub fn add(&mut self, columns: &[ArrayRef], is_wanted: impl Fn(usize) -> bool) -> Result<bool> {
        let columns = columns.iter().zip(&self.fields);
        let columns = columns
            .map(|(column, field)| Ok(cast(column, field.data_type())?))
            .collect::<Result<Vec<_>>>()?;
        let rows = self.converter.convert_columns(&columns)?;
        for (number, row) in rows.iter().enumerate() {
            if is_wanted(number) && !self.keys.contains(row.as_ref()) {
                self.bytes += row.as_ref().len();
                self.keys.insert(row.as_ref().into());
            }
        }
        Ok(self.keys.len() <= MOST_GROUPS && self.bytes <= MOST_KEY_BYTES)
    }

    /// Which of some rows, by their columns of the view, have one of the keys.
    pub fn find(&self, columns: &[ArrayRef]) -> Result<Vec<bool>> {
        let rows = self.converter.convert_columns(columns)?;
        let found = rows.iter().map(|row| self.keys.contains(row.as_ref()));
        Ok(found.collect())
    }

    /// The keys as rows.
    pub fn batch(&self) -> Result<RecordBatch> {
        let parser = self.converter.parser();
        let rows = self.keys.iter().map(|key| parser.parse(key));
        let columns = self.converter.convert_rows(rows)?;
        let fields = self.fields.iter().enumerate();
        let fields: Vec<Field> = fields
            .map(|(number, field)| {
                Field::new(format!("key_{number}"), field.data_type().clone(), true)
            })
            .collect();
        Ok(RecordBatch::try_new(
            Arc::new(Schema::new(fields)),
            columns,
        )?)
    }
}
