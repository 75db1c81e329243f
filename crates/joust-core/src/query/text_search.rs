//! A query for texts that is not one scan of Lance: joust's own indexes find the rows, or texts and
//! vectors are searched at once.

use std::sync::Arc;
use std::time::Instant;

use arrow::compute::SortOptions;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use joust_text::highlight::Style;
use joust_text::query::Query as TextQuery;
use joust_text::search::Hit;
use lance::Dataset;
use lance::dataset::scanner::Scanner;
use serde::Deserialize;

use super::found::{Rows, Wanted};
use super::hybrid::{Hybrid, rows};
use super::nearest::Nearest;
use super::request::Query;
use super::vectors::Vectors;
use super::{expression, plan};
use crate::cache::Caches;
use crate::error::{Error, Result};
use crate::nearest::{Near, gone};
use crate::planning::planned;
use crate::rows::{Key, Output, Own, Ranked};
use crate::text::{Found, Search, indexed};

/// Passages that a query asks for; what is absent has a default.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Highlight {
    /// All columns that are searched when there are none.
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

/// A search with everything that is done with its rows.
pub struct TextSearch {
    text: Text,
    /// The other half of a hybrid search.
    vector: Option<(Neighbours, Hybrid)>,
    wanted: Wanted,
}

/// Who finds the nearest rows.
struct Neighbours {
    own: Option<Nearest>,
    /// When it can't be found without Lance.
    scanner: Arc<Scanner>,
    dataset: Arc<Dataset>,
}

/// Who finds the texts.
enum Text {
    Own(Box<Found>),
    Native(Arc<Scanner>),
}

impl TextSearch {
    /// `None` when it is one scan: by text alone, on columns that have no FTS index.
    pub async fn new(
        source: &plan::Source,
        query: &Query,
        text: &TextQuery,
        caches: &Arc<Caches>,
    ) -> Result<Option<Self>> {
        let dataset = &source.dataset;
        let indexes = indexed(dataset, text, caches.text()).await?;
        let vector = match &query.vector {
            Vectors::None if indexes.is_none() => return Ok(None),
            Vectors::None => None,
            Vectors::One(_) => {
                let hybrid = Hybrid::new(query.hybrid.as_deref())?;
                let neighbours = Neighbours {
                    own: Nearest::new(dataset, query, caches).await?,
                    scanner: Arc::new(plan::nearest(source, query).await?),
                    dataset: dataset.clone(),
                };
                Some((neighbours, hybrid))
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
                let scanner = plan::texts(source, query, text).await?;
                Text::Native(Arc::new(scanner))
            }
        };
        Ok(Some(Self {
            text,
            vector,
            wanted: Wanted::new(output, query),
        }))
    }

    pub async fn rows(&self, caches: &Arc<Caches>) -> Result<Rows> {
        let found = self.ranked(caches).await?;
        self.wanted.fetch(found, caches).await
    }

    /// All rows that were found, the best first.
    async fn ranked(&self, caches: &Arc<Caches>) -> Result<Vec<Ranked>> {
        let Some((neighbours, hybrid)) = &self.vector else {
            let hits = self.text.hits(caches).await?;
            return Ok(hits.into_iter().map(Ranked::from).collect());
        };
        let (hits, near) = futures::try_join!(self.text.hits(caches), neighbours.find(caches))?;
        Ok(hybrid.fuse(&hits, &near))
    }

    /// The plan in words.
    pub async fn describe(&self, caches: &Arc<Caches>) -> Result<String> {
        let mut out = format!("{}\n", self.wanted.output.describe(false));
        let mut depth = 1;
        if let Some((_, hybrid)) = &self.vector {
            indent(&hybrid.describe(), depth, &mut out);
            depth += 1;
        }
        indent(&self.text.describe().await?, depth, &mut out);
        if let Some((neighbours, _)) = &self.vector {
            indent(&neighbours.describe(caches).await?, depth, &mut out);
        }
        Ok(out)
    }

    /// Runs the search: what each of its steps took and found, after the plan.
    pub async fn analyze(&self, caches: &Arc<Caches>) -> Result<String> {
        use std::fmt::Write;
        let mut out = self.describe(caches).await?;
        let started = Instant::now();
        let (hits, parts) = self.text.traced(caches).await?;
        out += &parts;
        let mut step = |name: &str, rows: usize, started: Instant| {
            let _ = writeln!(out, "{name}: rows={rows}, time={:?}", started.elapsed());
        };
        step("text", hits.len(), started);
        let found = match &self.vector {
            None => hits.into_iter().map(Ranked::from).collect(),
            Some((neighbours, hybrid)) => {
                let started = Instant::now();
                let near = neighbours.find(caches).await?;
                step("vector", near.len(), started);
                hybrid.fuse(&hits, &near)
            }
        };
        let started = Instant::now();
        let count = self.wanted.fetch(found, caches).await?.count().await?;
        step("columns", count, started);
        Ok(out)
    }
}

impl Text {
    async fn hits(&self, caches: &Arc<Caches>) -> Result<Vec<Hit>> {
        match self {
            Self::Own(found) => found.hits(caches).await,
            Self::Native(scanner) => {
                let plan = created(scanner.clone()).await?;
                let found = rows(plan, "_score").await?;
                let hit = |(row, score)| Hit { row, score };
                Ok(found.into_iter().map(hit).collect())
            }
        }
    }

    /// What it finds, and what was done for it in each part of joust's own indexes.
    async fn traced(&self, caches: &Arc<Caches>) -> Result<(Vec<Hit>, String)> {
        match self {
            Self::Own(found) => found.traced(caches).await,
            Self::Native(_) => Ok((self.hits(caches).await?, String::new())),
        }
    }

    async fn describe(&self) -> Result<String> {
        match self {
            Self::Own(found) => Ok(found.describe()),
            Self::Native(scanner) => {
                let plan = created(scanner.clone()).await?;
                Ok(words(plan.as_ref()))
            }
        }
    }
}

impl Neighbours {
    async fn find(&self, caches: &Arc<Caches>) -> Result<Vec<Near>> {
        if let Some(own) = &self.own
            && let Some(near) = own.find(caches).await?
        {
            return Ok(near.concat());
        }
        let found = rows(self.plan().await?, "_distance").await?;
        let near = |(row, distance)| Near { row, distance };
        Ok(found.into_iter().map(near).collect())
    }

    async fn describe(&self, caches: &Arc<Caches>) -> Result<String> {
        match &self.own {
            Some(own) if own.find(caches).await?.is_some() => Ok(own.describe()),
            _ => Ok(words(self.plan().await?.as_ref())),
        }
    }

    async fn plan(&self) -> Result<Arc<dyn ExecutionPlan>> {
        let (scanner, dataset) = (self.scanner.clone(), self.dataset.clone());
        planned(async move {
            let plan = gone::plan(&scanner, &dataset).await;
            plan.map_err(Error::of_input)
        })
        .await
    }
}

async fn created(scanner: Arc<Scanner>) -> Result<Arc<dyn ExecutionPlan>> {
    planned(async move { scanner.create_plan().await.map_err(Error::of_input) }).await
}

fn words(plan: &dyn ExecutionPlan) -> String {
    displayable(plan).indent(false).to_string()
}

fn indent(text: &str, depth: usize, out: &mut String) {
    use std::fmt::Write;
    for line in text.lines() {
        let _ = writeln!(out, "{:indent$}{line}", "", indent = depth * 2);
    }
}

fn search(query: &Query) -> Result<Search> {
    let filter = query
        .filter
        .as_deref()
        .filter(|filter| !filter.trim().is_empty())
        .map(expression::whole)
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
