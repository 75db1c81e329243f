//! The SQL of a view's query for a worker that computes all of it.
//!
//! The worker plans the text with DataFusion over the same tables. A session as its own plans the text here, too. Only if
//! that gives the plan of the query, the text means the same to the worker.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::{LogicalPlan, TableScan};
use lance::Dataset;

use super::plain_columns::has_plain;
use super::worker_datafusion::{can_scan, is_shallow};
use crate::error::Result;
use crate::planning::planned;
use crate::sql::{ScanSize, SourceTable, Statement, session};

/// The tables of a query, by their names in it.
type Sources = [(Vec<String>, Arc<Dataset>)];

/// The text of a query for a worker; `None`: the worker would read it, or columns of the tables, in another way.
pub async fn whole_sql(sql: &str, plan: &DataFrame, sources: &Sources) -> Result<Option<String>> {
    let (sql, plan) = (sql.to_string(), plan.logical_plan().clone());
    let sources = sources.to_vec();
    planned(async move {
        let statement = Statement::of_view(&sql)?;
        let text = statement.to_sql();
        let context = session::of_workers()?;
        for name in statement.tables()? {
            let Some((_, source)) = sources.iter().find(|(given, _)| *given == name.name) else {
                return Ok(None);
            };
            let table = SourceTable::new(source.clone(), ScanSize::default());
            // Two names of the server's session may be one for workers.
            if name.register(&context, Arc::new(table)).is_err() {
                return Ok(None);
            }
        }
        let state = context.state();
        let Ok(read) = state.create_logical_plan(&text).await else {
            return Ok(None);
        };
        if read != plan || !is_shallow(&read) {
            return Ok(None);
        }
        let Ok(optimized) = state.optimize(&read) else {
            return Ok(None);
        };
        // The session of a worker has all rules of DataFusion, and only those.
        let own = session::of_workers_with_own_rules()?
            .state()
            .optimize(&read);
        let is_same = own.is_ok_and(|own| own == optimized) && !limits_union(&read);
        let can_read = is_same && is_shallow(&optimized) && reads_plain(&optimized, &sources);
        Ok(can_read.then_some(text))
    })
    .await
}

/// Whether a plan may limit the sorted rows of a UNION, for which joust has a rule of the physical plan
/// (`sql/rules.rs`).
fn limits_union(plan: &LogicalPlan) -> bool {
    let has =
        |wanted: fn(&LogicalPlan) -> bool| plan.exists(|node| Ok(wanted(node))).unwrap_or(true);
    has(|node| matches!(node, LogicalPlan::Union(_)))
        && has(|node| matches!(node, LogicalPlan::Limit(_)))
}

/// Whether a worker can read all conditions and columns that a plan scans, as they are.
fn reads_plain(plan: &LogicalPlan, sources: &Sources) -> bool {
    let mut is_plain = true;
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            is_plain &= scans_plain(scan, sources);
        }
        Ok(match is_plain {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    });
    is_plain && walked.is_ok()
}

fn scans_plain(scan: &TableScan, sources: &Sources) -> bool {
    let name = &scan.table_name;
    let parts = [name.catalog(), name.schema(), Some(name.table())];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    let Some((_, source)) = sources.iter().find(|(given, _)| *given == parts) else {
        return false;
    };
    if !scan.filters.iter().all(can_scan) {
        return false;
    }
    let fields = scan.projected_schema.fields().iter();
    let scanned = fields.map(|field| field.name().as_str());
    let filters = scan.filters.iter().flat_map(|filter| filter.column_refs());
    let filtered: Vec<&str> = filters.map(Column::name).collect();
    let mut read = scanned.chain(filtered);
    read.all(|column| has_plain(source, column))
}
