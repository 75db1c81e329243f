//! Statements for which DataFusion alone gives wrong rows, or would with a change of joust: their rows are those of the SQL
//! standard.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::util::display::array_value_to_string;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;

use super::merge_join::Planned;
use super::parameters::Given;
use super::session;
use super::statement::Statement;
use crate::error::Result;

type Column<'a> = (&'a str, &'a [Option<i64>]);

fn table(columns: &[Column<'_>]) -> Arc<dyn TableProvider> {
    let columns = columns.iter().map(|(name, values)| {
        let values: ArrayRef = Arc::new(Int64Array::from_iter(values.iter().copied()));
        (*name, values, true)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap())
}

/// `t(a, b)` is (1, 1), (2, 2), (NULL, 3), and `u(a, d)` is (1, 7), (NULL, 8), (9, 9).
fn named(name: &str) -> Arc<dyn TableProvider> {
    match name {
        "t" => table(&[
            ("a", &[Some(1), Some(2), None]),
            ("b", &[Some(1), Some(2), Some(3)]),
        ]),
        _ => table(&[
            ("a", &[Some(1), None, Some(9)]),
            ("d", &[Some(7), Some(8), Some(9)]),
        ]),
    }
}

/// The values of the first column in text.
pub async fn rows(sql: &str) -> Result<Vec<String>> {
    let context = session::for_planning()?;
    let statement = Statement::new(sql, Given::Values(&[], &[]))?;
    let tables = statement.tables()?.into_iter().map(|name| {
        let provider = named(name.name.last().unwrap());
        (name, provider)
    });
    let tables = tables.collect();
    let frame = statement.plan(&context, tables).await?;
    Planned::new(frame.clone()).await?;
    let batches = frame.collect().await?;
    let values = batches.iter().flat_map(|batch| {
        (0..batch.num_rows()).map(|row| array_value_to_string(batch.column(0), row).unwrap())
    });
    Ok(values.collect())
}

#[tokio::test]
async fn statements_like_them_have_the_right_answers() {
    for (sql, wanted) in [
        (
            "SELECT coalesce(t.a, u.a) AS x FROM t RIGHT JOIN u ON t.a = u.a ORDER BY d",
            vec!["1", "", "9"],
        ),
        (
            "SELECT a FROM t LEFT JOIN u USING (a) ORDER BY b",
            vec!["1", "2", ""],
        ),
        (
            "SELECT b FROM t WHERE a IN (SELECT a FROM u) OR b = 2 ORDER BY b",
            vec!["1", "2"],
        ),
        ("SELECT b FROM t WHERE a NOT IN (SELECT a FROM u)", vec![]),
        (
            "SELECT b FROM t WHERE a NOT IN (SELECT a FROM u WHERE a > 1) ORDER BY b",
            vec!["1", "2"],
        ),
        (
            "SELECT b FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a) ORDER BY b",
            vec!["2", "3"],
        ),
        (
            "SELECT b FROM t WHERE (SELECT count(*) FROM u WHERE u.a = t.a) = 0 ORDER BY b",
            vec!["2", "3"],
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT count(*) FROM u) ORDER BY b",
            vec!["1", "2", "3"],
        ),
        (
            "SELECT n FROM (SELECT 1 AS a, count(*) AS n FROM t) AS z WHERE a = 2",
            vec![],
        ),
        (
            "SELECT k FROM (SELECT 'x' AS k, max(b) AS n FROM t UNION ALL SELECT 'y', min(b) FROM t) AS z \
             WHERE k = 'y'",
            vec!["y"],
        ),
        (
            "SELECT n FROM (SELECT 1 AS a, count(*) AS n FROM t) AS z JOIN u ON z.a = 2 AND u.a = n",
            vec![],
        ),
        (
            "SELECT b FROM t WHERE b IN (SELECT n FROM (SELECT 1 AS a, count(*) AS n FROM u) AS z WHERE a = 2)",
            vec![],
        ),
        ("SELECT count(*) AS n FROM t HAVING count(*) > 3", vec![]),
        (
            "SELECT k FROM (SELECT 'x' AS k, a, count(*) AS n FROM t GROUP BY ROLLUP (a)) AS q WHERE k = 'y'",
            vec![],
        ),
        (
            "SELECT b FROM t WHERE 7 IN (SELECT 8 AS z FROM (SELECT max(a) AS m FROM u WHERE a > 99) AS q)",
            vec![],
        ),
        (
            "SELECT (SELECT count(u.d) FROM u, (SELECT 1 AS k, count(*) AS n FROM t) AS q WHERE q.k = 2 AND u.a = t.b) \
             AS n FROM t ORDER BY b",
            vec!["0", "0", "0"],
        ),
        (
            "SELECT 'x' AS k, count(*) AS n FROM t WHERE b > 9 GROUP BY 1",
            vec![],
        ),
        (
            "SELECT 'x' AS k, count(*) AS n FROM t GROUP BY 1",
            vec!["x"],
        ),
        (
            "SELECT count(*) AS n FROM t WHERE b > 9 GROUP BY coalesce(1, a)",
            vec![],
        ),
        (
            "SELECT count(DISTINCT 1) AS n, min(a) AS m FROM t WHERE b > 9",
            vec!["0"],
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT * FROM t AS x JOIN u ON x.b = u.a WHERE u.a = t.a) ORDER BY b",
            vec!["1"],
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT 1 FROM (SELECT a, row_number() OVER (ORDER BY d) AS n FROM u) AS q \
             WHERE n = 1 AND q.a = t.a)",
            vec!["1"],
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a LIMIT 1 OFFSET 0)",
            vec!["1"],
        ),
        (
            "SELECT b FROM t WHERE (SELECT 5 AS x FROM u WHERE d = 99) IS NULL ORDER BY b",
            vec!["1", "2", "3"],
        ),
        (
            "SELECT coalesce((SELECT count(*) FROM u WHERE u.a = t.a GROUP BY u.a), 0) AS n FROM t ORDER BY b",
            vec!["1", "0", "0"],
        ),
        (
            "SELECT sum(b) AS n FROM (SELECT b FROM t ORDER BY b DESC OFFSET 1) AS q",
            vec!["3"],
        ),
        (
            "SELECT max(b) AS m FROM t GROUP BY a ORDER BY m DESC LIMIT 2",
            vec!["3", "2"],
        ),
        (
            "SELECT min(a) AS m FROM t GROUP BY b ORDER BY m NULLS FIRST LIMIT 2",
            vec!["", "1"],
        ),
        (
            "SELECT b FROM t WHERE (a IS DISTINCT FROM 1) AND b < 3",
            vec!["2"],
        ),
        (
            "SELECT min(a) OVER (ORDER BY b ROWS BETWEEN CURRENT ROW AND CURRENT ROW) AS m FROM t ORDER BY b",
            vec!["1", "2", ""],
        ),
        (
            "SELECT max(a) FILTER (WHERE b = 1) OVER (ORDER BY b ROWS BETWEEN CURRENT ROW AND CURRENT ROW) AS m FROM t \
             ORDER BY b",
            vec!["1", "", ""],
        ),
        (
            "SELECT count(*) AS n FROM t GROUP BY ROLLUP (a) ORDER BY n",
            vec!["1", "1", "1", "3"],
        ),
        (
            "SELECT count(*) AS n, b > 1 AS k FROM t GROUP BY b > 1 ORDER BY n, k",
            vec!["1", "2"],
        ),
        (
            "SELECT k FROM (SELECT count(*) AS n, b AS k FROM t GROUP BY b ORDER BY n DESC, k DESC LIMIT 2) AS q \
             ORDER BY k",
            vec!["2", "3"],
        ),
        (
            "SELECT DISTINCT n FROM (SELECT count(*) AS n, a FROM t GROUP BY a) AS q",
            vec!["1"],
        ),
        (
            "SELECT DISTINCT q.a FROM u JOIN (SELECT a, min(b) AS m FROM t GROUP BY a) AS q ON q.m < u.d ORDER BY a",
            vec!["1", "2", ""],
        ),
        (
            "SELECT n, count(*) AS k FROM (SELECT a, count(*) AS n FROM t GROUP BY a) AS q GROUP BY n",
            vec!["1"],
        ),
        (
            "SELECT b FROM t WHERE NOT (a IN (SELECT a FROM u WHERE a > 1)) ORDER BY b",
            vec!["1", "2"],
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT x.b FROM t AS x JOIN u ON x.b = u.a WHERE u.a = t.a LIMIT 1)",
            vec!["1"],
        ),
        (
            "SELECT count(*) AS n FROM (SELECT DISTINCT 7 AS c, row_number() OVER (ORDER BY d) AS r FROM u) AS q",
            vec!["3"],
        ),
        ("SELECT abs(b) AS x FROM t WHERE b = 1", vec!["1"]),
        (
            "SELECT sum(DISTINCT b) FILTER (WHERE b > 1) AS x FROM t",
            vec!["5"],
        ),
    ] {
        assert_eq!(rows(sql).await.unwrap(), wanted, "{sql}");
    }
}

