use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::Token;
use serde_json::{Value, json};

use super::*;
use crate::schema::expression;

/// What a statement changes, as the server gets it.
pub(super) fn change(sql: &str, parameters: &[Value]) -> Value {
    let changing = read(sql, Given::Values(parameters, &[]))
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .unwrap_or_else(|| panic!("{sql} is of another kind"));
    serde_json::to_value(&changing.change).unwrap()
}

pub(super) fn refusal(sql: &str) -> String {
    match read(sql, Given::Values(&[], &[])) {
        Ok(Some(_)) => String::new(),
        Ok(None) => "another kind".to_string(),
        Err(error) => error.message().to_string(),
    }
}

#[test]
fn a_select_is_of_another_kind() {
    for sql in [
        "SELECT 1",
        "WITH w AS (SELECT 1) SELECT * FROM w",
        "VALUES (1)",
        "(SELECT 1)",
        "EXPLAIN SELECT 1",
        "-- INSERT INTO t VALUES (1)\nSELECT 1",
        "SHOW TABLES",
        "DESCRIBE t",
        "CREATE VIEW v AS SELECT 1",
        "DROP VIEW v",
        "",
    ] {
        assert_eq!(refusal(sql), "another kind", "{sql}");
    }
}

#[test]
fn rows_are_inserted_deleted_and_updated() {
    assert_eq!(
        change(
            "/* one */ insert into ns.\"T\" (a, b) values (1, $1);",
            &[json!("x")]
        ),
        json!({ "kind": "insert", "table": ["ns", "T"] })
    );
    for sql in [
        "INSERT INTO t SELECT * FROM u FOR VERSION AS OF 3",
        "INSERT INTO t (SELECT * FROM u)",
        "INSERT INTO t WITH w AS (SELECT 1) SELECT * FROM w",
    ] {
        assert_eq!(
            change(sql, &[]),
            json!({ "kind": "insert", "table": ["t"] })
        );
    }
    assert_eq!(
        change("DELETE FROM t", &[]),
        json!({ "kind": "delete", "table": ["t"], "predicate": "true" })
    );
    assert_eq!(
        change(
            "DELETE FROM a.t AS x WHERE x.id = 1 AND \"x\".\"b\" IN (1, 2)",
            &[]
        ),
        json!({
            "kind": "delete", "table": ["a", "t"], "predicate": "id = 1 AND `b` IN ( 1 , 2 )"
        })
    );
    assert_eq!(
        change(
            "UPDATE t SET a = t.a + 1, s.b = s.b || 'it''s' WHERE t.id = -1",
            &[]
        ),
        json!({
            "kind": "update",
            "table": ["t"],
            "updates": [["a", "a + 1"], ["s.b", "s . b || 'it''s'"]],
            "predicate": "id = - 1"
        })
    );
    assert_eq!(
        change("UPDATE t x SET x.a = NULL", &[]),
        json!({ "kind": "update", "table": ["t"], "updates": [["a", "NULL"]] })
    );
}

/// The tables that the rows of a statement come from.
fn sources(sql: &str, parameters: &[Value]) -> Vec<String> {
    let read = read(sql, Given::Values(parameters, &[])).unwrap().unwrap();
    let (statement, _) = read.rows.unwrap();
    let tables = statement.tables().unwrap().into_iter();
    tables.map(|table| table.name.join(".")).collect()
}

