//! A query as a Lance scan.

use std::sync::Arc;

use datafusion::physical_plan::displayable;
use futures::StreamExt;
use joust_text::object::Object;
use joust_text::query::Query as TextQuery;
use lance::Dataset;
use lance::dataset::scanner::{ColumnOrdering, Scanner};
use lance::io::RecordBatchStream;

use super::fetch::Rows;
use super::offset::SkipPerQuery;
use super::output::QUERY_INDEX;
use super::request::{Ordering, Query};
use super::sorting::{self, Sorted};
use super::vector_search::VectorSearch;
use super::vectors::Vectors;
use super::{text, vector};
use crate::error::{Error, Result};
use crate::planning::planned;
use crate::schema::columns::canonical_column;
use crate::schema::expression;
use crate::vector::stale_rows;

/// Bytes of a batch, independent of the row width: Lance's default batches have 8,192 rows.
const BATCH_BYTES: u64 = 4 << 20;

/// A version, and the read-ahead of a scan in bytes.
#[derive(Clone)]
pub struct Source {
    pub dataset: Arc<Dataset>,
    pub read_ahead: usize,
    /// Rows of a batch, if the results of expressions would be too large for Lance's default.
    pub rows_at_once: Option<usize>,
}

/// A query that Lance answers. Lance plans it when it runs or is explained.
pub struct Scan {
    pub source: Source,
    pub query: Arc<Query>,
    /// The memory of a sort, bytes.
    pub sort_bytes: usize,
}

impl Scan {
    pub async fn start(&self) -> Result<Rows> {
        let Planned { sorted, is_batch } = self.plan().await?;
        let scanned = sorted.start()?;
        let schema = scanned.schema();
        let batches = scanned.map(|batch| batch.map_err(Error::of_input)).boxed();
        let batches = match self.query.offset {
            Some(offset) if is_batch && offset > 0 => {
                let mut skip = SkipPerQuery::new(offset);
                batches.map(move |batch| skip.apply(&batch?)).boxed()
            }
            _ => batches,
        };
        Ok(Rows { schema, batches })
    }

    /// Lance's plan; verbose also shows the columns of each step.
    pub async fn explain(&self, verbose: bool) -> Result<String> {
        let sorted = self.plan().await?.sorted;
        let text = displayable(sorted.plan().as_ref())
            .set_show_schema(verbose)
            .indent(verbose);
        Ok(text.to_string())
    }

    /// Runs the scan: the plan with what each step did.
    pub async fn analyze(&self) -> Result<String> {
        self.plan().await?.sorted.analyze().await
    }

    /// Plans without running.
    pub async fn check(&self) -> Result<()> {
        self.plan().await.map(drop)
    }

    async fn plan(&self) -> Result<Planned> {
        let (source, query, bytes) = (self.source.clone(), self.query.clone(), self.sort_bytes);
        planned(async move {
            let built = build(&source, &query).await;
            let (scanner, is_batch) = built.map_err(Error::of_input)?;
            let sorted = sorting::plan(scanner, &query, &source, bytes).await?;
            Ok(Planned { sorted, is_batch })
        })
        .await
    }
}

struct Planned {
    sorted: Sorted,
    /// Each of several vectors is searched separately.
    is_batch: bool,
}

/// A scan that answers the query, and whether it searches each of several vectors separately.
async fn build(source: &Source, query: &Query) -> Result<(Scanner, bool)> {
    let dataset = source.dataset.clone();
    let mut scanner = filtered(source, query)?;
    let mut batch = false;
    let scored = match (vector::dimension(&query.vector)?, &query.text) {
        (Some(dimension), _) => {
            batch = search_by_vector(&mut scanner, &dataset, query, dimension).await?;
            Some("_distance")
        }
        (None, Some(text)) => {
            search_by_text(&mut scanner, &dataset, query, text).await?;
            Some("_score")
        }
        (None, None) => None,
    };
    // `sorting` cuts a search for no rows: DataFusion cannot sort for no rows.
    if !batch && (query.k > 0 || scored.is_none()) {
        limit(&mut scanner, query)?;
    }
    project(&mut scanner, &dataset, query, scored)?;
    if let Some(order) = &query.order_by {
        let columns = ordering(&dataset, order)?;
        if query.k > 0 {
            scanner.order_by(Some(columns))?;
        }
    }
    Ok((scanner, batch))
}

/// Row ids and distances of the nearest rows: half of a hybrid search.
pub async fn nearest(source: &Source, query: &Query) -> Result<Scanner> {
    let mut scanner = filtered(source, query)?;
    if let Some(dimension) = vector::dimension(&query.vector)? {
        search_by_vector(&mut scanner, &source.dataset, query, dimension)
            .await
            .map_err(Error::of_input)?;
    }
    half(scanner, query, "_distance").map_err(Error::of_input)
}

