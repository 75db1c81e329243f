//! How a vector search is carried out: through an index, or by comparing all vectors.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use lance::index::vector::utils::{default_distance_type_for, validate_distance_type_for};
use lance_linalg::distance::DistanceType;

use super::approximate::Probing;
use super::opened_index::{Indexed, Opened};
use super::{Neighbor, Search, VectorCaches, batch, flat_scan, top_k};
use crate::cache::filtered;
use crate::error::Result;
use crate::plan_format::{self, Measured, Step};
use crate::schema::expression::Expression;
use crate::schema::predicate::checked_where_planned;

/// How the rows are found.
pub enum SearchStrategy {
    Index(Arc<Opened>),
    Flat(DistanceType),
}

impl Search {
    /// The strategy; `None` leaves the search to Lance.
    pub async fn strategy(&self, caches: &VectorCaches) -> Result<Option<SearchStrategy>> {
        let DataType::FixedSizeList(element, _) = self.field.data_type() else {
            return Ok(None);
        };
        let indexed = match self.use_index {
            true => {
                caches
                    .index(&self.dataset, &self.column, self.field.id)
                    .await?
            }
            false => Arc::new(Indexed::Not),
        };
        let (strategy, metric) = match indexed.as_ref() {
            Indexed::Foreign => return Ok(None),
            // Where an index for the filter is behind, Lance leaves rows out, also some that this one covers.
            Indexed::Open(opened)
                if self.fast
                    && self
                        .filter
                        .as_ref()
                        .is_some_and(|own| opened.is_behind(own.sql())) =>
            {
                return Ok(None);
            }
            Indexed::Open(opened) if self.metric.is_none_or(|own| own == opened.metric) => {
                (SearchStrategy::Index(opened.clone()), opened.metric)
            }
            _ if self.fast => return Ok(None),
            _ => {
                let usual = || default_distance_type_for(element.data_type());
                let metric = self.metric.unwrap_or_else(usual);
                (SearchStrategy::Flat(metric), metric)
            }
        };
        let valid = validate_distance_type_for(metric, element.data_type()).is_ok();
        Ok(Some(strategy).filter(|_| valid))
    }

    /// The nearest rows to each vector, the nearest first. `None`: what is needed is not in memory, and
    /// Lance can search without it.
    pub async fn find(
        &self,
        strategy: &SearchStrategy,
        caches: &Arc<VectorCaches>,
    ) -> Result<Option<Vec<Vec<Neighbor>>>> {
        match strategy {
            SearchStrategy::Flat(metric) => {
                let filter = match &self.filter {
                    Some(filter) => Some(filtered(&self.dataset, filter, caches.rows()).await?),
                    None => None,
                };
                flat_scan::search(self, *metric, None, filter, caches).await
            }
            SearchStrategy::Index(opened) => self.through(opened, caches).await,
        }
    }

    /// Whether [`Self::find`] returns rows, and does not leave the search to Lance. Checks the filter, loads vectors if
    /// necessary, and compares none.
    pub async fn can_find(
        &self,
        strategy: &SearchStrategy,
        caches: &Arc<VectorCaches>,
    ) -> Result<bool> {
        if let Some(filter) = &self.filter {
            checked_where_planned(&self.dataset, filter.sql()).await?;
        }
        let fragments = match strategy {
            SearchStrategy::Flat(_) => None,
            SearchStrategy::Index(opened) => match self.compared_beside(opened) {
                None => return Ok(true),
                numbers => numbers,
            },
        };
        Ok(flat_scan::target(self, fragments, caches).await?.is_some())
    }

