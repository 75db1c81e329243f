//! The rows that a search has found, with the columns that were asked for.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float32Array, ListBuilder, RecordBatch, StringBuilder, StructArray};
use arrow::array::{RecordBatchOptions, UInt64Array};
use arrow::compute::{SortColumn, SortOptions, lexsort_to_indices, take_record_batch};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::physical_plan::PhysicalExpr;
use joust_text::highlight::{Highlighter, Style};
use joust_text::search::Hit;
use lance::Dataset;
use lance::dataset::ProjectionRequest;
use lance_datafusion::planner::Planner;

use super::caches::{State, TextCaches};
use super::column::TextColumn;
use super::row_cache::RowCache;
use super::source;
use crate::error::{Code, Error, Result};
use crate::query::canonical_column;

const SCORE: &str = "_score";
const DISTANCE: &str = "_distance";
const RELEVANCE: &str = "_relevance_score";
const ROW_ID: &str = "_rowid";
/// The column of passages.
const HIGHLIGHTS: &str = "_highlights";

/// Where an output column comes from.
enum Source {
    /// The n-th column that is taken from the table.
    Taken(usize),
    Score,
    Distance,
    Relevance,
    RowId,
    /// An expression over the score and taken columns, by their names in it.
    Computed {
        expression: Arc<dyn PhysicalExpr>,
        inputs: Vec<(Field, usize)>,
    },
    Highlights,
}

/// A row that was found, with what speaks for it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Ranked {
    pub row: u64,
    /// Absent when only the vector found it.
    pub score: Option<f32>,
    /// Absent when only the text found it.
    pub distance: Option<f32>,
    /// Of a hybrid search.
    pub relevance: f32,
}

impl From<Hit> for Ranked {
    fn from(hit: Hit) -> Self {
        Self {
            row: hit.row,
            score: Some(hit.score),
            ..Self::default()
        }
    }
}

/// What is returned of each row.
pub struct Output {
    dataset: Arc<Dataset>,
    /// What is taken from the table: names of this file's own and SQL.
    taken: Vec<(String, String)>,
    columns: Vec<(String, Source)>,
    /// Taken columns that the rows are sorted by.
    order: Vec<(usize, SortOptions)>,
    highlights: Vec<Highlighted>,
    style: Style,
    /// Rows that were read before; `None` when something else than columns is taken.
    cache: Option<Arc<RowCache>>,
}

/// A column whose passages are returned.
pub struct Highlighted {
    pub column: TextColumn,
    pub highlighter: Highlighter,
    taken: usize,
}

/// A key to sort by.
pub struct Key {
    pub column: String,
    pub options: SortOptions,
}

impl Output {
    /// `expressions`: names and SQL, or all columns. A `hybrid` search has distances too.
    pub fn new(
        dataset: Arc<Dataset>,
        expressions: Option<Vec<(String, String)>>,
        with_row_id: bool,
        hybrid: bool,
    ) -> Result<Self> {
        let mut output = Self {
            taken: Vec::new(),
            columns: Vec::new(),
            order: Vec::new(),
            highlights: Vec::new(),
            style: Style::default(),
            cache: None,
            dataset,
        };
        let expressions = match expressions {
            Some(expressions) => expressions,
            None => output.all_columns()?,
        };
        for (name, sql) in expressions {
            output.add(name, sql)?;
        }
        let mut own = vec![(SCORE, Source::Score)];
        if hybrid {
            own.insert(0, (DISTANCE, Source::Distance));
            own.push((RELEVANCE, Source::Relevance));
        }
        for (name, source) in own {
            if !output.has(name) {
                output.columns.push((name.to_string(), source));
            }
        }
        if with_row_id && !output.has(ROW_ID) {
            output.columns.push((ROW_ID.to_string(), Source::RowId));
        }
        Ok(output)
    }

    fn all_columns(&self) -> Result<Vec<(String, String)>> {
        let fields = &self.dataset.schema().fields;
        let all = fields.iter().map(|field| {
            let path = lance_core::datatypes::format_field_path(&[field.name.as_str()]);
            Ok((field.name.clone(), path))
        });
        all.collect()
    }

    fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|(own, _)| own == name)
    }

    fn add(&mut self, name: String, sql: String) -> Result<()> {
        let source = match sql.as_str() {
            SCORE => Source::Score,
            DISTANCE => Source::Distance,
            RELEVANCE => Source::Relevance,
            ROW_ID => Source::RowId,
            _ if sql.to_ascii_lowercase().contains(SCORE) => self.computed(&sql)?,
            _ => Source::Taken(self.take(sql)),
        };
        self.columns.push((name, source));
        Ok(())
    }

    /// Takes a column or an expression from the table, once.
    fn take(&mut self, sql: String) -> usize {
        if let Some(index) = self.taken.iter().position(|(_, known)| *known == sql) {
            return index;
        }
        let index = self.taken.len();
        self.taken.push((format!("c{index}"), sql));
        index
    }

    /// An expression that mentions the score, which the table does not know.
    fn computed(&mut self, sql: &str) -> Result<Source> {
        let table = Schema::from(self.dataset.schema());
        let mut fields: Vec<Field> = table
            .fields()
            .iter()
            .map(|field| (**field).clone())
            .collect();
        fields.push(score_field());
        let all = Arc::new(Schema::new(fields));
        let planner = Planner::new(all.clone());
        let expression = planner
            .parse_expr(sql)
            .and_then(|expression| planner.optimize_expr(expression))
            .map_err(Error::of_input)?;
        let mut inputs = Vec::new();
        let mut used = vec![score_field()];
        for path in Planner::column_names_in_expr(&expression) {
            let name = path.split('.').next().unwrap_or_default();
            let known = all
                .field_with_name(&path)
                .or_else(|_| all.field_with_name(name));
            let Ok(field) = known.cloned() else { continue };
            if used.iter().any(|own| own.name() == field.name()) {
                continue;
            }
            let sql = lance_core::datatypes::format_field_path(&[field.name().as_str()]);
            inputs.push((field.clone(), self.take(sql)));
            used.push(field);
        }
        let planner = Planner::new(Arc::new(Schema::new(used)));
        let expression = planner
            .create_physical_expr(&expression)
            .map_err(Error::of_input)?;
        Ok(Source::Computed { expression, inputs })
    }

    pub fn sort(&mut self, keys: Vec<Key>) -> Result<()> {
        for key in keys {
            let path = canonical_column(&self.dataset, &key.column)?;
            let taken = self.take(path);
            self.order.push((taken, key.options));
        }
        Ok(())
    }

    /// Adds the column of passages.
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

    /// Remembers rows between searches, once everything that is taken is known.
    pub async fn remember(&mut self, caches: &TextCaches) -> Result<()> {
        let is_column = |(_, sql): &(String, String)| self.dataset.schema().field(sql).is_some();
        if !self.taken.iter().all(is_column) {
            return Ok(());
        }
        let paths: Vec<&str> = self.taken.iter().map(|(_, sql)| sql.as_str()).collect();
        let key = (State::of(&self.dataset), paths.join(","));
        let make = async { Ok((Arc::new(RowCache::new(caches.rows_each)), caches.rows_each)) };
        self.cache = Some(caches.rows.get(&key, make).await?);
        Ok(())
    }

    pub fn is_sorted(&self) -> bool {
        !self.order.is_empty()
    }

    /// What is returned, in words.
    pub fn describe(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        format!("Rows: columns={}", names.join(", "))
    }

    /// The rows of some hits, in their order.
    pub async fn rows(&self, hits: &[Ranked]) -> Result<RecordBatch> {
        let taken = self.taken_columns(hits).await?;
        self.assemble(&taken, hits)
    }

    /// The rows of all hits in the wanted order, from `offset` on and at most `limit`.
    pub async fn sorted(
        &self,
        hits: &[Ranked],
        offset: usize,
        limit: usize,
    ) -> Result<RecordBatch> {
        let taken = self.taken_columns(hits).await?;
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

    async fn taken_columns(&self, hits: &[Ranked]) -> Result<Vec<ArrayRef>> {
        if self.taken.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<u64> = hits.iter().map(|hit| hit.row).collect();
        match &self.cache {
            Some(cache) => cache.columns(&ids, |ids| self.read(ids)).await,
            None => Ok(self.read(ids).await?.columns().to_vec()),
        }
    }

    async fn read(&self, ids: Vec<u64>) -> Result<RecordBatch> {
        let projection = ProjectionRequest::from_sql(self.taken.clone());
        let batch = self
            .dataset
            .take_rows(&ids, projection)
            .await
            .map_err(Error::of_input)?;
        if batch.num_rows() != ids.len() {
            return Err(Error::new(
                Code::Internal,
                "a row that was found is not in the table",
            ));
        }
        Ok(batch)
    }

    fn assemble(&self, taken: &[ArrayRef], hits: &[Ranked]) -> Result<RecordBatch> {
        let score: ArrayRef = Arc::new(hits.iter().map(|hit| hit.score).collect::<Float32Array>());
        let mut fields = Vec::new();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for (name, source) in &self.columns {
            let column: ArrayRef = match source {
                Source::Taken(index) => taken[*index].clone(),
                Source::Score => score.clone(),
                Source::Distance => Arc::new(
                    hits.iter()
                        .map(|hit| hit.distance)
                        .collect::<Float32Array>(),
                ),
                Source::Relevance => Arc::new(Float32Array::from_iter_values(
                    hits.iter().map(|hit| hit.relevance),
                )),
                Source::RowId => Arc::new(UInt64Array::from_iter_values(
                    hits.iter().map(|hit| hit.row),
                )),
                Source::Computed { expression, inputs } => {
                    compute(expression.as_ref(), inputs, taken, &score)?
                }
                Source::Highlights => self.passages(taken, hits.len())?,
            };
            fields.push(self.field(name, source, column.data_type()));
            columns.push(column);
        }
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let options = RecordBatchOptions::new().with_row_count(Some(hits.len()));
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }

    /// A column of the table keeps what its schema says about it.
    fn field(&self, name: &str, source: &Source, data_type: &DataType) -> Field {
        let own = match source {
            Source::Taken(index) => self.dataset.schema().field(&self.taken[*index].1),
            _ => None,
        };
        match own {
            Some(own) => super::json::as_returned(Field::from(own))
                .with_name(name)
                .with_data_type(data_type.clone()),
            None => Field::new(name, data_type.clone(), true),
        }
    }

    fn passages(&self, taken: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut fields = Vec::new();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for highlighted in &self.highlights {
            let column = &highlighted.column;
            let texts = source::texts(&taken[highlighted.taken], column.keys.as_deref())?;
            let mut lists = ListBuilder::new(StringBuilder::new());
            for row in 0..rows {
                let mut left = self.style.fragments;
                for text in texts.of(row) {
                    let style = Style {
                        fragments: left,
                        ..self.style.clone()
                    };
                    let passages = match left {
                        0 => Vec::new(),
                        _ => highlighted.highlighter.passages(text, &style),
                    };
                    left -= passages.len();
                    for passage in passages {
                        lists.values().append_value(passage);
                    }
                }
                lists.append(true);
            }
            let lists: ArrayRef = Arc::new(lists.finish());
            let data_type = lists.data_type().clone();
            fields.push(Field::new(column.name(), data_type, true));
            columns.push(lists);
        }
        let fields = Fields::from(fields);
        Ok(Arc::new(StructArray::try_new_with_length(
            fields, columns, None, rows,
        )?))
    }
}

fn score_field() -> Field {
    Field::new(SCORE, DataType::Float32, true)
}

fn compute(
    expression: &dyn PhysicalExpr,
    inputs: &[(Field, usize)],
    taken: &[ArrayRef],
    score: &ArrayRef,
) -> Result<ArrayRef> {
    let mut fields = vec![score_field()];
    let mut columns = vec![score.clone()];
    for (field, index) in inputs {
        let column = taken[*index].clone();
        fields.push(field.clone().with_data_type(column.data_type().clone()));
        columns.push(column);
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
    let computed = expression
        .evaluate(&batch)
        .and_then(|value| value.into_array(batch.num_rows()))
        .map_err(|error| Error::of_input(lance::Error::from(error)))?;
    Ok(computed)
}
