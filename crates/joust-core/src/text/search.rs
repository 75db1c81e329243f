//! A text query over the indexes of a table.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use joust_text::highlight::Highlighter;
use joust_text::query::{Limits, Query};
use joust_text::search::{Hit, Interrupt, Plan, Step};
use joust_text::view::{Restriction, View};
use lance::Dataset;
use lance::index::DatasetIndexExt;
use parking_lot::Mutex;
use roaring::RoaringTreemap;

use super::column::TextColumn;
use super::entry::{Entry, entries};
use super::files::blocking;
use super::text_caches::TextCaches;
use super::view::Indexed;
use crate::cache::filtered;
use crate::error::{Error, Result};
use crate::schema::expression::Expression;

/// Options of a search besides its query.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The number of top rows.
    pub reach: u64,
    /// A condition on the rows.
    pub filter: Option<Expression>,
    /// Select the top rows after filtering, instead of filtering the top rows.
    pub prefilter: bool,
    /// Rows that are in no segment may be missing.
    pub fast: bool,
}

/// A search that can be run, explained, and run again.
pub struct Found {
    pub(super) dataset: Arc<Dataset>,
    pub(super) indexes: Vec<Indexed>,
    /// The query, with every column resolved.
    pub(super) query: Arc<Query>,
    pub(super) plan: Arc<Plan>,
    pub(super) search: Search,
}

/// Whether joust's text indexes can answer a query; `None` leaves it to Lance.
pub async fn indexed(
    dataset: &Dataset,
    query: &Query,
    caches: &TextCaches,
) -> Result<Option<Vec<Indexed>>> {
    let own = indexes(dataset, entries(dataset, caches).await?.as_slice());
    let has = |column: &String| own.iter().any(|index| index.name_of_column == *column);
    let mut named = Vec::new();
    for column in query.columns() {
        match TextColumn::find(dataset, column) {
            Ok(column) if column.is_within_json() && !has(&column.name()) => {
                return Err(Error::invalid(format!(
                    "there is no text index on `{}`; build an FTS index on it",
                    column.name()
                )));
            }
            Ok(column) => named.push(column.name()),
            Err(_) if own.is_empty() => {}
            Err(unknown) => return Err(unknown),
        }
    }
    if own.is_empty() {
        return Ok(None);
    }
    if let Some(missing) = named.iter().find(|column| !has(column)) {
        if !query.has_open_column() && !named.iter().any(has) {
            return Ok(None);
        }
        return Err(mixed(missing));
    }
    if query.has_open_column()
        && let Some(missing) = native_columns(dataset)
            .await?
            .iter()
            .find(|column| !has(column))
    {
        return Err(mixed(missing));
    }
    Ok(Some(own))
}

fn mixed(column: &str) -> Error {
    Error::invalid(format!(
        "`{column}` has no FTS index but other columns of the query have; name only columns that \
         have one, or build one on `{column}`"
    ))
}

/// The text indexes of a version, one for each column.
fn indexes(dataset: &Dataset, entries: &[Entry]) -> Vec<Indexed> {
    let mut found: Vec<Indexed> = Vec::new();
    for entry in entries {
        let known = found.iter_mut().find(|index| {
            index.field == entry.field && index.column.keys == entry.details.json_keys
        });
        match known {
            Some(index) if index.name == entry.name => index.entries.push(entry.clone()),
            Some(_) => {}
            None => {
                if let Ok(column) = TextColumn::of(dataset, entry) {
                    found.push(Indexed {
                        name_of_column: column.name(),
                        column,
                        field: entry.field,
                        name: entry.name.clone(),
                        entries: vec![entry.clone()],
                    });
                }
            }
        }
    }
    found
}

/// Loads the data for searches of an index; false if there is no such text index.
pub async fn prewarm(dataset: &Arc<Dataset>, name: &str, caches: &TextCaches) -> Result<bool> {
    let own = indexes(dataset, entries(dataset, caches).await?.as_slice());
    match own.iter().find(|index| index.name == name) {
        Some(index) => index.view(dataset, true, caches).await.map(|_| true),
        None => Ok(false),
    }
}

