//! The strategy of a query. One value both runs and explains it, so that the explanation is what runs.

use std::time::Instant;

use arrow::array::RecordBatch;
use futures::TryStreamExt;
use futures::stream::BoxStream;

use super::answer::Answer;
use super::fetch::Rows;
use super::nearest::NearestRows;
use super::reads::Reads;
use super::scan::Scan;
use super::text_search::TextSearch;
use crate::error::Result;
use crate::index::Caches;
use crate::ipc::Format;
use crate::memory::Reservation;
use crate::plan_format::{self, Measured, Step};

pub struct Plan {
    strategy: Strategy,
    /// The query as a Lance scan, which also has its dataset.
    scan: Scan,
}

/// How a query finds its rows.
enum Strategy {
    /// joust searches the texts, or the search is hybrid.
    Text(Box<TextSearch>),
    /// joust searches the vectors. If they are not in memory, Lance scans.
    Nearest(Box<NearestRows>),
    /// joust reads rows in memory that match a filter.
    Reads(Box<Reads>),
    /// Lance scans.
    Scan,
}

impl Plan {
    /// The first strategy that can answer the query.
    pub async fn choose(scan: Scan, caches: &Caches) -> Result<Self> {
        let strategy = Strategy::choose(&scan, caches).await?;
        Ok(Self { strategy, scan })
    }

    /// The name of the strategy.
    pub fn name(&self) -> &'static str {
        match &self.strategy {
            Strategy::Text(_) => "text",
            Strategy::Nearest(_) => "nearest",
            Strategy::Reads(_) => "reads",
            Strategy::Scan => "scan",
        }
    }

    /// Reports errors of the query that only Lance's planner finds.
    pub async fn check(&self) -> Result<()> {
        match &self.strategy {
            Strategy::Scan => self.scan.check().await,
            Strategy::Text(_) | Strategy::Nearest(_) | Strategy::Reads(_) => Ok(()),
        }
    }

    /// Runs the query and encodes its rows.
    pub async fn execute(
        self,
        caches: &Caches,
        format: Format,
        memory: Reservation,
    ) -> Result<Answer> {
        let Scan { source, query, .. } = &self.scan;
        let dataset = source.dataset.clone();
        match self.own_rows(caches).await? {
            Some(rows) => Answer::of_rows(rows, dataset, format, memory),
            None => {
                let rows = Box::pin(self.scan.start()).await?;
                Answer::of_scan(rows, query, dataset, format, memory)
            }
        }
    }

    /// Runs the query. The plan can run again.
    pub async fn rows(&self, caches: &Caches) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        if let Some(rows) = self.own_rows(caches).await? {
            return Ok(rows.batches);
        }
        Ok(Box::pin(self.scan.start()).await?.batches)
    }

    /// The rows of every strategy but a Lance scan; `None` if Lance has to scan.
    async fn own_rows(&self, caches: &Caches) -> Result<Option<Rows>> {
        match &self.strategy {
            Strategy::Text(search) => Box::pin(search.rows(caches)).await.map(Some),
            Strategy::Nearest(search) => search.rows(caches).await,
            Strategy::Reads(reads) => reads.rows(caches).await.map(Some),
            Strategy::Scan => Ok(None),
        }
    }

    /// The steps that [`Plan::execute`] would run; verbose also shows the columns of each one.
    pub async fn explain(&self, verbose: bool, caches: &Caches) -> Result<String> {
        let steps = match &self.strategy {
            Strategy::Text(search) => Some(search.steps(verbose, caches).await?),
            Strategy::Nearest(search) => search.steps(verbose, caches).await?,
            Strategy::Reads(reads) => Some(reads.steps(verbose, None)),
            Strategy::Scan => None,
        };
        match steps {
            Some(steps) => Ok(steps.explain()),
            None => self.scan.explain(verbose).await,
        }
    }

    /// Runs the query: its steps with what each one did.
    pub async fn analyze(&self, caches: &Caches) -> Result<String> {
        let steps = match &self.strategy {
            Strategy::Text(search) => Some(search.analyze(caches).await?),
            Strategy::Nearest(search) => search.analyze(caches).await?,
            Strategy::Reads(reads) => Some(reads.analyze(caches).await?),
            Strategy::Scan => None,
        };
        match steps {
            Some(steps) => Ok(steps.analyze()),
            None => self.scan.analyze().await,
        }
    }

    /// The steps of the plan that a caller with a row filter may see.
    pub async fn visible_steps(&self, caches: &Caches) -> Result<Step> {
        let steps = self.explain(false, caches).await?;
        Ok(plan_format::visible(Step::of_text(&steps)))
    }

    /// Runs the query: the steps that a caller with a row filter may see. Only the first one has metrics, those of the
    /// result: the others would count hidden rows.
    pub async fn analyze_visible(&self, caches: &Caches) -> Result<String> {
        let steps = self.visible_steps(caches).await?;
        let started = Instant::now();
        let mut batches = self.rows(caches).await?;
        let mut rows = 0;
        while let Some(batch) = batches.try_next().await? {
            rows += batch.num_rows() as u64;
        }
        let time = started.elapsed();
        Ok(steps.measured(Some(Measured { rows, time })).analyze())
    }
}

impl Strategy {
    async fn choose(scan: &Scan, caches: &Caches) -> Result<Self> {
        let Scan { source, query, .. } = scan;
        if let Some(text) = &query.text {
            let search = Box::pin(TextSearch::new(source, query, text, caches));
            if let Some(search) = search.await? {
                return Ok(Self::Text(Box::new(search)));
            }
        }
        if let Some(search) = NearestRows::new(&source.dataset, query, caches).await? {
            return Ok(Self::Nearest(Box::new(search)));
        }
        if let Some(reads) = Reads::new(&source.dataset, query, caches).await? {
            return Ok(Self::Reads(Box::new(reads)));
        }
        Ok(Self::Scan)
    }
}
