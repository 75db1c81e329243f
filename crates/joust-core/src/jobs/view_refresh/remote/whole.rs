//! Leaves a query that is computed as a whole to one worker: with GROUP BY, joins or ORDER BY, for example.

use std::collections::BTreeMap;

use arrow::datatypes::Schema;
use datafusion::dataframe::DataFrame;
use futures::TryStreamExt;
use lance::Dataset;
use lance_table::format::Fragment;
use serde::{Deserialize, Serialize};

use super::super::compute::Inputs;
use super::super::planned_query::has_type;
use super::super::schema::{columns_of, is_extension};
use super::super::write::Written;
use super::fragments::{MAX_ROWS_PER_FRAGMENT, OrderSource};
use super::whole_sql::whole_sql;
use super::worker_datafusion::WorkerDataFusion;
use crate::error::{Error, Result};
use crate::jobs::file_sizes::bytes_of;
use crate::jobs::remote::{CheckParts, Order, Part, Task, WorkerFiles, details, key_of};
use crate::jobs::unnamed_files::UnnamedFiles;
use crate::work::WorkContext;

/// The most tables: the policy of temporary credentials names each of them three times, in at most 2,048 characters.
const MOST_SOURCES: usize = 3;

/// The members of an order of this kind. It has the view as its table, and one task.
#[derive(Serialize)]
struct OrderDetails<'a> {
    /// SQL of DataFusion.
    sql: &'a str,
    datafusion: WorkerDataFusion,
    /// In the order of the request.
    sources: Vec<NamedSource<'a>>,
    max_rows_per_fragment: usize,
}

/// A table of the query.
#[derive(Serialize)]
struct NamedSource<'a> {
    /// In the query, in parts.
    name: &'a [String],
    #[serde(flatten)]
    table: OrderSource<'a>,
}

/// The rows of the view, as a worker hands them over.
#[derive(Deserialize)]
struct WrittenRows {
    /// Names of the files in the data directory of the view, in the order of the rows. Each is a new fragment.
    files: Vec<String>,
}

impl Inputs<'_> {
    /// Leaves the whole query to a worker, if that is worth it and if the worker can compute it.
    pub(in super::super) async fn whole_on_worker(
        &self,
        plan: &DataFrame,
        work: &WorkContext,
    ) -> Result<Option<Written>> {
        let Some(remote) = &self.refresh.workers else {
            return Ok(None);
        };
        let fragments = || {
            self.sources
                .iter()
                .flat_map(|(_, source)| source.fragments().iter())
        };
        let is_worth = bytes_of(fragments()).is_some_and(|bytes| remote.is_worth(bytes));
        let view = Schema::from(self.view.schema());
        let result = plan.schema().as_arrow();
        let mut columns = view.fields().iter();
        let has_types =
            columns.all(|field| has_type(result, &view, field.name()) && !is_extension(field));
        let can_read = self.sources.len() <= MOST_SOURCES && fragments().next().is_some();
        // A worker uses one processor.
        let is_concurrent = self.refresh.concurrency.is_some_and(|own| own > 1);
        if !can_read || is_concurrent || !is_worth || !has_types {
            return Ok(None);
        }
        let Some(sql) = whole_sql(self.sql, plan, self.sources).await? else {
            return Ok(None);
        };
        // The worker uses none of the memory of this process.
        self.release_memory();
        let rows = fragments().map(|one| one.physical_rows.unwrap_or_default() as u64);
        let order = Order {
            kind: "view_query",
            location: self.view.uri().to_string(),
            version: self.view.version_id(),
            concurrency: None,
            tasks: vec![Task {
                key: key_of(&self.identity_of(&sql)?),
                units: rows.sum(),
                details: details(&BTreeMap::<String, String>::new())?,
            }],
            details: details(&OrderDetails {
                sql: &sql,
                datafusion: WorkerDataFusion::new(),
                sources: self.named_sources(),
                max_rows_per_fragment: self
                    .refresh
                    .max_rows_per_fragment
                    .unwrap_or(MAX_ROWS_PER_FRAGMENT),
            })?,
            stage: "refresh",
            function: None,
        };
        let checks = QueryChecks {
            files: WorkerFiles::of(self.view.clone(), remote.began()),
        };
        let mut received = std::pin::pin!(remote.receive(order, checks, work));
        let mut unnamed = UnnamedFiles::of(self.view);
        let mut fragments = Vec::new();
        while let Some(written) = received.try_next().await? {
            unnamed.add(&written);
            fragments.extend(written);
        }
        Ok(Some(Written::of_query(fragments, unnamed)))
    }

    fn named_sources(&self) -> Vec<NamedSource<'_>> {
        let sources = self.sources.iter();
        let named = sources.map(|(name, source)| NamedSource {
            name,
            table: OrderSource::of(source),
        });
        named.collect()
    }

    /// What the rows depend on. The same text on each server.
    fn identity_of(&self, sql: &str) -> Result<String> {
        let sources = self.sources.iter();
        let states = sources.map(|(name, source)| Ok((name, state_of(source)?)));
        let states = states.collect::<Result<Vec<_>>>()?;
        let most = self.refresh.max_rows_per_fragment;
        Ok(format!(
            "{sql:?} {states:?} {most:?} {}",
            columns_of(self.view)
        ))
    }
}

/// The rows of a version. Another version may have the same ones.
fn state_of(source: &Dataset) -> Result<String> {
    let fragments: &[Fragment] = source.fragments();
    let fragments = serde_json::to_string(fragments)
        .map_err(|error| Error::internal("a fragment could not be written", error))?;
    Ok(format!(
        "{} {} {fragments}",
        source.uri(),
        columns_of(source)
    ))
}

/// Checks the rows of a worker.
struct QueryChecks {
    files: WorkerFiles,
}

impl CheckParts for QueryChecks {
    type Output = Vec<Fragment>;

    async fn check(&mut self, _: &Task, part: &Part) -> Result<Vec<Fragment>> {
        let written: WrittenRows = part.read()?;
        let fragments = self.files.fragments(&written.files).await?;
        self.files.take_all(&written.files);
        Ok(fragments)
    }
}