/// joust's text indexes: their names and columns.
pub async fn names(dataset: &Dataset, caches: &TextCaches) -> Result<Vec<(String, String)>> {
    let own = indexes(dataset, entries(dataset, caches).await?.as_slice());
    let names = own
        .into_iter()
        .map(|index| (index.name, index.name_of_column));
    Ok(names.collect())
}

/// Columns that have Lance's native text index.
async fn native_columns(dataset: &Dataset) -> Result<Vec<String>> {
    let mut columns = Vec::new();
    for index in dataset.load_indices().await?.iter() {
        let native = index
            .index_details
            .as_ref()
            .is_some_and(|details| details.type_url.ends_with("InvertedIndexDetails"));
        let field = index.fields.first().filter(|_| native);
        if let Some(path) = field.and_then(|field| dataset.schema().field_path(*field).ok()) {
            columns.push(path);
        }
    }
    Ok(columns)
}

impl Found {
    /// Resolves a query for its columns.
    pub async fn new(
        dataset: Arc<Dataset>,
        query: Query,
        indexes: Vec<Indexed>,
        search: Search,
        caches: &TextCaches,
    ) -> Result<Self> {
        let names = indexes.iter().map(|index| index.name_of_column.clone());
        let defaults: Vec<String> = names.collect();
        let query = query.resolve(&defaults, &mut |name| {
            TextColumn::find(&dataset, name).map(|column| column.name())
        })?;
        let mut searched = Vec::new();
        let mut views = Vec::new();
        for index in indexes {
            if !query.columns().contains(&index.name_of_column.as_str()) {
                continue;
            }
            let view = index.view(&dataset, !search.fast, caches).await?;
            views.push((index.name_of_column.clone(), view));
            searched.push(index);
        }
        // Only fuzzy words search the whole dictionary.
        let work = match query.is_fuzzy() {
            true => views.iter().map(|(_, view)| view.documents()).sum(),
            false => 0,
        };
        let query = Arc::new(query);
        let asked = query.clone();
        let make = move |interrupt: Interrupt<'_>| {
            Ok(Plan::new(&asked, views, Limits::default(), interrupt)?)
        };
        let plan = run(work, make).await?;
        Ok(Self {
            dataset,
            indexes: searched,
            query,
            plan: Arc::new(plan),
            search,
        })
    }

    /// The top rows.
    pub async fn hits(&self, caches: &TextCaches) -> Result<Vec<Hit>> {
        self.observed(caches, |_| {}).await
    }

    /// The top rows, and the metrics of each part.
    pub async fn traced(&self, caches: &TextCaches) -> Result<(Vec<Hit>, Vec<Step>)> {
        let steps: Arc<Mutex<Vec<Step>>> = Arc::default();
        let sink = steps.clone();
        let hits = self.observed(caches, move |step| sink.lock().push(step));
        let hits = hits.await?;
        let steps = std::mem::take(&mut *steps.lock());
        Ok((hits, steps))
    }

    async fn observed(
        &self,
        caches: &TextCaches,
        observe: impl Fn(Step) + Send + Sync + 'static,
    ) -> Result<Vec<Hit>> {
        let filter = self.search.filter.as_ref();
        let restrictions = match filter.filter(|_| self.search.prefilter) {
            Some(filter) => Some(self.restrictions(filter, caches).await?),
            None => None,
        };
        let reach = usize::try_from(self.search.reach).unwrap_or(usize::MAX);
        let plan = self.plan.clone();
        let mut hits = run(plan.work()?, move |interrupt| {
            let restrictions = restrictions.as_deref();
            Ok(plan.search_observed(reach, restrictions, interrupt, &observe)?)
        })
        .await?;
        if let Some(filter) = filter.filter(|_| !self.search.prefilter) {
            let rows = filtered(&self.dataset, filter, caches.rows()).await?;
            hits.retain(|hit| rows.contains(hit.row));
        }
        Ok(hits)
    }

    /// The rows of each column that pass a filter.
    async fn restrictions(
        &self,
        filter: &Expression,
        caches: &TextCaches,
    ) -> Result<Vec<Restriction>> {
        let mut restrictions = Vec::new();
        if !filter.is_immutable() {
            // The same rows for all columns.
            let rows = filtered(&self.dataset, filter, caches.rows()).await?;
            for view in self.plan.views() {
                restrictions.push(restricted(view, rows.clone()).await?);
            }
            return Ok(restrictions);
        }
        for (index, view) in self.indexes.iter().zip(self.plan.views()) {
            let key = (
                index.state(&self.dataset, !self.search.fast),
                filter.sql().to_string(),
            );
            let make = async || {
                let rows = filtered(&self.dataset, filter, caches.rows()).await?;
                let restriction = restricted(view, rows).await?;
                let weight = view.documents() as usize / 8 + filter.sql().len();
                Ok((Arc::new(restriction), weight))
            };
            let restriction = caches.restrictions.get(&key, make).await?;
            restrictions.push(restriction.as_ref().clone());
        }
        Ok(restrictions)
    }

    /// Highlighters for some columns; for all searched ones if none are named.
    pub fn highlighters(&self, columns: &[String]) -> Result<Vec<(TextColumn, Highlighter)>> {
        let mut wanted = Vec::new();
        for column in columns {
            wanted.push(TextColumn::find(&self.dataset, column)?);
        }
        if wanted.is_empty() {
            wanted = self
                .indexes
                .iter()
                .map(|index| index.column.clone())
                .collect();
        }
        let highlighters = wanted.into_iter().map(|column| {
            let name = column.name();
            let highlighter = Highlighter::new(&self.plan, &name).ok_or_else(|| {
                Error::invalid(format!(
                    "the text query does not search `{name}`, so there is nothing to highlight"
                ))
            })?;
            Ok((column, highlighter))
        });
        highlighters.collect()
    }
}

