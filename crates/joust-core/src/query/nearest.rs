//! Vector queries without a Lance plan.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Array, ArrayRef, AsArray};
use lance::Dataset;
use lance_core::datatypes::Field;

use super::fetch::{Rows, Wanted};
use super::output::{Output, Own, QUERY_INDEX, Ranked};
use super::request::Query;
use super::vector;
use super::vector_search::VectorSearch;
use super::vectors::Vectors;
use crate::cache::can_be_cached;
use crate::error::Result;
use crate::index::Caches;
use crate::plan_format::{Measured, Step};
use crate::schema::expression::Expression;
use crate::vector::{Bounds, Neighbor, Probes, Search, SearchStrategy, key};

/// More rows are left to a scan, which streams them.
const MOST_ROWS: u64 = 10_000;
/// The same, over all vectors of a query.
const MOST_ROWS_OF_ALL: u64 = 100_000;

/// A vector search with the processing of its rows.
pub struct NearestRows {
    nearest: Nearest,
    wanted: Wanted,
    /// Applies to the rows of each vector.
    offset: usize,
    limit: usize,
}

/// A search by vector and its strategy.
pub struct Nearest {
    search: Search,
    strategy: SearchStrategy,
}

impl Nearest {
    /// `None` leaves the search to Lance.
    pub async fn new(
        dataset: &Arc<Dataset>,
        query: &Query,
        caches: &Caches,
    ) -> Result<Option<Self>> {
        let filter = query.filter.as_deref();
        let filter = filter.filter(|filter| !filter.trim().is_empty());
        let count = match &query.vector {
            Vectors::None => return Ok(None),
            Vectors::One(_) => 1,
            Vectors::Many(vectors) => vectors.len() as u64,
        };
        if !caches.rows().is_on()
            || query.k == 0
            || query.reach() > MOST_ROWS
            || query.reach().saturating_mul(count) > MOST_ROWS_OF_ALL
            || (filter.is_some() && query.prefilter == Some(false))
        {
            return Ok(None);
        }
        let Some(dimension) = vector::dimension(&query.vector)? else {
            return Ok(None);
        };
        let search = VectorSearch::of(dataset, query, dimension).await?;
        let Some(field) = own_field(dataset, &search.column.path) else {
            return Ok(None);
        };
        let keys = each(&search.vectors).into_iter();
        let keys = keys.map(|vector| key(&vector, &field.data_type()));
        let Some(keys) = keys.collect::<Result<Option<Vec<_>>>>()? else {
            return Ok(None);
        };
        let (minimum, maximum, effort) = search.probes.resolve();
        let search = Search {
            dataset: dataset.clone(),
            column: search.column.path,
            field: field.clone(),
            keys,
            k: search.k as usize,
            bounds: Bounds {
                lower: search.lower_bound,
                upper: search.upper_bound,
            },
            metric: search.metric,
            probes: Probes {
                minimum,
                maximum,
                effort,
            },
            ef: search.ef,
            refine: search.refine,
            approx_mode: search.approx_mode,
            use_index: search.use_index,
            fast: query.fast_search == Some(true),
            filter: filter.map(Expression::new).transpose()?,
        };
        let strategy = search.strategy(caches.vectors()).await?;
        Ok(strategy.map(|strategy| Self { search, strategy }))
    }

    /// The nearest rows of each vector, the nearest first; `None` if Lance has to search.
    pub async fn find(&self, caches: &Caches) -> Result<Option<Vec<Vec<Neighbor>>>> {
        self.search.find(&self.strategy, caches.vectors()).await
    }

    /// Whether [`Self::find`] returns rows, and does not leave the search to Lance.
    pub async fn can_find(&self, caches: &Caches) -> Result<bool> {
        self.search.can_find(&self.strategy, caches.vectors()).await
    }

    /// The plan of the search.
    pub fn steps(&self, measured: Option<Measured>) -> Step {
        self.search.steps(&self.strategy, measured)
    }
}

impl NearestRows {
    /// `None` leaves the query to Lance.
    pub async fn new(
        dataset: &Arc<Dataset>,
        query: &Query,
        caches: &Caches,
    ) -> Result<Option<Self>> {
        if query.text.is_some()
            || query
                .order_by
                .as_ref()
                .is_some_and(|order| !order.is_empty())
        {
            return Ok(None);
        }
        let own: &[Own] = match &query.vector {
            Vectors::Many(_) => &[Own::Query, Own::Distance],
            _ => &[Own::Distance],
        };
        let Some(output) = output(dataset, query, own)? else {
            return Ok(None);
        };
        let nearest = Nearest::new(dataset, query, caches).await?;
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(nearest.map(|nearest| Self {
            nearest,
            wanted: Wanted::all(output),
            offset: count(query.offset.unwrap_or(0)),
            limit: count(query.k),
        }))
    }

