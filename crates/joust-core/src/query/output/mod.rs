//! The columns that a query returns for each matching row.

mod assemble;
mod computed;
mod passages;
mod ranked;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::{SortColumn, SortOptions, lexsort_to_indices, take_record_batch};
use joust_text::highlight::{Highlighter, Style};
use lance::Dataset;

use crate::cache::{Reader, RowCaches};
use crate::error::Result;
use crate::schema::columns::canonical_column;
use crate::text::TextColumn;
use computed::Computed;
pub use ranked::Ranked;

pub const SCORE: &str = "_score";
pub const DISTANCE: &str = "_distance";
pub const RELEVANCE: &str = "_relevance_score";
/// The number of the query vector that matched a row, if there are several vectors.
pub const QUERY_INDEX: &str = "query_index";
const ROW_ID: &str = "_rowid";
/// The column of highlighted passages.
const HIGHLIGHTS: &str = "_highlights";

/// Columns that a search returns in addition, unless the query selects columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// The first column.
    Query,
    Distance,
    Score,
    Relevance,
}

/// The source of an output column.
enum Source {
    /// The n-th column read from the table.
    Taken(usize),
    Own(Own),
    RowId,
    Computed(Computed),
    Highlights,
}

/// The output columns of each row.
pub struct Output {
    dataset: Arc<Dataset>,
    /// Columns read from the table: internal names and SQL.
    taken: Vec<(String, String)>,
    columns: Vec<(String, Source)>,
    /// Read columns by which the rows are sorted.
    order: Vec<(usize, SortOptions)>,
    highlights: Vec<Highlighted>,
    style: Style,
}

/// A column with highlighted passages.
struct Highlighted {
    column: TextColumn,
    highlighter: Highlighter,
    taken: usize,
}

/// A sort key.
pub struct Key {
    pub column: String,
    pub options: SortOptions,
}

impl Own {
    fn name(self) -> &'static str {
        match self {
            Self::Query => QUERY_INDEX,
            Self::Distance => DISTANCE,
            Self::Score => SCORE,
            Self::Relevance => RELEVANCE,
        }
    }

    /// The search result that a name refers to.
    fn of_row(name: &str) -> Option<Self> {
        [Self::Distance, Self::Score, Self::Relevance]
            .into_iter()
            .find(|own| own.name() == name)
    }
}

impl Output {
    /// `expressions`: names and SQL, or all columns. `own`: columns that are always returned.
    pub fn new(
        dataset: Arc<Dataset>,
        expressions: Option<Vec<(String, String)>>,
        with_row_id: bool,
        own: &[Own],
    ) -> Result<Self> {
        let mut output = Self {
            taken: Vec::new(),
            columns: Vec::new(),
            order: Vec::new(),
            highlights: Vec::new(),
            style: Style::default(),
            dataset,
        };
        for (name, sql) in expressions.unwrap_or_else(|| output.all_columns()) {
            output.add(name, sql, own)?;
        }
        for own in own {
            let place = match own {
                Own::Query => 0,
                _ if output.has(own.name()) => continue,
                _ => output.columns.len(),
            };
            let column = (own.name().to_string(), Source::Own(*own));
            output.columns.insert(place, column);
        }
        if with_row_id && !output.has(ROW_ID) {
            output.columns.push((ROW_ID.to_string(), Source::RowId));
        }
        Ok(output)
    }

    fn all_columns(&self) -> Vec<(String, String)> {
        let fields = self.dataset.schema().fields.iter();
        let all = fields.map(|field| {
            let path = lance_core::datatypes::format_field_path(&[field.name.as_str()]);
            (field.name.clone(), path)
        });
        all.collect()
    }

    fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|(own, _)| own == name)
    }

    /// `own`: the search results of a row. They hide table columns of the same names; other searches do not.
    fn add(&mut self, name: String, sql: String, own: &[Own]) -> Result<()> {
        let is_column = self.dataset.schema().field(&sql).is_some();
        let source = match Own::of_row(&sql) {
            Some(known) if own.contains(&known) || !is_column => Source::Own(known),
            _ if sql == ROW_ID => Source::RowId,
            _ if is_column => Source::Taken(self.take(sql)),
            _ => match self.computed(&sql)? {
                Some(computed) => Source::Computed(computed),
                None => Source::Taken(self.take(sql)),
            },
        };
        self.columns.push((name, source));
        Ok(())
    }

    /// An expression over the score; `None` for another one.
    fn computed(&mut self, sql: &str) -> Result<Option<Computed>> {
        if !sql.to_ascii_lowercase().contains(SCORE) {
            return Ok(None);
        }
        let dataset = self.dataset.clone();
        Computed::new(&dataset, sql, |sql| self.take(sql))
    }

    /// Reads a column or an expression from the table, once.
    fn take(&mut self, sql: String) -> usize {
        if let Some(index) = self.taken.iter().position(|(_, known)| *known == sql) {
            return index;
        }
        let index = self.taken.len();
        self.taken.push((format!("c{index}"), sql));
        index
    }

    pub fn sort(&mut self, keys: Vec<Key>) -> Result<()> {
        for key in keys {
            let path = canonical_column(&self.dataset, &key.column)?;
            let taken = self.take(path);
            self.order.push((taken, key.options));
        }
        Ok(())
    }

    /// Adds the column of highlighted passages.
    pub fn highlight(&mut self, columns: Vec<(TextColumn, Highlighter)>, style: Style) {
        self.style = style;
        for (column, highlighter) in columns {
            let taken = self.take(column.field.clone());
            self.highlights.push(Highlighted {
                column,
                highlighter,
                taken,
            });
        }
        self.columns
            .push((HIGHLIGHTS.to_string(), Source::Highlights));
    }

    pub fn is_sorted(&self) -> bool {
        !self.order.is_empty()
    }

    pub fn dataset(&self) -> &Arc<Dataset> {
        &self.dataset
    }

    /// The expressions that are read from the table, as SQL.
    pub fn taken(&self) -> impl Iterator<Item = &str> {
        self.taken.iter().map(|(_, sql)| sql.as_str())
    }

    /// The sort order in the notation of plans.
    pub fn order(&self) -> String {
        let keys = self.order.iter().map(|(taken, options)| {
            let direction = if options.descending { "DESC" } else { "ASC" };
            let nulls = if options.nulls_first { "FIRST" } else { "LAST" };
            format!("{} {direction} NULLS {nulls}", self.taken[*taken].1)
        });
        keys.collect::<Vec<_>>().join(", ")
    }

    /// The output in the notation of plans; verbose includes the types of the table's columns.
    pub fn describe(&self, verbose: bool) -> String {
        let columns = self.columns.iter().map(|(name, source)| match source {
            Source::Taken(index) if verbose => {
                let own = self.dataset.schema().field(&self.taken[*index].1);
                own.map_or(name.clone(), |own| format!("{name}: {}", own.data_type()))
            }
            _ => name.clone(),
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let mut out = format!("ProjectionExec: expr=[{columns}]");
        if let Some(branch) = &self.dataset.manifest().branch {
            out += &format!(", branch={branch}");
        }
        out
    }

    /// The rows of some hits, in their order.
    pub async fn rows(&self, hits: &[Ranked], caches: &RowCaches) -> Result<RecordBatch> {
        let taken = self.reader().read(&ids(hits), caches).await?;
        self.assemble(&taken, hits)
    }

    /// The rows of all hits, sorted, from `offset` on and at most `limit`.
    pub async fn sorted(
        &self,
        hits: &[Ranked],
        offset: usize,
        limit: usize,
        caches: &RowCaches,
    ) -> Result<RecordBatch> {
        let taken = self.reader().read(&ids(hits), caches).await?;
        let rows = self.assemble(&taken, hits)?;
        let keys: Vec<SortColumn> = self
            .order
            .iter()
            .map(|(index, options)| SortColumn {
                values: taken[*index].clone(),
                options: Some(*options),
            })
            .collect();
        let end = offset.saturating_add(limit);
        let order = lexsort_to_indices(&keys, Some(end.min(hits.len())))?;
        let start = offset.min(order.len());
        let order = order.slice(start, order.len() - start);
        Ok(take_record_batch(&rows, &order)?)
    }

    fn reader(&self) -> Reader {
        Reader::new(self.dataset.clone(), self.taken.clone())
    }
}

fn ids(hits: &[Ranked]) -> Vec<u64> {
    hits.iter().map(|hit| hit.row).collect()
}