#[test]
fn rows_come_from_searches() {
    let vector = json!([1, 2]);
    let search = "vector_search('ns.t', 'v', $1, 3)";
    for sql in [
        format!("INSERT INTO u SELECT id FROM {search}"),
        format!("CREATE TABLE u AS SELECT id FROM {search} WHERE id > 1"),
        format!("CREATE OR REPLACE TABLE u AS (SELECT id FROM {search} AS s)"),
        format!("MERGE INTO u USING {search} AS s ON u.id = s.id WHEN NOT MATCHED THEN INSERT *"),
        format!(
            "MERGE INTO u USING {search} ON u.id = vector_search.id WHEN NOT MATCHED THEN INSERT *"
        ),
        format!(
            "MERGE INTO u USING (SELECT id FROM {search}) AS s ON u.id = s.id WHEN MATCHED THEN UPDATE SET *"
        ),
    ] {
        assert_eq!(
            sources(&sql, std::slice::from_ref(&vector)),
            ["ns.t"],
            "{sql}"
        );
    }
    let joined = "INSERT INTO u SELECT a.id FROM t a JOIN text_search('s', 'x') b ON a.id = b.id";
    assert_eq!(sources(joined, &[]), ["t", "s"]);
    for named in [
        "INSERT INTO text_search (a) VALUES (1)",
        "INSERT INTO text_search (a) SELECT a FROM t",
        "CREATE TABLE IF NOT EXISTS vector_search (a INT)",
        "CREATE TABLE hybrid_search (a INT)",
    ] {
        assert_eq!(refusal(named), "", "{named}");
    }
    for sql in [
        "INSERT INTO u VALUES (vector_search('t', 'v', [1]))",
        "INSERT INTO u vector_search('t', 'v', [1])",
        "INSERT INTO vector_search('t', 'v', [1]) VALUES (1)",
        "DELETE FROM vector_search('t', 'v', [1])",
        "DELETE FROM u WHERE text_search('t', 'x')",
        "UPDATE u SET a = vector_search('t', 'v', [1])",
        "DROP TABLE text_search('t', 'x')",
        "MERGE INTO u USING t ON u.id = t.id WHEN MATCHED AND text_search('t', 'x') THEN UPDATE SET *",
    ] {
        let refused = refusal(sql);
        assert_ne!(refused, "", "{sql}");
        assert!(!refused.contains('\u{1}'), "{sql}: {refused}");
    }
    let view =
        refusal("CREATE MATERIALIZED VIEW v AS SELECT id FROM text_search('t', 'x', k => 3)");
    assert!(view.contains("view cannot search"), "{view}");
}

/// A value of a parameter is one literal, whatever it contains.
#[test]
fn parameters_are_literals_of_conditions() {
    let predicate = |value: Value| {
        let deleted = change("DELETE FROM t WHERE a = $1 OR b = $1", &[value]);
        deleted["predicate"].as_str().unwrap().to_string()
    };
    for (value, literal) in [
        (json!(1), "1"),
        (json!(-1.5), "( - 1.5 )"),
        (json!(true), "TRUE"),
        (json!(null), "NULL"),
        (json!("it's"), "'it''s'"),
        (json!("it''s"), "'it''''s'"),
        (json!("\\' OR true --"), "'\\'' OR true --'"),
        (json!([-1, ["a", null]]), "[ - 1 , [ 'a' , NULL ] ]"),
    ] {
        let wanted = format!("a = {literal} OR b = {literal}");
        assert_eq!(predicate(value), wanted);
    }
    for text in [
        "'",
        "''",
        "\\",
        "\\'",
        "`\"$1",
        "x' OR 'a' = 'a",
        "\0",
        "-- \n",
        "é'",
    ] {
        let written = predicate(json!(text));
        let tokens = expression::tokenize(&GenericDialect, &written).unwrap();
        let texts: Vec<String> = tokens
            .into_iter()
            .filter_map(|token| match token {
                Token::SingleQuotedString(text) => Some(text),
                _ => None,
            })
            .collect();
        assert_eq!(texts, [text, text], "{written}");
    }
    let reads = |sql: &str, values: &[Value]| read(sql, Given::Values(values, &[])).is_ok();
    assert!(!reads("DELETE FROM t WHERE a = $1", &[]));
    assert!(!reads("DELETE FROM t WHERE a = 1", &[json!(1)]));
    assert!(!reads("DELETE FROM $1", &[json!("t")]));
    assert!(reads(
        "UPDATE t SET a = $2 WHERE b = $1",
        &[json!(1), json!(2)]
    ));
    assert_eq!(
        change("DELETE FROM t WHERE a = ?", &[json!(7)]),
        change("DELETE FROM t WHERE a = $1", &[json!(7)])
    );
}

#[test]
fn a_statement_without_values_has_a_number_of_parameters() {
    for (sql, parameters) in [
        ("DELETE FROM t WHERE a = ? AND b = ?", 2),
        ("INSERT INTO t VALUES ($1, $3)", 3),
        ("UPDATE t SET a = 1", 0),
        ("DROP TABLE t", 0),
    ] {
        let changing = read(sql, Given::Open).unwrap().unwrap();
        assert_eq!(changing.parameters, parameters, "{sql}");
    }
}

