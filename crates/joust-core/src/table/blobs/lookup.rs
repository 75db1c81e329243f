//! Finds the values of a column by row.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use bytes::Bytes;
use datafusion::logical_expr::{col, lit};
use lance::Dataset;
use lance::dataset::{BlobFile, ProjectionRequest, TakeBuilder};
use lance_core::datatypes::{BlobKind, format_field_path};
use lance_core::{ROW_ADDR, ROW_ID};

use super::Value;
use crate::error::{Code, Error, Result};
use crate::schema::RowFilter;
use crate::schema::columns::{canonical_column, unknown_column};

#[derive(Clone, Copy)]
pub enum Rows<'a> {
    Ids(&'a [u64]),
    Addresses(&'a [u64]),
}

impl Rows<'_> {
    fn numbers(&self) -> &[u64] {
        match self {
            Self::Ids(rows) | Self::Addresses(rows) => rows,
        }
    }

    fn count(self) -> usize {
        self.numbers().len()
    }
}

/// The values of some rows. A row that the filter of the caller hides does not exist.
pub async fn values(
    dataset: &Arc<Dataset>,
    column: &str,
    rows: Rows<'_>,
    filter: Option<&RowFilter>,
) -> Result<Vec<Option<Value>>> {
    let path = canonical_column(dataset, column)?;
    let field = dataset
        .schema()
        .field(&path)
        .ok_or_else(|| unknown_column(dataset, column))?;
    if rows.count() == 0 {
        return Ok(Vec::new());
    }
    check_fragments(dataset, rows)?;
    if let Some(filter) = filter {
        check_visible(dataset, rows, filter).await?;
    }
    if field.is_blob() {
        return blobs(dataset, &path, rows).await;
    }
    match field.data_type() {
        DataType::Binary | DataType::LargeBinary => plain(dataset, column, &path, rows).await,
        other => Err(Error::invalid(format!(
            "column `{column}` is not a blob column but of type {other}; name a blob column or a \
             binary column"
        ))),
    }
}

/// Lance panics for descending addresses of rows that do not exist.
fn check_fragments(dataset: &Dataset, rows: Rows<'_>) -> Result<()> {
    if matches!(rows, Rows::Ids(_)) && dataset.manifest().uses_stable_row_ids() {
        return Ok(());
    }
    let fragments = dataset.fragments().iter();
    let sizes: HashMap<u64, Option<usize>> = fragments
        .map(|fragment| (fragment.id, fragment.physical_rows))
        .collect();
    let is_there = |address: &u64| {
        let offset = (address & 0xffff_ffff) as usize;
        sizes
            .get(&(address >> 32))
            .is_some_and(|rows| rows.is_none_or(|rows| offset < rows))
    };
    match rows.numbers().iter().all(is_there) {
        true => Ok(()),
        false => Err(missing_rows()),
    }
}

/// A row that the filter hides is as one that does not exist.
async fn check_visible(dataset: &Arc<Dataset>, rows: Rows<'_>, filter: &RowFilter) -> Result<()> {
    let condition = filter.condition(dataset)?;
    if !condition.reads_values() {
        return check_by_scan(dataset, rows, filter).await;
    }
    let columns = condition.columns().into_iter();
    let columns = columns.map(|name| format_field_path(&[name]));
    let columns = ProjectionRequest::from_columns(columns, dataset.schema());
    let numbers = rows.numbers().to_vec();
    let read = match rows {
        Rows::Ids(_) => TakeBuilder::try_new_from_ids(dataset.clone(), numbers, columns)?,
        Rows::Addresses(_) => {
            let plan = Arc::new(columns.into_projection_plan(dataset.clone())?);
            TakeBuilder::try_new_from_addresses(dataset.clone(), numbers, plan)?
        }
    };
    let batch = match read.execute().await.map_err(Error::of_input) {
        Err(error) if error.code() == Code::InvalidInput => return Err(missing_rows()),
        read => read?,
    };
    // An error would tell that the row exists.
    match batch.num_rows() == rows.count() && condition.admits(&batch).unwrap_or(false) {
        true => Ok(()),
        false => Err(missing_rows()),
    }
}

/// As [`check_visible`], for a filter that only Lance can evaluate.
async fn check_by_scan(dataset: &Arc<Dataset>, rows: Rows<'_>, filter: &RowFilter) -> Result<()> {
    let numbers: HashSet<u64> = rows.numbers().iter().copied().collect();
    let name = match rows {
        Rows::Ids(_) => ROW_ID,
        Rows::Addresses(_) => ROW_ADDR,
    };
    let chosen = numbers.iter().map(|number| lit(*number)).collect();
    let condition = filter.expression(dataset).await?;
    let mut scanner = dataset.scan();
    scanner.filter_expr(col(name).in_list(chosen, false).and(condition));
    let visible = scanner.count_rows().await.map_err(Error::of_input)?;
    match visible == numbers.len() as u64 {
        true => Ok(()),
        false => Err(missing_rows()),
    }
}

async fn blobs(dataset: &Arc<Dataset>, path: &str, rows: Rows<'_>) -> Result<Vec<Option<Value>>> {
    let files = match rows {
        Rows::Ids(ids) => dataset.take_blobs(ids, path).await,
        Rows::Addresses(addresses) => dataset.take_blobs_by_addresses(addresses, path).await,
    };
    let files = files.map_err(Error::of_input)?;
    if files.len() != rows.count() {
        return Err(missing_rows());
    }
    let external = |file: &BlobFile| file.kind() == BlobKind::External;
    if files.iter().flatten().any(external) {
        return Err(Error::new(
            Code::Unsupported,
            "the value lies outside the table; this server reads only what tables hold",
        ));
    }
    Ok(files
        .into_iter()
        .map(|file| file.map(Value::File))
        .collect())
}

async fn plain(
    dataset: &Arc<Dataset>,
    column: &str,
    path: &str,
    rows: Rows<'_>,
) -> Result<Vec<Option<Value>>> {
    let batch = match rows {
        Rows::Ids(ids) => {
            let projection = ProjectionRequest::from_sql([(column, path)]);
            dataset.take_rows(ids, projection).await
        }
        Rows::Addresses(_) => {
            return Err(Error::invalid(format!(
                "column `{column}` is no blob column; its rows are named by their ids"
            )));
        }
    };
    let batch = batch.map_err(Error::of_input)?;
    if batch.num_rows() != rows.count() {
        return Err(missing_rows());
    }
    let values: ArrayRef = cast(batch.column(0), &DataType::LargeBinary)?;
    let values = values.as_binary::<i64>();
    Ok((0..values.len())
        .map(|row| values.is_valid(row).then(|| values.value(row)))
        .map(|value| value.map(|value| Value::Whole(Bytes::copy_from_slice(value))))
        .collect())
}

fn missing_rows() -> Error {
    Error::invalid("some of the rows do not exist; row ids are what queries give as _rowid")
}
