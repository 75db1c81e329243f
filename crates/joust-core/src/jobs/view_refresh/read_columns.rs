//! The columns of its table that a query reads: changes of others do not change its result.

use std::collections::HashSet;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use lance::Dataset;

use crate::error::{Error, Result};

/// Columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadColumns {
    All,
    /// By their names, top-level ones.
    Named(HashSet<String>),
}

impl ReadColumns {
    /// Those that an optimized plan reads from its only table.
    pub fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut read = Self::Named(HashSet::new());
        plan.apply(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                let schema = scan.source.schema();
                match (&scan.projection, &mut read) {
                    (Some(projection), Self::Named(names)) => {
                        names.extend(projection.iter().map(|at| schema.field(*at).name().clone()));
                        let filters = scan.filters.iter().flat_map(|filter| filter.column_refs());
                        names.extend(filters.map(|column| column.name.clone()));
                    }
                    _ => read = Self::All,
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .map_err(Error::of_input)?;
        Ok(read)
    }

    /// With the columns that the expressions of a plan name, whether or not its result depends on them.
    pub fn and_named(self, plan: &LogicalPlan) -> Result<Self> {
        let Self::Named(mut names) = self else {
            return Ok(self);
        };
        plan.apply(|node| {
            for expression in node.expressions() {
                let columns = expression.column_refs();
                names.extend(columns.into_iter().map(|column| column.name.clone()));
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .map_err(Error::of_input)?;
        Ok(Self::Named(names))
    }

    pub fn contains(&self, column: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(column),
        }
    }

    /// The ids of their fields in a version, with those of nested ones.
    pub fn ids(&self, dataset: &Dataset) -> HashSet<i32> {
        let columns = dataset.schema().fields.iter();
        let read = columns.filter(|field| self.contains(&field.name));
        let mut ids = HashSet::new();
        let mut fields: Vec<_> = read.collect();
        while let Some(field) = fields.pop() {
            ids.insert(field.id);
            fields.extend(&field.children);
        }
        ids
    }
}
