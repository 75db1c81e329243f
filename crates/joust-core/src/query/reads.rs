//! Queries with only a filter that are answered from memory.

use std::sync::Arc;
use std::time::Instant;

use lance::Dataset;

use super::fetch::{Rows, Wanted};
use super::nearest::{output, own_field};
use super::output::Ranked;
use super::request::Query;
use super::vectors::Vectors;
use crate::cache::{can_have, first_rows, rows_with};
use crate::error::Result;
use crate::index::Caches;
use crate::plan_format::{self, Measured, Step};
use crate::schema::expression::Expression;
use crate::schema::predicate::{Is, comparisons};

/// More rows are left to a scan, which streams them.
const MOST_ROWS: u64 = 10_000;

/// Rows that match a filter, in the table's order, and their output columns.
pub struct Reads {
    rows: Vec<u64>,
    filter: String,
    /// The data in memory that selects the rows.
    how: String,
    wanted: Wanted,
}

impl Reads {
    /// `None` leaves the query to Lance.
    pub async fn new(
        dataset: &Arc<Dataset>,
        query: &Query,
        caches: &Caches,
    ) -> Result<Option<Self>> {
        let filter = query.filter.as_deref();
        let Some(filter) = filter.filter(|filter| !filter.trim().is_empty()) else {
            return Ok(None);
        };
        let is_plain = query.text.is_none()
            && query.vector == Vectors::None
            && query.fast_search != Some(true)
            && query.order_by.as_ref().is_none_or(Vec::is_empty);
        if !caches.rows().is_on() || !is_plain || query.k == 0 {
            return Ok(None);
        }
        let Some(output) = output(dataset, query, &[])? else {
            return Ok(None);
        };
        let found = match by_value(dataset, filter, caches).await? {
            None => by_filter(dataset, filter, query.reach(), caches).await?,
            found => found,
        };
        Ok(found.map(|(rows, how)| Self {
            rows,
            filter: filter.to_string(),
            how,
            wanted: Wanted::new(output, query),
        }))
    }

    pub async fn rows(&self, caches: &Caches) -> Result<Rows> {
        let found = self.rows.iter().map(|row| Ranked {
            row: *row,
            ..Ranked::default()
        });
        self.wanted.fetch(found.collect(), caches.rows()).await
    }

    /// The plan.
    pub fn steps(&self, verbose: bool, measured: Option<Measured>) -> Step {
        let output = &self.wanted.output;
        let columns: Vec<&str> = output.taken().collect();
        let read = plan_format::read(
            "LanceRead",
            output.dataset(),
            &columns,
            output.dataset().fragments().len(),
            Some(&self.filter),
        );
        let known = Step::new(format!("InMemory: {}", self.how));
        self.wanted.steps(verbose, read.reads([known]), measured)
    }

    /// Reads the rows: the plan with the duration.
    pub async fn analyze(&self, caches: &Caches) -> Result<Step> {
        let started = Instant::now();
        let rows = self.rows(caches).await?.count().await?;
        let measured = Measured {
            rows: rows as u64,
            time: started.elapsed(),
        };
        Ok(self.steps(false, Some(measured)))
    }
}

/// Rows by the values of one column.
async fn by_value(
    dataset: &Arc<Dataset>,
    filter: &str,
    caches: &Caches,
) -> Result<Option<(Vec<u64>, String)>> {
    let comparisons = comparisons(filter).unwrap_or_default();
    let [comparison] = comparisons.as_slice() else {
        return Ok(None);
    };
    let Is::OneOf(values) = &comparison.is else {
        return Ok(None);
    };
    let mut fields = dataset.schema().fields.iter();
    let Some(field) = fields.find(|field| field.name == comparison.column) else {
        return Ok(None);
    };
    if own_field(dataset, &field.name).is_none()
        || !values.iter().all(|value| can_have(field, value))
    {
        return Ok(None);
    }
    let rows = rows_with(dataset, field, values, caches.rows()).await?;
    let how = || format!("{} values of `{}`", values.len(), field.name);
    Ok(rows.map(|rows| (rows, how())))
}

/// Rows that match a filter whose columns are in memory, or whose result is cached.
async fn by_filter(
    dataset: &Arc<Dataset>,
    filter: &str,
    reach: u64,
    caches: &Caches,
) -> Result<Option<(Vec<u64>, String)>> {
    if reach > MOST_ROWS {
        return Ok(None);
    }
    let filter = Expression::new(filter)?;
    let rows = first_rows(dataset, &filter, reach as usize, caches.rows()).await?;
    let words = || {
        filter
            .sql()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    Ok(rows.map(|rows| (rows, format!("the first rows where {}", words()))))
}
