use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use arrow::array::RecordBatchIterator;
use arrow::ipc::reader::StreamReader;
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use lance::index::DatasetIndexExt;
use lance_index::IndexType;
use lance_index::scalar::InvertedIndexParams;

use crate::Result;
use crate::ask::Answer;
use crate::command::Index;
use crate::tables::{Table, Tables};

pub async fn index(tables: &Tables, name: &str, index: &Index) -> Result<()> {
    let table = tables.get(name)?;
    let mut dataset = table.dataset().as_ref().clone();
    let params = InvertedIndexParams::default();
    let column = index.column.as_str();
    let name = format!("{column}_native");
    dataset
        .create_index(&[column], IndexType::Inverted, Some(name), &params, true)
        .await?;
    table.replace(dataset);
    Ok(())
}

/// Appends the rows in a commit of their own; Lance tries again where another was faster.
pub async fn insert(table: &Table, source: &Path) -> Result<Answer> {
    let reader = StreamReader::try_new(File::open(source)?, None)?;
    let batches = reader.collect::<std::result::Result<Vec<_>, _>>()?;
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let params = WriteParams {
        mode: WriteMode::Append,
        ..Default::default()
    };
    let dataset = InsertBuilder::new(table.dataset())
        .with_params(&params)
        .execute(batches)
        .await?;
    table.replace(dataset);
    Ok(Answer {
        rows,
        batches: Vec::new(),
    })
}

/// The table has the format that joust's have.
pub async fn ingest(source: &str, path: &str) -> Result<u64> {
    let reader = StreamReader::try_new(BufReader::new(File::open(source)?), None)?;
    let schema = reader.schema();
    let params = WriteParams {
        enable_stable_row_ids: true,
        enable_v2_manifest_paths: true,
        ..Default::default()
    };
    let dataset = InsertBuilder::new(path)
        .with_params(&params)
        .execute_stream(RecordBatchIterator::new(reader, schema))
        .await?;
    Ok(dataset.count_rows(None).await? as u64)
}
