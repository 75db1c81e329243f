use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Field};
use futures::{TryStreamExt, try_join};
use lance::dataset::scanner::Scanner;
use lance_index::scalar::FullTextSearchQuery;
use lance_linalg::distance::MetricType;

use crate::Result;
use crate::ask::{Answer, Text, Vector};
use crate::tables::Table;

pub async fn vector(table: &Table, ask: &Vector) -> Result<Answer> {
    let mut scan = table.dataset().scan();
    scan.project(&ask.columns)?;
    scan.nearest("vector", key(ask)?.as_ref(), ask.k)?;
    scan.distance_metric(MetricType::try_from(ask.distance.as_str())?);
    scan.use_index(!ask.flat);
    if let Some(nprobes) = ask.nprobes {
        scan.nprobes(nprobes);
    }
    if let Some(factor) = ask.refine {
        scan.refine(factor);
    }
    if let Some(ef) = ask.ef {
        scan.ef(ef);
    }
    if let Some(filter) = &ask.filter {
        scan.filter(filter)?.prefilter(true);
    }
    collect(&scan).await
}

fn key(ask: &Vector) -> Result<ArrayRef> {
    let flat = Float32Array::from_iter_values(ask.vectors.iter().flatten().copied());
    match ask.vectors.as_slice() {
        [_] => Ok(Arc::new(flat)),
        several => {
            let dimensions = i32::try_from(several.first().map_or(0, Vec::len))?;
            let item = Arc::new(Field::new("item", DataType::Float32, true));
            let list = FixedSizeListArray::try_new(item, dimensions, Arc::new(flat), None)?;
            Ok(Arc::new(list))
        }
    }
}

pub async fn text(table: &Table, ask: &Text) -> Result<Answer> {
    let mut scan = table.dataset().scan();
    let query = FullTextSearchQuery::new(ask.text.clone()).with_column("text".to_owned())?;
    scan.project(&ask.columns)?;
    scan.full_text_search(query.limit(Some(ask.k)))?;
    collect(&scan).await
}

/// Lance has no search by vector and text at once: both, then reciprocal ranks, as LanceDB does it.
pub async fn hybrid(table: &Table, ask: &Vector, words: &str) -> Result<Answer> {
    const RANK_CONSTANT: f64 = 60.0;
    let words = Text {
        text: words.to_owned(),
        k: i64::try_from(ask.k)?,
        columns: ask.columns.clone(),
    };
    let (near, fitting) = try_join!(vector(table, ask), text(table, &words))?;
    let mut best = HashMap::new();
    let mut seen = Vec::new();
    for (list, answer) in [&near, &fitting].into_iter().enumerate() {
        for (rank, id) in answer.ids().into_iter().enumerate() {
            let position = if list == 0 {
                rank
            } else {
                near.rows as usize + rank
            };
            let (score, _) = best.entry(id).or_insert_with(|| {
                seen.push(id);
                (0.0, position)
            });
            *score += 1.0 / (RANK_CONSTANT + rank as f64 + 1.0);
        }
    }
    let mut ranked: Vec<(f64, usize)> = seen.iter().filter_map(|id| best.remove(id)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let positions = ranked.iter().take(ask.k).map(|(_, row)| *row as u32);
    let rows = shared_columns(&near, &fitting, &ask.columns)?;
    let rows = take_record_batch(&rows, &UInt32Array::from_iter_values(positions))?;
    Ok(vec![rows].into())
}

/// The rows of both; distances and scores are left out, since each has only one of them.
fn shared_columns(near: &Answer, fitting: &Answer, columns: &[String]) -> Result<RecordBatch> {
    let batches = near.batches.iter().chain(&fitting.batches);
    let narrow = batches.map(|batch| {
        let indices: std::result::Result<Vec<usize>, _> = columns
            .iter()
            .map(|name| batch.schema_ref().index_of(name))
            .collect();
        batch.project(&indices?)
    });
    let narrow = narrow.collect::<std::result::Result<Vec<_>, _>>()?;
    let schema = narrow.first().ok_or("neither search found a row")?.schema();
    Ok(concat_batches(&schema, &narrow)?)
}

pub async fn filter(
    table: &Table,
    filter: &str,
    limit: Option<i64>,
    columns: &[String],
) -> Result<Answer> {
    let mut scan = table.dataset().scan();
    scan.project(columns)?.filter(filter)?.limit(limit, None)?;
    collect(&scan).await
}

pub async fn count(table: &Table, filter: Option<String>) -> Result<Answer> {
    let rows = table.dataset().count_rows(filter).await? as u64;
    Ok(Answer {
        rows,
        batches: Vec::new(),
    })
}

/// Reads every row and column. Each batch is dropped when it arrives, as a server would send it.
pub async fn everything(table: &Table) -> Result<Answer> {
    let dataset = table.dataset();
    let mut stream = dataset.scan().try_into_stream().await?;
    let mut rows = 0;
    while let Some(batch) = stream.try_next().await? {
        rows += batch.num_rows() as u64;
    }
    Ok(Answer {
        rows,
        batches: Vec::new(),
    })
}

async fn collect(scan: &Scanner) -> Result<Answer> {
    let stream = scan.try_into_stream().await?;
    Ok(stream.try_collect::<Vec<_>>().await?.into())
}