    /// The fragments whose vectors are compared because the index does not cover them.
    fn compared_beside<'a>(&self, opened: &'a Opened) -> Option<&'a [usize]> {
        (!self.fast && !opened.uncovered.is_empty()).then_some(opened.uncovered.as_slice())
    }

    async fn through(
        &self,
        opened: &Arc<Opened>,
        caches: &Arc<VectorCaches>,
    ) -> Result<Option<Vec<Vec<Neighbor>>>> {
        let uncovered = match self.compared_beside(opened) {
            None => None,
            numbers => {
                let filter = match &self.filter {
                    Some(filter) => Some(filtered(&self.dataset, filter, caches.rows()).await?),
                    None => None,
                };
                match flat_scan::search(self, opened.metric, numbers, filter, caches).await? {
                    Some(neighbors) => Some(neighbors),
                    None => return Ok(None),
                }
            }
        };
        let filter = match &self.filter {
            Some(filter) => Some(caches.mask(&self.dataset, filter).await?),
            None => None,
        };
        let probing = Probing {
            opened: opened.clone(),
            filter,
            // Estimates can't be compared with distances, so both are distances.
            is_measured: self.refine.is_some() || uncovered.is_some(),
            caches: caches.clone(),
        };
        let mut neighbors = match self.keys.as_slice() {
            [key] => vec![probing.one(self, key).await?],
            _ => Box::pin(batch::search(self, &probing)).await?,
        };
        if let Some(uncovered) = uncovered {
            for (nearest, uncovered) in neighbors.iter_mut().zip(uncovered) {
                nearest.extend(uncovered);
                top_k::sort(nearest, self.k);
            }
        }
        Ok(Some(neighbors))
    }

    /// The plan of the search.
    pub fn steps(&self, strategy: &SearchStrategy, measured: Option<Measured>) -> Step {
        match strategy {
            SearchStrategy::Flat(metric) => {
                let from = format!("all vectors of `{}` in memory", self.column);
                let all = self.dataset.fragments().len();
                let flat = self.compared(*metric, &from, "LanceRead", all);
                flat.measured(measured)
            }
            SearchStrategy::Index(opened) => self.through_index(opened, measured),
        }
    }

    fn through_index(&self, opened: &Opened, measured: Option<Measured>) -> Step {
        let deltas = opened.segments.len();
        let probed = Step::new(format!(
            "ANNIvfPartition: minimum_nprobes={}, maximum_nprobes={:?}, deltas={deltas}",
            self.probes.minimum, self.probes.maximum,
        ));
        let filter = self.filter.as_ref().map(Expression::sql).map(|filter| {
            let all = self.dataset.fragments().len();
            plan_format::read("LanceRead", &self.dataset, &[], all, Some(filter))
        });
        let index = Step::new(format!(
            "ANNSubIndex: name={}, k={}, deltas={deltas}, metric={:?}, index `{}` on `{}` in memory{}",
            opened.name,
            self.k,
            opened.metric,
            opened.name,
            self.column,
            self.attributes()
        ));
        let index = index.reads([probed]).reads(filter);
        let Some(uncovered) = self.compared_beside(opened) else {
            return index.measured(measured);
        };
        let count = uncovered.len();
        let from = format!("{count} fragments that the index does not cover");
        let uncovered = self.compared(opened.metric, &from, "LanceScan", count);
        Step::new("UnionExec")
            .measured(measured)
            .reads([index, uncovered])
    }

    /// Vectors that are compared one by one.
    fn compared(&self, metric: DistanceType, from: &str, operator: &str, fragments: usize) -> Step {
        let columns = [self.column.as_str()];
        let filter = self.filter.as_ref().map(Expression::sql);
        Step::new(format!(
            "KNNVectorDistance: metric={metric}, k={}, {from}{}",
            self.k,
            self.attributes()
        ))
        .reads([plan_format::read(
            operator,
            &self.dataset,
            &columns,
            fragments,
            filter,
        )])
    }

    fn attributes(&self) -> String {
        let mut out = String::new();
        if self.keys.len() > 1 {
            out += &format!(", queries={}", self.keys.len());
        }
        if let Some(factor) = self.refine {
            out += &format!(", refine_factor={factor}");
        }
        out
    }
}

/// The numbers of a vector as a column of vectors has them; `None` when they would have to change.
pub fn key(values: &ArrayRef, column: &DataType) -> Result<Option<ArrayRef>> {
    let DataType::FixedSizeList(element, _) = column else {
        return Ok(None);
    };
    let element = element.data_type();
    if values.data_type() == element {
        return Ok(Some(values.clone()));
    }
    match element {
        DataType::Float16 | DataType::Float64 => Ok(Some(arrow::compute::cast(values, element)?)),
        _ => Ok(None),
    }
}
