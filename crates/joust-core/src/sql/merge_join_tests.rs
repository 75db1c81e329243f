use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;

use super::*;

/// A table of pairs: `id` and a text.
fn table(ids: impl Iterator<Item = Option<i64>>) -> MemTable {
    let ids: Vec<Option<i64>> = ids.collect();
    let batches: Vec<RecordBatch> = ids
        .chunks(10_000)
        .map(|ids| {
            let texts = ids.iter().map(|id| format!("{:0>60}", id.unwrap_or(-1)));
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
            let ids: ArrayRef = Arc::new(Int64Array::from(ids.to_vec()));
            RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true)])
                .unwrap()
        })
        .collect();
    MemTable::try_new(batches[0].schema(), vec![batches]).unwrap()
}

/// The rows as sorted lines: those with equal keys have any order.
async fn shown(frame: DataFrame) -> Vec<String> {
    let rows = frame.collect().await.unwrap();
    let text = pretty_format_batches(&rows).unwrap().to_string();
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    lines.sort();
    lines
}

fn register(context: &SessionContext) {
    let tables = [
        ("a", [Some(1), Some(2), None, Some(2), Some(4)]),
        ("b", [Some(2), Some(3), None, Some(4), Some(2)]),
    ];
    for (name, ids) in tables {
        let table = Arc::new(table(ids.into_iter()));
        context.register_table(name, table).unwrap();
    }
}

fn small() -> SessionContext {
    let context = session::for_planning().unwrap();
    register(&context);
    context
}

#[tokio::test]
async fn a_merge_join_gives_the_rows_of_a_hash_join() {
    let context = small();
    for (join, is_changed) in [
        ("a JOIN b ON a.id = b.id", true),
        ("a JOIN b ON a.id = b.id AND a.text = b.text", true),
        ("a LEFT JOIN b ON a.id = b.id", true),
        ("a RIGHT JOIN b ON a.id = b.id", true),
        ("a FULL JOIN b ON a.id = b.id", true),
        ("a LEFT JOIN b ON a.id = b.id AND a.id + b.id > 4", true),
        ("a JOIN b ON a.id IS NOT DISTINCT FROM b.id", true),
        ("a WHERE id IN (SELECT id FROM b)", true),
        ("a WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.id)", true),
        (
            "a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.id = a.id)",
            true,
        ),
        ("a WHERE id IN (SELECT id FROM b) OR text < 'x'", true),
        (
            "a JOIN (SELECT id FROM b ORDER BY id LIMIT 3) c ON a.id = c.id",
            true,
        ),
        (
            "a JOIN (SELECT 2 AS id UNION ALL SELECT 4) c ON a.id = c.id",
            true,
        ),
        // Rows of NOT IN depend on the nulls of the other side.
        ("a WHERE id NOT IN (SELECT id FROM b)", false),
        (
            "a WHERE id NOT IN (SELECT id FROM b WHERE id IS NOT NULL)",
            false,
        ),
    ] {
        let sql = format!("SELECT * FROM {join}");
        let frame = context.sql(&sql).await.unwrap();
        let merged = with_merge_joins(frame.clone());
        let plan = merged.clone().create_physical_plan().await.unwrap();
        assert_eq!(has_hash_join(&plan).unwrap(), !is_changed, "{join}");
        assert_eq!(shown(merged).await, shown(frame).await, "{join}");
    }
}

/// The number of rows, in 16 MiB.
async fn counted(sql: &str, disk: u64) -> Result<i64> {
    const ROWS: i64 = 200_000;
    let context = session::for_planning()?;
    let ids = (0..ROWS).map(|id| Some(id * 7_919 % ROWS));
    context.register_table("big", Arc::new(table(ids))).unwrap();
    let frame = context.sql(sql).await.unwrap();
    let query = Planned::new(frame).await?;
    let mut rows = query.rows(16 << 20, disk, &ReaderDropped::default())?;
    let mut count = 0;
    while let Some(batch) = rows.next().await {
        count += i64::try_from(batch.map_err(Error::of_input)?.num_rows()).unwrap();
    }
    Ok(count)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_that_does_not_fit_spills() {
    for (sql, count) in [
        (
            "SELECT a.text, b.text FROM big a JOIN big b ON a.id = b.id",
            200_000,
        ),
        (
            "SELECT a.text FROM big a JOIN big b ON a.id = b.id JOIN big c ON c.text = b.text WHERE a.id < 150000",
            150_000,
        ),
        (
            "SELECT a.text FROM big a JOIN big b ON a.text = b.text \
             WHERE a.id IN (SELECT id FROM big GROUP BY id HAVING max(text) > '')",
            200_000,
        ),
    ] {
        assert_eq!(counted(sql, 1 << 30).await.ok(), Some(count), "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_without_temporary_files_fails() {
    let sql = "SELECT a.text, b.text FROM big a JOIN big b ON a.id = b.id";
    let error = counted(sql, 0).await.unwrap_err();
    assert!(error.message().contains("more memory"), "{error}");
}

#[tokio::test]
async fn a_merge_join_keeps_the_order_of_the_query() {
    let context = small();
    for sql in [
        "SELECT a.text, b.id FROM a JOIN b ON a.id = b.id ORDER BY b.id DESC, a.text",
        "SELECT a.id FROM (SELECT * FROM b ORDER BY text DESC LIMIT 4) b JOIN a ON a.id = b.id ORDER BY a.text DESC",
    ] {
        let frame = context.sql(sql).await.unwrap();
        let merged = with_merge_joins(frame.clone()).collect().await.unwrap();
        let hashed = frame.collect().await.unwrap();
        let [merged, hashed] =
            [merged, hashed].map(|rows| pretty_format_batches(&rows).unwrap().to_string());
        assert_eq!(merged, hashed, "{sql}");
    }
}

#[tokio::test]
async fn several_threads_use_merge_joins_except_for_not_in() {
    let context = session::new(4, 32 << 20, 0).unwrap();
    register(&context);
    for (sql, rows, is_hash) in [
        ("SELECT a.id FROM a JOIN b ON a.id = b.id", 5, false),
        // A null is among the ids of b.
        (
            "SELECT id FROM a WHERE id NOT IN (SELECT id FROM b)",
            0,
            true,
        ),
        (
            "SELECT id FROM a WHERE id NOT IN (SELECT id FROM b WHERE id > 1)",
            1,
            true,
        ),
    ] {
        let frame = context.sql(sql).await.unwrap();
        let plan = frame.clone().create_physical_plan().await.unwrap();
        assert_eq!(has_hash_join(&plan).unwrap(), is_hash, "{sql}");
        assert_eq!(frame.count().await.unwrap(), rows, "{sql}");
    }
}
