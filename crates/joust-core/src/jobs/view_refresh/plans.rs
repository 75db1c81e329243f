//! The plans of refreshes that compute a part of a view, made from the logical plan of its query.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, JoinType, NullEquality};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::functions_aggregate::expr_fn::sum;
use datafusion::logical_expr::{
    Aggregate, Filter, Join, JoinConstraint, LogicalPlan, LogicalPlanBuilder, Projection,
    SubqueryAlias,
};
use datafusion::prelude::{Expr, cast};
use lance_core::ROW_ID;

use super::groups::{GroupKeys, Merge};
use super::shape::aggregate;
use crate::error::{Code, Error, Result};
use crate::sql::min_max;

/// The plan over another table with the same columns.
pub fn over(plan: &LogicalPlan, table: &Arc<dyn TableProvider>) -> Result<LogicalPlan> {
    let replaced = plan.clone().transform_up(|node| match node {
        LogicalPlan::TableScan(scan) => {
            let source = provider_as_source(table.clone());
            let scan = LogicalPlanBuilder::scan(scan.table_name, source, None)?;
            Ok(Transformed::yes(scan.build()?))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(replaced.data)
}

/// The plan of a row-wise query over `table`, with the column `_rowid` of the table as the last one. `table` has the
/// columns of the plan's table, and `_rowid`.
pub fn with_row_ids(plan: &LogicalPlan, table: &Arc<dyn TableProvider>) -> Result<LogicalPlan> {
    let plan = match plan {
        LogicalPlan::TableScan(_) => over(plan, table)?,
        LogicalPlan::Projection(projection) => {
            let input = with_row_ids(&projection.input, table)?;
            let mut columns = projection.expr.clone();
            columns.push(row_id(&input)?);
            LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?)
        }
        LogicalPlan::Filter(filter) => {
            let input = with_row_ids(&filter.input, table)?;
            let filter = Filter::try_new(filter.predicate.clone(), Arc::new(input))?;
            LogicalPlan::Filter(filter)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = with_row_ids(&alias.input, table)?;
            let alias = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
            LogicalPlan::SubqueryAlias(alias)
        }
        _ => return Err(other_shape()),
    };
    Ok(plan)
}

fn row_id(plan: &LogicalPlan) -> Result<Expr> {
    let (qualifier, field) = plan
        .schema()
        .qualified_field_with_unqualified_name(ROW_ID)?;
    Ok(Expr::Column(Column::from((qualifier, field))))
}

fn other_shape() -> Error {
    Error::new(
        Code::Internal,
        "the query has another shape than the refresh needs",
    )
}

/// The keys of the groups of rows of `table`, which has `_rowid`; the last column is that id.
pub fn group_keys(plan: &LogicalPlan, table: &Arc<dyn TableProvider>) -> Result<LogicalPlan> {
    let aggregate = aggregate(plan).ok_or_else(other_shape)?;
    let input = with_row_ids(&aggregate.input, table)?;
    let keys = aggregate.group_expr.iter().enumerate();
    let mut columns: Vec<Expr> = keys
        .map(|(number, key)| {
            key.clone()
                .unalias_nested()
                .data
                .alias(format!("key_{number}"))
        })
        .collect();
    columns.push(row_id(&input)?);
    let keys = Projection::try_new(columns, Arc::new(input))?;
    Ok(LogicalPlan::Projection(keys))
}

/// The plan of a query with groups that only computes groups with these keys.
pub fn some_groups(plan: &LogicalPlan, keys: &GroupKeys) -> Result<LogicalPlan> {
    if let LogicalPlan::Aggregate(own) = plan {
        let rows = matching(own.input.as_ref().clone(), &own.group_expr, keys)?;
        let own = Aggregate::try_new(
            Arc::new(rows),
            own.group_expr.clone(),
            own.aggr_expr.clone(),
        )?;
        return Ok(LogicalPlan::Aggregate(own));
    }
    let [input] = plan.inputs()[..] else {
        return Err(other_shape());
    };
    let input = some_groups(input, keys)?;
    Ok(plan.with_new_exprs(plan.expressions(), vec![input])?)
}

/// The rows whose values of `expressions` are one of the keys.
fn matching(rows: LogicalPlan, expressions: &[Expr], keys: &GroupKeys) -> Result<LogicalPlan> {
    let batch = keys.batch()?;
    let names: Vec<String> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
    let source = provider_as_source(Arc::new(table));
    let keys_plan = LogicalPlanBuilder::scan("joust_group_keys", source, None)?.build()?;
    let expressions = expressions.iter().zip(keys.fields()).zip(names);
    let on = expressions.map(|((expression, field), name)| {
        let own = expression.clone().unalias_nested().data;
        (
            Expr::Column(Column::new(Some("joust_group_keys"), name)),
            cast(own, field.data_type().clone()),
        )
    });
    // The keys are the side that is held in memory.
    let join = Join::try_new(
        Arc::new(keys_plan),
        Arc::new(rows),
        on.collect(),
        None,
        JoinType::RightSemi,
        JoinConstraint::On,
        NullEquality::NullEqualsNull,
        false,
    )?;
    Ok(LogicalPlan::Join(join))
}

/// Merges the results of `new` rows with the rows of the view, `former`, that have one of the keys.
pub fn merged(
    new: LogicalPlan,
    former: &Arc<dyn TableProvider>,
    view: &Schema,
    merge: &[Merge],
    keys: &GroupKeys,
) -> Result<LogicalPlan> {
    let former = provider_as_source(former.clone());
    let former = LogicalPlanBuilder::scan("joust_view", former, None)?.build()?;
    let expressions: Vec<Expr> = keys.columns().map(column).collect();
    let former = match expressions.is_empty() {
        true => former,
        false => matching(former, &expressions, keys)?,
    };
    let both = LogicalPlanBuilder::from(as_view(new, view)?).union(as_view(former, view)?)?;
    let fields = view.fields().iter().zip(merge);
    let (keys, results): (Vec<_>, Vec<_>) = fields.partition(|(_, merge)| **merge == Merge::Key);
    let keys = keys.into_iter().map(|(field, _)| column(field.name()));
    let results = results.into_iter().map(|(field, merge)| {
        let own = column(field.name());
        let merged = match merge {
            Merge::Min => min_max::min().call(vec![own]),
            Merge::Max => min_max::max().call(vec![own]),
            Merge::Sum | Merge::Key => sum(own),
        };
        merged.alias(field.name())
    });
    let merged = both.aggregate(keys.collect::<Vec<_>>(), results.collect::<Vec<_>>())?;
    let columns = view.fields().iter().map(|field| column(field.name()));
    Ok(merged.project(columns.collect::<Vec<_>>())?.build()?)
}

/// The columns of a plan as those of the view, by their positions.
fn as_view(plan: LogicalPlan, view: &Schema) -> Result<LogicalPlan> {
    let own = plan.schema().iter();
    let fields: Vec<(Expr, &Arc<Field>)> = own
        .map(|(qualifier, field)| Expr::Column(Column::from((qualifier, field))))
        .zip(view.fields())
        .collect();
    let columns = fields
        .into_iter()
        .map(|(own, field)| cast(own, field.data_type().clone()).alias(field.name()));
    Ok(LogicalPlanBuilder::from(plan)
        .project(columns.collect::<Vec<_>>())?
        .build()?)
}

/// A column of a view in an expression.
fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}
