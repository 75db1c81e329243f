use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use datafusion::datasource::MemTable;
use serde_json::{Value, json};

use super::*;
use crate::sql::session;

fn tables(sql: &str) -> Result<Vec<Vec<String>>> {
    let tables = Statement::of_view(sql)?.tables()?;
    Ok(tables.into_iter().map(|table| table.name).collect())
}

#[test]
fn a_select_names_its_tables() {
    let names = |sql: &str| tables(sql).unwrap();
    assert_eq!(names("SELECT 1"), Vec::<Vec<String>>::new());
    assert_eq!(names("SELECT * FROM Items"), [["Items"]]);
    assert_eq!(
        names("select a.x from ns.a join `b` using (x)"),
        [
            vec!["b".to_string()],
            vec!["ns".to_string(), "a".to_string()],
        ]
    );
    assert_eq!(names(r#"SELECT * FROM "a$b$c" LIMIT 3"#), [["a$b$c"]]);
    assert_eq!(
        names("WITH w AS (SELECT * FROM t) SELECT * FROM w"),
        [["t"]]
    );
    assert_eq!(
        names("SELECT (SELECT max(x) FROM u) FROM t"),
        [["t"], ["u"]]
    );
}

#[test]
fn unsupported_statements_are_refused() {
    for sql in [
        "",
        "  ",
        "SELEC 1",
        "SELECT 1; SELECT 2",
        "INSERT INTO t VALUES (1)",
        "DELETE FROM t",
        "UPDATE t SET x = 1",
        "DROP TABLE t",
        "CREATE TABLE u AS SELECT * FROM t",
        "CREATE EXTERNAL TABLE u STORED AS CSV LOCATION '/etc/passwd'",
        "COPY t TO '/tmp/x'",
        "SET datafusion.execution.batch_size = 1",
        "EXPLAIN SELECT 1",
        "SHOW TABLES",
        "SELECT * FROM generate_series(1, 1000000000000)",
        "SELECT repeat('x', 1000000000)",
        "SELECT * FROM t -- all of it",
        "SELECT * FROM t WHERE id = $1",
        "PREPARE p AS SELECT 1",
        "SELECT * FROM \"\u{1}0\"",
    ] {
        assert!(tables(sql).is_err(), "{sql}");
    }
    for operation in ["UNION", "INTERSECT", "EXCEPT ALL", "MINUS"] {
        for part in ["VALUES (1)", "VALUE (1)", "TABLE t", "(SELECT 1)"] {
            let chain = vec![part; 2_000].join(&format!(" {operation} "));
            assert!(tables(&chain).is_err(), "{operation} {part}");
        }
    }
    let many = format!("SELECT * FROM t{}", ", t".repeat(100));
    assert!(tables(&many).is_err());
    let deep = vec!["SELECT 1"; 50_000 / 20].join(" UNION ALL ");
    assert!(tables(&deep).is_err());
    assert!(tables(&format!("SELECT 1{}", " ".repeat(100_000))).is_err());
}

fn refusal(sql: &str, parameters: &[Value]) -> String {
    Statement::new(sql, Given::Values(parameters, &[]))
        .and_then(|statement| statement.tables())
        .err()
        .map(|error| error.message().to_string())
        .unwrap_or_default()
}

fn named(sql: &str) -> Vec<(String, Option<At>)> {
    let tables = Statement::new(sql, Given::Values(&[], &[]))
        .unwrap()
        .tables()
        .unwrap();
    tables
        .into_iter()
        .map(|table| (table.name.join("."), table.at))
        .collect()
}

#[test]
fn versions_and_tags_stand_behind_a_table() {
    let at = |version| Some(At::Version(version));
    assert_eq!(
        named("SELECT t.x FROM t FOR VERSION AS OF 7"),
        [("t".to_string(), at(7))]
    );
    assert_eq!(
        named(
            "SELECT a.x FROM ns.t for version as of 7 a JOIN ns.t FOR VERSION AS OF 'old' AS b \
             ON a.x = b.x JOIN ns.t USING (x)"
        ),
        [
            ("ns.t".to_string(), None),
            ("ns.t".to_string(), Some(At::Tag("old".to_string()))),
            ("ns.t".to_string(), at(7)),
        ]
    );
    for sql in [
        "SELECT x FOR VERSION AS OF 7 FROM t",
        "SELECT x FROM t WHERE y FOR VERSION AS OF 7",
        "SELECT x FROM (SELECT 1 AS x) q FOR VERSION AS OF 7",
        "SELECT x FROM t WHERE y FOR TIMESTAMP AS OF '2026-01-01'",
        "SELECT \"a\0v1\" FROM t",
        "SELECT x FROM \"t\0v1\"",
    ] {
        assert_ne!(refusal(sql, &[]), "", "{sql}");
    }
    assert!(refusal("SELECT x FROM t FOR VERSION AS OF 1.5", &[]).contains("1.5"));
    for (text, millis) in [
        ("1970-01-01T00:00:01.5Z", 1_500),
        ("1970-01-01 02:00:01+02:00", 1_000),
        ("1970-01-02", 86_400_000),
        ("1969-12-31T23:59:59.9999Z", -1),
    ] {
        let sql = format!("SELECT x FROM t FOR TIMESTAMP AS OF '{text}' a");
        assert_eq!(named(&sql), [("t".to_string(), Some(At::Time(millis)))]);
    }
    for value in ["7", "'yesterday'", "now()", "'2300-01-01'"] {
        let sql = format!("SELECT x FROM t FOR TIMESTAMP AS OF {value}");
        assert!(refusal(&sql, &[]).contains("is no time"), "{value}");
    }
}

#[test]
fn more_than_three_names_are_one_namespace_and_a_table() {
    assert_eq!(
        named("SELECT t.x FROM a.b.c.t"),
        [("a$b$c.t".to_string(), None)]
    );
}

/// A table whose only row is a number.
fn one_row(number: i64) -> Arc<dyn TableProvider> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values([number]));
    let batch = RecordBatch::try_from_iter([("x", numbers)]).unwrap();
    Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap())
}

