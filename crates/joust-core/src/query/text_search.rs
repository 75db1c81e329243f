//! A text query that is not a single Lance scan: joust's indexes search the texts, or the search is hybrid.

use std::sync::Arc;
use std::time::Instant;

use arrow::compute::SortOptions;
use datafusion::physical_plan::ExecutionPlan;
use joust_text::highlight::Style;
use joust_text::query::Query as TextQuery;
use joust_text::search::Hit;
use lance::Dataset;
use lance::dataset::scanner::Scanner;
use serde::Deserialize;

use super::fetch::{Rows, Wanted};
use super::hybrid::{Hybrid, rows};
use super::nearest::Nearest;
use super::output::{Key, Output, Own, Ranked};
use super::request::Query;
use super::scan;
use super::vectors::Vectors;
use crate::error::{Error, Result};
use crate::index::Caches;
use crate::plan_format::{Measured, Step};
use crate::planning::planned;
use crate::schema::expression::Expression;
use crate::text::{Found, Search, indexed};
use crate::vector::{Neighbor, stale_rows};

/// Options of highlighted passages; absent ones have defaults.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Highlight {
    /// If absent, all searched columns.
    columns: Option<Vec<String>>,
    pre_tag: Option<String>,
    post_tag: Option<String>,
    max_chars: Option<u32>,
    fragments: Option<u32>,
}

impl Highlight {
    fn style(&self) -> Result<Style> {
        let default = Style::default();
        let number = |own: Option<u32>, default| own.map_or(default, |own| own as usize);
        let style = Style {
            pre_tag: self.pre_tag.clone().unwrap_or(default.pre_tag),
            post_tag: self.post_tag.clone().unwrap_or(default.post_tag),
            max_chars: number(self.max_chars, default.max_chars),
            fragments: number(self.fragments, default.fragments),
        };
        style.check()?;
        Ok(style)
    }
}

/// A search with the processing of its rows.
pub struct TextSearch {
    text: Text,
    /// The other half of a hybrid search.
    vector: Option<(NeighborSearch, Hybrid)>,
    wanted: Wanted,
}

/// The strategy of the vector search.
struct NeighborSearch {
    own: Option<Nearest>,
    /// If it needs Lance.
    scanner: Arc<Scanner>,
    dataset: Arc<Dataset>,
}

/// The strategy of the text search.
enum Text {
    Own(Box<Found>),
    Native(Arc<Scanner>),
}

impl TextSearch {
    /// `None` if it is one scan: only text, on columns without an FTS index.
    pub async fn new(
        source: &scan::Source,
        query: &Query,
        text: &TextQuery,
        caches: &Caches,
    ) -> Result<Option<Self>> {
        let dataset = &source.dataset;
        let indexes = indexed(dataset, text, caches.text()).await?;
        let vector = match &query.vector {
            Vectors::None if indexes.is_none() => return Ok(None),
            Vectors::None => None,
            Vectors::One(_) => {
                let hybrid = Hybrid::new(query.hybrid.as_deref())?;
                let neighbor_search = NeighborSearch {
                    own: Nearest::new(dataset, query, caches).await?,
                    scanner: Arc::new(scan::nearest(source, query).await?),
                    dataset: dataset.clone(),
                };
                Some((neighbor_search, hybrid))
            }
            Vectors::Many(_) => {
                return Err(Error::invalid(
                    "a search by vector and by text takes one vector",
                ));
            }
        };
        let mut output = {
            let expressions = query.columns.expressions(dataset)?;
            let (dataset, with_row_id) = (dataset.clone(), query.with_row_id == Some(true));
            let own: &[Own] = match vector.is_some() {
                true => &[Own::Distance, Own::Score, Own::Relevance],
                false => &[Own::Score],
            };
            match query.columns.are_paths() {
                true => Output::new(dataset, expressions, with_row_id, own)?,
                // Expressions over a score are planned here.
                false => {
                    planned(async move { Output::new(dataset, expressions, with_row_id, own) })
                        .await?
                }
            }
        };
        if let Some(order) = &query.order_by {
            output.sort(order.iter().map(|order| key(order)).collect())?;
        }
        let text = match indexes {
            Some(indexes) => {
                let search = search(query)?;
                let found = Found::new(
                    dataset.clone(),
                    text.clone(),
                    indexes,
                    search,
                    caches.text(),
                )
                .await?;
                if let Some(highlight) = &query.highlight {
                    let columns = highlight.columns.as_deref().unwrap_or_default();
                    output.highlight(found.highlighters(columns)?, highlight.style()?);
                }
                Text::Own(Box::new(found))
            }
            None => {
                let scanner = scan::texts(source, query, text).await?;
                Text::Native(Arc::new(scanner))
            }
        };
        Ok(Some(Self {
            text,
            vector,
            wanted: Wanted::new(output, query),
        }))
    }

    pub async fn rows(&self, caches: &Caches) -> Result<Rows> {
        let found = self.ranked(caches).await?;
        self.wanted.fetch(found, caches.rows()).await
    }