/// A literal of another form keeps its value, or is refused: it never ends early.
#[test]
fn literals_of_conditions_keep_their_values() {
    for (written, wanted) in [
        (r"E'x\' OR true OR a = \''", r"a = 'x'' OR true OR a = '''"),
        ("N'x'", "a = 'x'"),
        ("X'00fF'", "a = X'00fF'"),
    ] {
        let deleted = change(&format!("DELETE FROM t WHERE a = {written}"), &[]);
        assert_eq!(deleted["predicate"], wanted);
    }
    for literal in ["U&'\\0027'", "R'x'", "B'x'", "X'0g'", "$$x$$"] {
        assert_ne!(
            refusal(&format!("DELETE FROM t WHERE a = {literal}")),
            "",
            "{literal}"
        );
    }
}

/// A path loses the name of the table only once: a struct column may have the same name.
#[test]
fn a_struct_column_may_have_the_name_of_the_table() {
    for (condition, wanted) in [
        ("t.t.id = 50", "t . id = 50"),
        ("t.id = t.t.t", "id = t . t"),
        ("t.id = 50", "id = 50"),
        ("s.t.id = 50", "s . t . id = 50"),
    ] {
        let deleted = change(&format!("DELETE FROM t WHERE {condition}"), &[]);
        assert_eq!(deleted["predicate"], wanted, "{condition}");
    }
}

#[test]
fn a_merge_is_what_an_insert_can_merge() {
    assert_eq!(
        change(
            "MERGE INTO ns.t AS a USING (SELECT id, k, $1 AS x FROM u) AS s \
             ON (a.id = s.id) AND s.k = a.k \
             WHEN MATCHED AND s.x > a.x THEN UPDATE SET * \
             WHEN NOT MATCHED THEN INSERT * \
             WHEN NOT MATCHED BY SOURCE AND a.x < 3 THEN DELETE",
            &[json!(7)]
        ),
        json!({
            "kind": "merge",
            "table": ["ns", "t"],
            "on": ["id", "k"],
            "update": { "filter": "`source` . x > `target` . x" },
            "insert": true,
            "delete": { "filter": "x < 3" }
        })
    );
    assert_eq!(
        change(
            "MERGE INTO t USING u ON t.id = u.id WHEN NOT MATCHED BY TARGET THEN INSERT *",
            &[]
        ),
        json!({ "kind": "merge", "table": ["t"], "on": ["id"], "insert": true })
    );
    let begin = "MERGE INTO t USING u ON t.id = u.id";
    for (sql, wanted) in [
        (begin.to_string(), "WHEN"),
        (format!("{begin} WHEN MATCHED THEN DELETE"), "UPDATE SET *"),
        (
            format!("{begin} WHEN MATCHED THEN UPDATE SET a = u.a"),
            "UPDATE SET *",
        ),
        (
            format!("{begin} WHEN NOT MATCHED THEN INSERT (a) VALUES (u.a)"),
            "INSERT *",
        ),
        (
            format!("{begin} WHEN NOT MATCHED AND u.a > 1 THEN INSERT *"),
            "condition",
        ),
        (
            format!("{begin} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *"),
            "DELETE",
        ),
        (
            format!("{begin} WHEN MATCHED THEN UPDATE SET * WHEN MATCHED THEN UPDATE SET *"),
            "one WHEN MATCHED",
        ),
        (
            "MERGE INTO t USING u ON t.id = u.key WHEN MATCHED THEN UPDATE SET *".to_string(),
            "same name",
        ),
        (
            "MERGE INTO t USING u ON t.id < u.id WHEN MATCHED THEN UPDATE SET *".to_string(),
            "same name",
        ),
        (
            "MERGE INTO t USING ns.t ON t.id = t.id WHEN MATCHED THEN UPDATE SET *".to_string(),
            "alias",
        ),
        (
            "MERGE INTO t USING (SELECT 1 AS id) ON t.id = id WHEN MATCHED THEN UPDATE SET *"
                .to_string(),
            "alias",
        ),
    ] {
        assert!(refusal(&sql).contains(wanted), "{sql}: {}", refusal(&sql));
    }
}