/// The documents of these rows.
async fn restricted(view: &Arc<View>, rows: Arc<RoaringTreemap>) -> Result<Restriction> {
    let view = view.clone();
    run(view.documents(), move |_| {
        Ok(view.restrict(|row| rows.contains(row)))
    })
    .await
}

/// Runs a search that reads this many index entries: on this thread if they are few, else on a blocking thread, until
/// the caller is dropped.
async fn run<T: Send + 'static>(
    entries: u64,
    work: impl FnOnce(Interrupt<'_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    /// One or two milliseconds of work.
    const FEW: u64 = 1_000_000;
    if entries <= FEW {
        return work(&|| false);
    }
    let cancel = Cancel::default();
    let flag = cancel.0.clone();
    blocking(move || work(&|| flag.load(Ordering::Relaxed))).await
}

/// Cancels its work on drop.
#[derive(Default)]
struct Cancel(Arc<AtomicBool>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::deadline::Deadline;
    use crate::error::Code;

    #[tokio::test]
    async fn a_deadline_stops_a_search() {
        let (end, ended) = mpsc::channel();
        let search = run(u64::MAX, move |interrupt| {
            // A search that finds its rows after the deadline.
            while !interrupt() {
                std::thread::sleep(Duration::from_millis(1));
            }
            end.send(())
                .map_err(|error| Error::internal("the test has ended", error))
        });
        let mut deadline = Deadline::of_request(Some(Duration::from_millis(20)));
        let error = deadline.spend(search).await.unwrap_err();
        assert_eq!(error.code(), Code::ServiceUnavailable);
        // The thread of the search returns.
        ended.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    #[tokio::test]
    async fn a_search_of_few_entries_needs_no_thread() {
        let own = std::thread::current().id();
        let search = run(1, move |interrupt| {
            assert!(!interrupt());
            Ok(std::thread::current().id())
        });
        let mut deadline = Deadline::of_request(Some(Duration::ZERO));
        assert_eq!(deadline.spend(search).await.unwrap(), own);
    }
}