    /// The rows; `None` if Lance has to search.
    pub async fn rows(&self, caches: &Caches) -> Result<Option<Rows>> {
        let Some(neighbors) = self.nearest.find(caches).await? else {
            return Ok(None);
        };
        self.wanted
            .fetch(self.ranked(&neighbors), caches.rows())
            .await
            .map(Some)
    }

    /// The returned rows, vector by vector.
    fn ranked(&self, neighbors: &[Vec<Neighbor>]) -> Vec<Ranked> {
        let each = neighbors.iter().zip(0..).flat_map(|(nearest, query)| {
            let wanted = nearest.iter().skip(self.offset).take(self.limit);
            wanted.map(move |neighbor| Ranked {
                query,
                ..Ranked::from(*neighbor)
            })
        });
        each.collect()
    }

    /// The plan; `None` if it is Lance's.
    pub async fn steps(&self, verbose: bool, caches: &Caches) -> Result<Option<Step>> {
        let is_own = self.nearest.can_find(caches).await?;
        Ok(is_own.then(|| self.plan(verbose, None, None)))
    }

    /// Runs the search: the plan with the time and the number of rows of each step.
    pub async fn analyze(&self, caches: &Caches) -> Result<Option<Step>> {
        let started = Instant::now();
        let Some(neighbors) = self.nearest.find(caches).await? else {
            return Ok(None);
        };
        let searched = Measured {
            rows: neighbors.iter().map(Vec::len).sum::<usize>() as u64,
            time: started.elapsed(),
        };
        let started = Instant::now();
        let found = self.ranked(&neighbors);
        let rows = self
            .wanted
            .fetch(found, caches.rows())
            .await?
            .count()
            .await?;
        let fetched = Measured {
            rows: rows as u64,
            time: started.elapsed(),
        };
        Ok(Some(self.plan(false, Some(searched), Some(fetched))))
    }

    fn plan(&self, verbose: bool, searched: Option<Measured>, fetched: Option<Measured>) -> Step {
        let found = self.nearest.steps(searched);
        let wanted = Wanted {
            output: self.wanted.output.clone(),
            offset: self.offset,
            limit: self.limit,
        };
        wanted.steps(verbose, found, fetched)
    }
}

/// The output, if it only has unchanged columns of the table and results of the search.
pub fn output(dataset: &Arc<Dataset>, query: &Query, own: &[Own]) -> Result<Option<Output>> {
    let expressions = query.columns.expressions(dataset)?;
    // With several vectors it is a result column, and a table column of that name is rejected.
    let is_taken = |name: &str| own.contains(&Own::Query) && name == QUERY_INDEX;
    let is_known = |sql: &str| match sql {
        "_distance" if own.contains(&Own::Distance) => true,
        "_rowid" => true,
        _ => own_field(dataset, sql).is_some_and(can_be_cached),
    };
    let known = match &expressions {
        Some(expressions) => expressions
            .iter()
            .all(|(name, sql)| is_known(sql) && !is_taken(name)),
        None => dataset.schema().fields.iter().all(can_be_cached),
    };
    if !known
        || dataset
            .schema()
            .fields
            .iter()
            .any(|own| is_taken(&own.name))
    {
        return Ok(None);
    }
    let with_row_id = query.with_row_id == Some(true);
    Output::new(dataset.clone(), expressions, with_row_id, own).map(Some)
}

/// The query vectors, separately.
fn each(vectors: &ArrayRef) -> Vec<ArrayRef> {
    match vectors.as_fixed_size_list_opt() {
        Some(several) => (0..several.len())
            .map(|number| several.value(number))
            .collect(),
        None => vec![vectors.clone()],
    }
}

/// A top-level column of the table.
pub fn own_field<'a>(dataset: &'a Dataset, path: &str) -> Option<&'a Field> {
    let field = dataset.schema().field(path)?;
    let mut own = dataset.schema().fields.iter();
    own.any(|own| own.id == field.id).then_some(field)
}
