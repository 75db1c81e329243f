use std::path::Path;

use arrow::array::{AsArray, RecordBatch, RecordBatchIterator, StringArray};
use lance::dataset::WriteParams;

use super::*;

const ROWS: usize = 1_000;

/// A table of texts, in two fragments of `ROWS` rows and 10 bytes each row.
async fn table(at: &Path) -> Arc<Dataset> {
    let texts = (0..2 * ROWS).map(|row| format!("{row:0>10}"));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
    let schema = batch.schema();
    let params = WriteParams {
        max_rows_per_file: ROWS,
        ..WriteParams::default()
    };
    let batches = RecordBatchIterator::new([Ok(batch)], schema);
    let table = Dataset::write(batches, at.to_str().unwrap(), Some(params));
    Arc::new(table.await.unwrap())
}

fn decoded(budget: usize, most_in_one_array: usize) -> DecodedColumns {
    DecodedColumns {
        columns: Arc::default(),
        limits: Limits {
            budget,
            most_in_one_array,
        },
    }
}

async fn whole(decoded: &DecodedColumns, table: &Arc<Dataset>) -> Option<Arc<Column>> {
    let field = table.schema().field("text").unwrap();
    decoded.column(table, field, Reading::Whole).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_is_cached_when_it_is_read_a_second_time() {
    let directory = tempfile::tempdir().unwrap();
    let table = table(directory.path()).await;
    let decoded = decoded(1 << 20, load_column::MOST_IN_ONE_ARRAY);
    assert!(whole(&decoded, &table).await.is_none());
    let column = whole(&decoded, &table).await.unwrap();
    assert_eq!(column.fragments.len(), 2);
    assert_eq!(
        column.fragments[1].as_string::<i32>().value(1),
        "0000001001"
    );
    let bytes = decoded.columns.lock().bytes;
    assert!((20 * ROWS..1 << 20).contains(&bytes), "{bytes}");
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_do_not_fit_one_array_are_read_once_and_never_cached() {
    let directory = tempfile::tempdir().unwrap();
    let table = table(directory.path()).await;
    let decoded = decoded(1 << 20, 10 * ROWS);
    for _ in 0..3 {
        assert!(whole(&decoded, &table).await.is_none());
    }
    let field = table.schema().field("text").unwrap();
    let key = Key::of(&table, field);
    assert!(!decoded.is_wanted(&key, &table, field, Reading::Whole));
    assert_eq!(decoded.columns.lock().bytes, 0);
    // No more is read than shows it, and no later reading tries again.
    decoded.columns.lock().entry(&key).refused = None;
    assert!(whole(&decoded, &table).await.is_none());
    assert!(decoded.columns.lock().entry(&key).refused.is_none());
    assert!(decoded.bring(&table, field).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_counts_against_the_budget_while_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let table = table(directory.path()).await;
    // Room for one fragment.
    let decoded = decoded(25 * ROWS, load_column::MOST_IN_ONE_ARRAY);
    for _ in 0..2 {
        assert!(whole(&decoded, &table).await.is_none());
    }
    let field = table.schema().field("text").unwrap();
    let key = Key::of(&table, field);
    let mut columns = decoded.columns.lock();
    assert!(columns.entry(&key).refused.is_some());
    assert_eq!(columns.bytes, 0);
    assert!(columns.take(&key, 25 * ROWS, 25 * ROWS));
    assert!(!columns.take(&key, 1, 25 * ROWS));
    columns.give_back(25 * ROWS);
    assert_eq!(columns.bytes, 0);
}