/// Plans a statement; each table has the number of the parts of its name.
async fn planned(context: SessionContext, sql: &str) -> Result<DataFrame> {
    let statement = Statement::new(sql, Given::Values(&[], &[]))?;
    let tables = statement.tables()?.into_iter().map(|name| {
        let parts = name.name.len() as i64;
        (name, one_row(parts))
    });
    let tables = tables.collect();
    statement.plan(&context, tables).await
}

#[tokio::test]
async fn a_name_and_the_same_name_in_the_empty_schema_may_be_two_tables() {
    for (sql, wanted) in [
        (
            r#"SELECT a.x AS a, b.x AS b FROM t a CROSS JOIN "".t b"#,
            [1, 2],
        ),
        (
            r#"SELECT t.x AS a, b.x AS b FROM t CROSS JOIN "".t b"#,
            [1, 2],
        ),
        (
            r#"SELECT a.x AS a, b.x AS b FROM ns.t a CROSS JOIN "".ns.t b"#,
            [2, 3],
        ),
    ] {
        let frame = planned(session::for_planning().unwrap(), sql);
        let batches = frame.await.unwrap().collect().await.unwrap();
        let batch = batches.iter().find(|batch| batch.num_rows() > 0).unwrap();
        let value = |at: usize| batch.column(at).as_primitive::<Int64Type>().value(0);
        assert_eq!([value(0), value(1)], wanted, "{sql}");
        // Workers have one place for both.
        let of_workers = planned(session::of_workers().unwrap(), sql).await;
        assert!(of_workers.is_err(), "{sql}");
    }
    let sql = "SELECT x FROM \"/\".t";
    let reserved = planned(session::for_planning().unwrap(), sql).await;
    let error = reserved.err().unwrap();
    assert!(error.message().contains("no namespace"), "{error}");
}

#[test]
fn a_table_without_an_alias_has_one_form_of_its_name() {
    for sql in [
        r#"SELECT * FROM t JOIN "".t USING (x)"#,
        r#"SELECT * FROM "".ns.t, ns.t"#,
        r#"SELECT x FROM t WHERE x IN (SELECT x FROM "".t)"#,
    ] {
        assert!(refusal(sql, &[]).contains("alias"), "{sql}");
    }
    for sql in [
        r#"SELECT * FROM t JOIN "".t AS a USING (x)"#,
        r#"SELECT * FROM t, "".u"#,
        r#"SELECT * FROM "".t"#,
    ] {
        assert_eq!(refusal(sql, &[]), "", "{sql}");
    }
}