    /// All matching rows, the best first.
    async fn ranked(&self, caches: &Caches) -> Result<Vec<Ranked>> {
        let Some((neighbor_search, hybrid)) = &self.vector else {
            let hits = self.text.hits(caches).await?;
            return Ok(hits.into_iter().map(Ranked::from).collect());
        };
        let (hits, neighbors) =
            futures::try_join!(self.text.hits(caches), neighbor_search.find(caches))?;
        Ok(hybrid.fuse(&hits, &neighbors))
    }

    /// The plan.
    pub async fn steps(&self, verbose: bool, caches: &Caches) -> Result<Step> {
        let mut found = self.text.steps().await?;
        if let Some((neighbor_search, hybrid)) = &self.vector {
            let search = neighbor_search.steps(caches, None).await?;
            found = Step::new(hybrid.describe()).reads([found, search]);
        }
        Ok(self.wanted.steps(verbose, found, None))
    }

    /// Runs the search: the plan with the time and the number of rows of each step.
    pub async fn analyze(&self, caches: &Caches) -> Result<Step> {
        let (hits, mut plan) = self.text.traced(caches).await?;
        let found: Vec<Ranked> = match &self.vector {
            None => hits.into_iter().map(Ranked::from).collect(),
            Some((neighbor_search, hybrid)) => {
                let started = Instant::now();
                let neighbors = neighbor_search.find(caches).await?;
                let searched = measured(neighbors.len(), started);
                let vector_plan = neighbor_search.steps(caches, Some(searched)).await?;
                let started = Instant::now();
                let fused = hybrid.fuse(&hits, &neighbors);
                plan = Step::new(hybrid.describe())
                    .measured(Some(measured(fused.len(), started)))
                    .reads([plan, vector_plan]);
                fused
            }
        };
        let started = Instant::now();
        let count = self
            .wanted
            .fetch(found, caches.rows())
            .await?
            .count()
            .await?;
        let fetched = measured(count, started);
        Ok(self.wanted.steps(false, plan, Some(fetched)))
    }
}

impl Text {
    async fn hits(&self, caches: &Caches) -> Result<Vec<Hit>> {
        match self {
            Self::Own(found) => found.hits(caches.text()).await,
            Self::Native(scanner) => {
                let plan = created(scanner.clone()).await?;
                let found = rows(plan, "_score").await?;
                let hit = |(row, score)| Hit { row, score };
                Ok(found.into_iter().map(hit).collect())
            }
        }
    }

    /// The matching rows, and the plan with its metrics.
    async fn traced(&self, caches: &Caches) -> Result<(Vec<Hit>, Step)> {
        let started = Instant::now();
        match self {
            Self::Own(found) => {
                let (hits, traces) = found.traced(caches.text()).await?;
                let done = (measured(hits.len(), started), traces.as_slice());
                Ok((hits, found.steps(Some(done))))
            }
            Self::Native(_) => {
                let hits = self.hits(caches).await?;
                let searched = measured(hits.len(), started);
                Ok((hits, self.steps().await?.measured(Some(searched))))
            }
        }
    }

    async fn steps(&self) -> Result<Step> {
        match self {
            Self::Own(found) => Ok(found.steps(None)),
            Self::Native(scanner) => {
                let plan = created(scanner.clone()).await?;
                Ok(Step::of_plan(plan.as_ref()))
            }
        }
    }
}

impl NeighborSearch {
    async fn find(&self, caches: &Caches) -> Result<Vec<Neighbor>> {
        if let Some(own) = &self.own
            && let Some(neighbors) = own.find(caches).await?
        {
            return Ok(neighbors.concat());
        }
        let found = rows(self.plan().await?, "_distance").await?;
        let neighbor = |(row, distance)| Neighbor { row, distance };
        Ok(found.into_iter().map(neighbor).collect())
    }

    async fn steps(&self, caches: &Caches, measured: Option<Measured>) -> Result<Step> {
        match &self.own {
            Some(own) if own.can_find(caches).await? => Ok(own.steps(measured)),
            _ => Ok(Step::of_plan(self.plan().await?.as_ref()).measured(measured)),
        }
    }

    async fn plan(&self) -> Result<Arc<dyn ExecutionPlan>> {
        let (scanner, dataset) = (self.scanner.clone(), self.dataset.clone());
        planned(async move {
            let plan = stale_rows::plan(&scanner, &dataset).await;
            plan.map_err(Error::of_input)
        })
        .await
    }
}

async fn created(scanner: Arc<Scanner>) -> Result<Arc<dyn ExecutionPlan>> {
    planned(async move { scanner.create_plan().await.map_err(Error::of_input) }).await
}

fn measured(rows: usize, started: Instant) -> Measured {
    Measured {
        rows: rows as u64,
        time: started.elapsed(),
    }
}

fn search(query: &Query) -> Result<Search> {
    let filter = query
        .filter
        .as_deref()
        .filter(|filter| !filter.trim().is_empty())
        .map(Expression::new)
        .transpose()?;
    Ok(Search {
        reach: query.reach(),
        filter,
        prefilter: query.prefilter.unwrap_or(true),
        fast: query.fast_search == Some(true),
    })
}

fn key(key: &super::request::Ordering) -> Key {
    Key {
        column: key.column_name.clone(),
        options: SortOptions {
            descending: !key.ascending,
            nulls_first: key.nulls_first,
        },
    }
}