#[tokio::test]
async fn the_order_of_rows_does_not_matter_for_min_and_max_of_floats() {
    for (values, least, greatest) in [
        ("(1.0), ('NaN'), (2.0)", "1.0", "NaN"),
        ("('NaN'), (1.0), (2.0)", "1.0", "NaN"),
        ("(2.0), (1.0), ('NaN')", "1.0", "NaN"),
        ("(NULL), ('NaN')", "NaN", "NaN"),
        ("('-inf'), (NULL)", "-inf", "-inf"),
        ("('inf'), ('inf')", "inf", "inf"),
        ("(NULL), (NULL)", "", ""),
    ] {
        for float in ["FLOAT", "DOUBLE"] {
            let from = format!(
                "(SELECT 1 AS k, CAST(CAST(column1 AS VARCHAR) AS {float}) AS x FROM (VALUES {values}) AS v)"
            );
            for (function, wanted) in [("min", least), ("max", greatest)] {
                for sql in [
                    format!("SELECT {function}(x) AS m FROM {from} AS w GROUP BY k"),
                    format!("SELECT {function}(x) AS m FROM {from} AS w"),
                    format!(
                        "SELECT m FROM (SELECT {function}(x) OVER (ORDER BY k) AS m FROM {from} AS w) AS o LIMIT 1"
                    ),
                ] {
                    assert_eq!(rows(&sql).await.unwrap(), [wanted], "{sql}");
                }
            }
        }
    }
}

/// Each of the partitions of a UNION has its own constant.
#[tokio::test]
async fn a_limit_takes_the_first_rows_of_all_parts_of_a_union() {
    for _ in 0..20 {
        for (sql, wanted) in [
            (
                "SELECT 'a' AS k, b FROM t UNION ALL SELECT 'b', d FROM u ORDER BY k DESC, b LIMIT 3",
                ["b", "b", "b"],
            ),
            (
                "SELECT 1 AS k, b FROM t WHERE b = 3 UNION ALL SELECT 2, d FROM u ORDER BY k, b LIMIT 3",
                ["1", "2", "2"],
            ),
        ] {
            assert_eq!(rows(sql).await.unwrap(), wanted, "{sql}");
        }
    }
}