/// Row ids and scores of the top rows by text: the other half.
pub async fn texts(source: &Source, query: &Query, text: &TextQuery) -> Result<Scanner> {
    let mut scanner = filtered(source, query)?;
    search_by_text(&mut scanner, &source.dataset, query, text)
        .await
        .map_err(Error::of_input)?;
    half(scanner, query, "_score").map_err(Error::of_input)
}

fn half(mut scanner: Scanner, query: &Query, value: &str) -> Result<Scanner> {
    let reach = i64::try_from(query.reach().max(1)).ok();
    scanner.limit(reach.filter(|reach| *reach < i64::MAX), None)?;
    scanner.disable_scoring_autoprojection();
    scanner.project_with_transform(&[(value, value)])?;
    scanner.with_row_id();
    Ok(scanner)
}

fn filtered(source: &Source, query: &Query) -> Result<Scanner> {
    let mut scanner = Scanner::new(source.dataset.clone());
    scanner.io_buffer_size(source.read_ahead as u64);
    scanner.batch_size_bytes(BATCH_BYTES);
    if let Some(rows) = source.rows_at_once {
        scanner.batch_size(rows);
    }
    // Without a vector or text search, there is no postfilter.
    scanner.prefilter(query.prefilter.unwrap_or(true));
    if query.fast_search == Some(true) {
        scanner.fast_search();
    }
    if let Some(filter) = query
        .filter
        .as_deref()
        .filter(|filter| !filter.trim().is_empty())
    {
        scanner
            .filter(&expression::whole(filter)?)
            .map_err(Error::of_input)?;
    }
    Ok(scanner)
}

async fn search_by_text(
    scanner: &mut Scanner,
    dataset: &Arc<Dataset>,
    query: &Query,
    text: &TextQuery,
) -> Result<()> {
    for column in text.columns() {
        text_column(dataset, column)?;
    }
    if query.highlight.is_some() {
        return Err(Error::invalid(
            "`highlight` needs an FTS index on the columns that are searched",
        ));
    }
    scanner.full_text_search(text::native(text, query.reach().max(1))?)?;
    stale_rows::restrict_scan(scanner, dataset).await?;
    Ok(())
}

/// Rejects a column that the table does not have. Lance validates paths into a list.
fn text_column(dataset: &Dataset, path: &str) -> Result<()> {
    let column = path.split('.').next().unwrap_or(path);
    match canonical_column(dataset, path) {
        Err(error) if dataset.schema().resolve_case_insensitive(column).is_none() => Err(error),
        _ => Ok(()),
    }
}

/// Returns whether it searches each of several vectors separately.
async fn search_by_vector(
    scanner: &mut Scanner,
    dataset: &Dataset,
    query: &Query,
    dimension: usize,
) -> Result<bool> {
    let search = VectorSearch::of(dataset, query, dimension).await?;
    search.set(scanner)?;
    let batch = matches!(query.vector, Vectors::Many(_)) && !search.column.holds_several;
    if batch && stale_rows::may_be_held(dataset) {
        // Lance treats the result of a filter as rows of the table, but a scalar index may contain others.
        scanner.use_scalar_index(false);
    }
    Ok(batch)
}

/// Limit and offset over the whole result. In a batch, each vector has its own: see [`SkipPerQuery`].
fn limit(scanner: &mut Scanner, query: &Query) -> Result<()> {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let limit = Some(signed(query.k)).filter(|limit| *limit < i64::MAX);
    let offset = query.offset.filter(|offset| *offset > 0).map(signed);
    scanner.limit(limit, offset)?;
    Ok(())
}

fn project(
    scanner: &mut Scanner,
    dataset: &Dataset,
    query: &Query,
    scored: Option<&str>,
) -> Result<()> {
    if let Some(mut expressions) = query.columns.expressions(dataset)? {
        if matches!(query.vector, Vectors::Many(_))
            && expressions.iter().any(|(name, _)| name == QUERY_INDEX)
        {
            return Err(Error::invalid(format!(
                "with several vectors `{QUERY_INDEX}` is the column that tells them apart; choose \
                 another alias"
            )));
        }
        scanner.disable_scoring_autoprojection();
        if let Some(score) = scored
            && expressions.iter().all(|(name, _)| name != score)
        {
            expressions.push((score.to_string(), score.to_string()));
        }
        scanner.project_with_transform(&expressions)?;
    }
    if query.with_row_id == Some(true) || query.needs_row_id() {
        scanner.with_row_id();
    }
    Ok(())
}

fn ordering(dataset: &Dataset, order: &[Object<Ordering>]) -> Result<Vec<ColumnOrdering>> {
    order
        .iter()
        .map(|key| {
            Ok(ColumnOrdering {
                ascending: key.ascending,
                nulls_first: key.nulls_first,
                column_name: canonical_column(dataset, &key.column_name)?,
            })
        })
        .collect()
}