#[test]
fn parameters_are_bound_as_values() {
    let bound = |sql: &str, parameters: &[Value]| {
        Statement::new(sql, Given::Values(parameters, &[]))
            .map(|statement| statement.parsed.to_string())
            .map_err(|error| error.message().to_string())
    };
    assert_eq!(
        bound(
            "SELECT $1, $2, $3, $4, $5, $1 FROM t LIMIT $6",
            &[
                json!("it's; DROP TABLE t"),
                json!(-9_223_372_036_854_775_808_i64),
                json!(1.5e300),
                json!(null),
                json!([1, -2.5, ["a"]]),
                json!(3)
            ]
        )
        .unwrap(),
        "SELECT 'it''s; DROP TABLE t', -9223372036854775808, 1.5e+300, NULL, \
         ARRAY[1, -2.5, ARRAY['a']], 'it''s; DROP TABLE t' FROM t LIMIT 3"
    );
    for (sql, parameters, wanted) in [
        ("SELECT $1", vec![], "$1"),
        ("SELECT $2", vec![json!(1)], "$2"),
        ("SELECT $1", vec![json!(1), json!(2)], "no `$2`"),
        ("SELECT 1", vec![json!(1)], "no `$1`"),
        ("SELECT $0", vec![json!(1)], "$0"),
        ("SELECT $name", vec![json!(1)], "$name"),
        ("SELECT ?", vec![], "$1"),
        ("SELECT ?, $1", vec![json!(1)], "one form"),
        ("SELECT $1", vec![json!({"a": 1})], "object"),
        ("SELECT repeat('x', $1)", vec![json!(1_000_000_000)], ""),
        ("SELECT * FROM $1", vec![json!("t")], ""),
    ] {
        let refused = refusal(sql, &parameters);
        assert!(
            !refused.is_empty() && refused.contains(wanted),
            "{sql}: {refused}"
        );
    }
    let long = json!("x".repeat(100_000));
    assert!(refusal("SELECT $1", &[long]).contains("bytes"));
    let lists = (0..60).fold(json!(1), |inner, _| json!([inner]));
    assert!(refusal("SELECT $1", &[lists]).contains("lists"));
}

#[test]
fn other_statements_name_what_does_it() {
    for (sql, wanted) in [
        ("TRUNCATE TABLE t", "DELETE FROM t"),
        ("CREATE VIEW v AS SELECT 1", "CREATE MATERIALIZED VIEW"),
        (
            "CREATE TEMPORARY TABLE t (a INT)",
            "CREATE [OR REPLACE] TABLE",
        ),
        ("DROP VIEW v", "DROP MATERIALIZED VIEW"),
        ("DROP DATABASE d", "DROP SCHEMA"),
        ("SHOW TABLES", "information_schema"),
        ("SET a = 1", "a statement is a SELECT"),
        ("COPY t TO '/tmp/x'", "a statement is a SELECT"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("EXPLAIN ANALYZE SELECT 1", "EXPLAIN"),
        ("EXPLAIN DELETE FROM t", "EXPLAIN takes a SELECT"),
        ("SELECT * FROM t TABLESAMPLE (10 PERCENT)", "TABLESAMPLE"),
        ("SELECT * FROM t FOR UPDATE", "FOR UPDATE"),
        ("SELECT * FROM read_csv('/etc/passwd')", "read_csv"),
    ] {
        let refused = refusal(sql, &[]);
        assert!(refused.contains(wanted), "{sql}: {refused}");
    }
    for sql in [
        "SELECT 1;",
        "SELECT 1 -- one",
        "/* one */ SELECT 1",
        "EXPLAIN SELECT 1",
        "EXPLAIN VERBOSE SELECT x FROM t",
        "VALUES (1)",
    ] {
        assert_eq!(refusal(sql, &[]), "", "{sql}");
    }
}

#[test]
fn a_search_with_unknown_values_is_not_described() {
    let described = |sql: &str| Statement::new(sql, Given::Open).unwrap().open_searches_of();
    let sql = "SELECT * FROM vector_search('t', 'v', ?, 3) WHERE id > ?";
    assert_eq!(described(sql), Some(2));
    let sql = "SELECT * FROM vector_search('t', 'v', [1, 2], 3) WHERE id > ?";
    assert_eq!(described(sql), None);
}
