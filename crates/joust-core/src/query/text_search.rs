//! A query for texts that is not one scan of Lance: joust's own indexes find the rows, or texts and
//! vectors are searched at once.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion::physical_plan::displayable;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use joust_text::highlight::Style;
use joust_text::query::Query as TextQuery;
use joust_text::search::Hit;
use lance::dataset::scanner::Scanner;
use serde::Deserialize;

use super::hybrid::{Hybrid, Near, rows};
use super::request::Query;
use super::vectors::Vectors;
use super::{expression, plan};
use crate::error::{Error, Result};
use crate::text::{Found, Key, Output, Ranked, Search, TextCaches, indexed};

/// Rows that are fetched together.
const ROWS: usize = 1_024;

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
    vector: Option<(Scanner, Hybrid)>,
    output: Arc<Output>,
    offset: usize,
    limit: usize,
}

/// Who finds the texts.
enum Text {
    Own(Box<Found>),
    Native(Box<Scanner>),
}

/// Rows as they are wanted.
pub struct Rows {
    pub schema: SchemaRef,
    pub batches: BoxStream<'static, Result<RecordBatch>>,
}

impl TextSearch {
    /// `None` when it is one scan: by text alone, on columns that have no FTS index.
    pub async fn new(
        source: &plan::Source,
        query: &Query,
        text: &TextQuery,
        caches: &TextCaches,
    ) -> Result<Option<Self>> {
        let dataset = &source.dataset;
        let indexes = indexed(dataset, text, caches).await?;
        let vector = match &query.vector {
            Vectors::None if indexes.is_none() => return Ok(None),
            Vectors::None => None,
            Vectors::One(_) => {
                let hybrid = Hybrid::new(query.hybrid.as_deref())?;
                Some((plan::nearest(source, query).await?, hybrid))
            }
            Vectors::Many(_) => {
                return Err(Error::invalid(
                    "a search by vector and by text takes one vector",
                ));
            }
        };
        let mut output = Output::new(
            dataset.clone(),
            query.columns.expressions(dataset)?,
            query.with_row_id == Some(true),
            vector.is_some(),
        )?;
        if let Some(order) = &query.order_by {
            output.sort(order.iter().map(|order| key(order)).collect())?;
        }
        let text = match indexes {
            Some(indexes) => {
                let search = search(query)?;
                let found =
                    Found::new(dataset.clone(), text.clone(), indexes, search, caches).await?;
                if let Some(highlight) = &query.highlight {
                    let columns = highlight.columns.as_deref().unwrap_or_default();
                    output.highlight(found.highlighters(columns)?, highlight.style()?);
                }
                Text::Own(Box::new(found))
            }
            None => {
                let scanner = plan::texts(source, query, text).await?;
                Text::Native(Box::new(scanner))
            }
        };
        output.remember(caches).await?;
        Ok(Some(Self {
            text,
            vector,
            output: Arc::new(output),
            offset: usize::try_from(query.offset.unwrap_or(0)).unwrap_or(usize::MAX),
            limit: usize::try_from(query.k).unwrap_or(usize::MAX),
        }))
    }

    pub async fn rows(&self, caches: &TextCaches) -> Result<Rows> {
        let found = self.ranked(caches).await?;
        self.fetch(found).await
    }

    /// All rows that were found, the best first.
    async fn ranked(&self, caches: &TextCaches) -> Result<Vec<Ranked>> {
        let Some((scanner, hybrid)) = &self.vector else {
            let hits = self.text.hits(caches).await?;
            return Ok(hits.into_iter().map(Ranked::from).collect());
        };
        let (hits, near) = futures::try_join!(self.text.hits(caches), nearest(scanner))?;
        Ok(hybrid.fuse(&hits, &near))
    }

