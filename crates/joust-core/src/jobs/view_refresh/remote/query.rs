//! The query of a view over one table, as workers compute it for a fragment: in the SQL of Lance if they can scan the
//! fragment with it, else in that of DataFusion over the scanned rows.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::prelude::Expr;
use lance::Dataset;
use lance_core::{ROW_ADDR, ROW_ID};

use super::expressions::Expressions;
use super::lance_sql::LanceSql;
use super::row_sql::RowSql;
use crate::error::Result;
use crate::planning::planned;

/// The query of a view over one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerQuery {
    /// The columns of the scan: name and expression in the SQL of Lance.
    pub columns: Vec<(String, String)>,
    /// Only rows for which it is true, in the SQL of Lance.
    pub filter: Option<String>,
    /// The query over the scanned rows, in the SQL of DataFusion: see [`RowSql`]. `None`: the rows are the result.
    pub sql: Option<String>,
}

impl WorkerQuery {
    /// The query of a row-wise plan; `None`: workers cannot compute it, or read columns of this kind in another form.
    async fn of(plan: &LogicalPlan, source: &Dataset) -> Option<Self> {
        let mut query = Expressions::of(plan)?;
        let mut names = query.columns.iter().map(|(name, _)| name);
        if names.any(|name| name == ROW_ID || name == ROW_ADDR) {
            return None;
        }
        let conditions = std::mem::take(&mut query.conditions).into_iter();
        query.conditions = conditions.flat_map(split_conjunction_owned).collect();
        let fields = plan.schema().fields();
        let filter = {
            let lance = LanceSql::new(source)?;
            let filter = match query.conditions.is_empty() {
                true => None,
                false => lance.filter(&query.conditions),
            };
            if filter.is_some() {
                query.conditions.clear();
            }
            let mut conditions = query.conditions.iter();
            // In the server, Lance has the condition.
            if conditions.any(|own| lance.compares_floats(own)) {
                return None;
            }
            let columns = query.columns.iter().zip(fields.iter());
            let columns = columns.map(|((name, own), field)| {
                let text = lance.column(own.clone(), field.data_type())?;
                Some((name.clone(), text))
            });
            if query.conditions.is_empty()
                && let Some(columns) = columns.collect()
            {
                return Some(Self {
                    columns,
                    filter,
                    sql: None,
                });
            }
            filter
        };
        let sql = RowSql::of(source, &query, fields).await?;
        let lance = LanceSql::new(source)?;
        let columns = sql.columns.iter().map(|field| {
            let own = Expr::Column(Column::from_name(field.name()));
            let text = lance.column(own, field.data_type())?;
            Some((field.name().clone(), text))
        });
        Some(Self {
            columns: columns.collect::<Option<_>>()?,
            filter,
            sql: Some(sql.text),
        })
    }
}

/// The query of a row-wise plan for workers; `None`: they cannot compute it.
pub async fn worker_query(plan: &DataFrame, source: &Arc<Dataset>) -> Result<Option<WorkerQuery>> {
    let (plan, source) = (plan.logical_plan().clone(), source.clone());
    planned(async move { Ok(WorkerQuery::of(&plan, &source).await) }).await
}