    /// The columns of the rows that are wanted.
    async fn fetch(&self, found: Vec<Ranked>) -> Result<Rows> {
        if self.output.is_sorted() {
            let batch = self.output.sorted(&found, self.offset, self.limit).await?;
            return Ok(Rows {
                schema: batch.schema(),
                batches: stream::once(async { Ok(batch) }).boxed(),
            });
        }
        let end = self.offset.saturating_add(self.limit).min(found.len());
        let start = self.offset.min(end);
        let first_end = end.min(start + ROWS);
        let first = self.output.rows(&found[start..first_end]).await?;
        let schema = first.schema();
        let first = stream::once(async { Ok(first) });
        if first_end == end {
            return Ok(Rows {
                schema,
                batches: first.boxed(),
            });
        }
        let (output, found) = (self.output.clone(), Arc::new(found));
        let rest = stream::iter((first_end..end).step_by(ROWS)).then(move |start| {
            let (output, found) = (output.clone(), found.clone());
            async move { output.rows(&found[start..end.min(start + ROWS)]).await }
        });
        Ok(Rows {
            schema,
            batches: first.chain(rest).boxed(),
        })
    }

    /// The plan in words.
    pub async fn describe(&self) -> Result<String> {
        let mut out = format!("{}\n", self.output.describe());
        let mut depth = 1;
        if let Some((_, hybrid)) = &self.vector {
            indent(&hybrid.describe(), depth, &mut out);
            depth += 1;
        }
        indent(&self.text.describe().await?, depth, &mut out);
        if let Some((scanner, _)) = &self.vector {
            indent(&scan(scanner).await?, depth, &mut out);
        }
        Ok(out)
    }

    /// Runs the search: what each of its steps took and found, after the plan.
    pub async fn analyze(&self, caches: &TextCaches) -> Result<String> {
        use std::fmt::Write;
        let mut out = self.describe().await?;
        let started = Instant::now();
        let (hits, parts) = self.text.traced(caches).await?;
        out += &parts;
        let mut step = |name: &str, rows: usize, started: Instant| {
            let _ = writeln!(out, "{name}: rows={rows}, time={:?}", started.elapsed());
        };
        step("text", hits.len(), started);
        let found = match &self.vector {
            None => hits.into_iter().map(Ranked::from).collect(),
            Some((scanner, hybrid)) => {
                let started = Instant::now();
                let near = nearest(scanner).await?;
                step("vector", near.len(), started);
                hybrid.fuse(&hits, &near)
            }
        };
        let started = Instant::now();
        let mut rows = self.fetch(found).await?;
        let mut count = 0;
        while let Some(batch) = rows.batches.next().await {
            count += batch?.num_rows();
        }
        step("columns", count, started);
        Ok(out)
    }
}

impl Text {
    async fn hits(&self, caches: &TextCaches) -> Result<Vec<Hit>> {
        match self {
            Self::Own(found) => found.hits(caches).await,
            Self::Native(scanner) => {
                let found = rows(scanner, "_score").await?;
                let hit = |(row, score)| Hit { row, score };
                Ok(found.into_iter().map(hit).collect())
            }
        }
    }

    /// What it finds, and what was done for it in each part of joust's own indexes.
    async fn traced(&self, caches: &TextCaches) -> Result<(Vec<Hit>, String)> {
        match self {
            Self::Own(found) => found.traced(caches).await,
            Self::Native(_) => Ok((self.hits(caches).await?, String::new())),
        }
    }

    async fn describe(&self) -> Result<String> {
        match self {
            Self::Own(found) => Ok(found.describe()),
            Self::Native(scanner) => scan(scanner).await,
        }
    }
}

async fn nearest(scanner: &Scanner) -> Result<Vec<Near>> {
    let found = rows(scanner, "_distance").await?;
    let near = |(row, distance)| Near { row, distance };
    Ok(found.into_iter().map(near).collect())
}

async fn scan(scanner: &Scanner) -> Result<String> {
    let plan = scanner.create_plan().await.map_err(Error::of_input)?;
    Ok(displayable(plan.as_ref()).indent(false).to_string())
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
