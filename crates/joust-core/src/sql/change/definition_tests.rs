use serde_json::json;

use super::tests::{change, refusal};

#[test]
fn tables_schemas_and_indexes_are_created_and_dropped() {
    for (sql, wanted) in [
        (
            "CREATE TABLE t AS SELECT 1 AS a",
            json!({ "kind": "create_table", "table": ["t"], "ifNotExists": false, "replace": false }),
        ),
        (
            "CREATE OR REPLACE TABLE ns.t (a INT NOT NULL, v FLOAT[3], w VECTOR(2), j JSON NULL)",
            json!({ "kind": "create_table", "table": ["ns", "t"], "ifNotExists": false, "replace": true }),
        ),
        (
            "DROP TABLE IF EXISTS a.b.c.t",
            json!({ "kind": "drop_table", "table": ["a", "b", "c", "t"], "ifExists": true }),
        ),
        (
            "CREATE SCHEMA IF NOT EXISTS a.b",
            json!({ "kind": "create_schema", "schema": ["a", "b"], "ifNotExists": true }),
        ),
        (
            "DROP SCHEMA a CASCADE",
            json!({ "kind": "drop_schema", "schema": ["a"], "ifExists": false, "cascade": true }),
        ),
        (
            "ALTER TABLE t ADD COLUMN a INT, b TEXT",
            json!({ "kind": "add_columns", "table": ["t"] }),
        ),
        (
            "ALTER TABLE t DROP COLUMN a, DROP COLUMN s.b",
            json!({ "kind": "drop_columns", "table": ["t"], "columns": ["a", "s.b"] }),
        ),
        (
            "ALTER TABLE t RENAME COLUMN a TO \"b c\"",
            json!({ "kind": "rename_column", "table": ["t"], "column": "a", "name": "b c" }),
        ),
        (
            "ALTER TABLE t ALTER COLUMN a TYPE BIGINT, ALTER s.b SET DATA TYPE FLOAT[3]",
            json!({
                "kind": "alter_columns", "table": ["t"], "alterations": [
                    { "path": "a", "data_type": { "type": "int64" } },
                    { "path": "s.b", "data_type": {
                        "type": "fixed_size_list", "length": 3,
                        "fields": [{ "name": "item", "type": { "type": "float" }, "nullable": true }]
                    } },
                ]
            }),
        ),
        (
            "ALTER TABLE t ALTER a SET NOT NULL, ALTER COLUMN b DROP NOT NULL",
            json!({
                "kind": "alter_columns", "table": ["t"], "alterations": [
                    { "path": "a", "nullable": false }, { "path": "b", "nullable": true },
                ]
            }),
        ),
        (
            "ALTER TABLE t RENAME TO ns.u",
            json!({ "kind": "rename_table", "table": ["t"], "name": ["ns", "u"] }),
        ),
        (
            "CREATE INDEX ON t USING ivf_pq (vector) WITH (num_partitions = 4, distance_type = 'cosine')",
            json!({
                "kind": "create_index", "table": ["t"], "column": "vector", "indexType": "IVF_PQ",
                "ifNotExists": false, "options": { "num_partitions": 4, "distance_type": "cosine" }
            }),
        ),
        (
            "CREATE INDEX IF NOT EXISTS i ON t (s.a) WITH (x = ['a', 'b'], y = -1.5, z = true)",
            json!({
                "kind": "create_index", "table": ["t"], "name": "i", "column": "s.a",
                "indexType": "BTREE", "ifNotExists": true,
                "options": { "x": ["a", "b"], "y": -1.5, "z": true }
            }),
        ),
        (
            "DROP INDEX i ON t",
            json!({ "kind": "drop_index", "table": ["t"], "name": "i", "ifExists": false }),
        ),
    ] {
        assert_eq!(change(sql, &[]), wanted, "{sql}");
    }
}

#[test]
fn views_keep_the_text_of_their_query() {
    let created = change(
        "CREATE MATERIALIZED VIEW \"a$b\".\"v\" WITH (auto_refresh_enabled = false, \
         auto_refresh_interval_seconds = 1.5) AS SELECT  'é' || x AS \"X\"\nFROM \"a$b\".\"t\" ; ",
        &[],
    );
    assert_eq!(
        created,
        json!({
            "kind": "create_view", "view": ["a$b", "v"], "replace": false, "ifNotExists": false,
            "query": "SELECT  'é' || x AS \"X\"\nFROM \"a$b\".\"t\"",
            "options": { "auto_refresh_enabled": false, "auto_refresh_interval_seconds": 1.5 }
        })
    );
    let replaced = change(
        "create or replace materialized view v as select x from t",
        &[],
    );
    assert_eq!(
        (&replaced["replace"], &replaced["query"]),
        (&json!(true), &json!("select x from t"))
    );
    for (sql, wanted) in [
        (
            "REFRESH MATERIALIZED VIEW \"v\" WITH (full = true)",
            json!({ "kind": "refresh_view", "view": ["v"], "options": { "full": true } }),
        ),
        (
            "DROP MATERIALIZED VIEW IF EXISTS \"v\"",
            json!({ "kind": "drop_view", "view": ["v"], "ifExists": true }),
        ),
        (
            "DESCRIBE MATERIALIZED VIEW \"v\"",
            json!({ "kind": "describe_view", "view": ["v"] }),
        ),
        (
            "SHOW MATERIALIZED VIEWS WHERE name > 'it''s' LIMIT 101",
            json!({ "kind": "show_views", "after": "it's", "limit": 101 }),
        ),
        (
            "SHOW MATERIALIZED VIEWS IN ns",
            json!({ "kind": "show_views", "schema": ["ns"] }),
        ),
    ] {
        assert_eq!(change(sql, &[]), wanted, "{sql}");
    }
}

/// Every clause that joust does not have is an error, not ignored.
#[test]
fn unsupported_and_incomplete_clauses_are_refused() {
    for sql in [
        "INSERT INTO t DEFAULT VALUES",
        "INSERT INTO t (a, a) VALUES (1, 2)",
        "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
        "INSERT INTO t VALUES (1) RETURNING a",
        "INSERT INTO t FOR VERSION AS OF 1 VALUES (1)",
        "INSERT INTO t VALUES (1); DROP TABLE t",
        "INSERT INTO t SELECT repeat('x', 1000000000)",
        "DELETE FROM t USING u WHERE t.a = u.a",
        "DELETE FROM t WHERE a = 1 LIMIT 1",
        "DELETE FROM t WHERE a = 1 RETURNING a",
        "DELETE FROM t WHERE a IN (SELECT a FROM u)",
        "DELETE FROM t, u",
        "DELETE FROM t WHERE",
        "DELETE FROM t WHERE a = 1) OR (true",
        "UPDATE t SET a = 1 FROM u",
        "UPDATE t SET (a, b) = (1, 2)",
        "UPDATE t SET a",
        "UPDATE t WHERE a = 1",
        "CREATE TABLE t",
        "CREATE TABLE t ()",
        "CREATE TABLE t (a INT PRIMARY KEY)",
        "CREATE TABLE t (a INT DEFAULT 1)",
        "CREATE TABLE t (a INT, PRIMARY KEY (a))",
        "CREATE TABLE t (a INT, a INT)",
        "CREATE TABLE t (a UUID)",
        "CREATE TABLE t (v VECTOR)",
        "CREATE TABLE t (v FLOAT[100000])",
        "CREATE TABLE t (\"a.b\" INT)",
        "CREATE TABLE t (a INT) PARTITION BY (a)",
        "CREATE OR REPLACE TABLE IF NOT EXISTS t AS SELECT 1",
        "CREATE TABLE t LIKE u",
        "DROP TABLE t, u",
        "DROP TABLE t CASCADE",
        "CREATE SCHEMA n AUTHORIZATION me",
        "ALTER TABLE t ADD COLUMN a INT NOT NULL",
        "ALTER TABLE t ALTER COLUMN a TYPE UUID",
        "ALTER TABLE t ALTER COLUMN a TYPE JSON",
        "ALTER TABLE t ALTER COLUMN a TYPE INT USING a + 1",
        "ALTER TABLE t ALTER COLUMN a TYPE INT, ALTER COLUMN a TYPE BIGINT",
        "ALTER TABLE t ALTER COLUMN a TYPE INT, ALTER COLUMN b SET NOT NULL",
        "ALTER TABLE t ALTER COLUMN a SET DEFAULT 1",
        "ALTER TABLE t ALTER COLUMN a",
        "ALTER TABLE t RENAME COLUMN a TO b.c",
        "CREATE INDEX i ON t (a, b)",
        "CREATE INDEX i ON t (a) WHERE a > 1",
        "CREATE INDEX i ON t (a) WITH (x = 1, x = 2)",
        "CREATE INDEX i ON t (a) WITH (x = now())",
        "CREATE MATERIALIZED VIEW v",
        "CREATE MATERIALIZED VIEW v AS DELETE FROM t",
        "CREATE MATERIALIZED VIEW v AS SELECT 1; DROP TABLE t",
        "CREATE MATERIALIZED VIEW v (a) AS SELECT 1",
        "CREATE MATERIALIZED VIEW v WITH (color = 'red') AS SELECT 1",
        "CREATE MATERIALIZED VIEW v AS SELECT 1 WITH NO DATA",
        "CREATE MATERIALIZED VIEW v AS SELECT $1",
        "REFRESH MATERIALIZED VIEW v WITH (src_version = 1)",
        "REFRESH MATERIALIZED VIEW CONCURRENTLY v",
        "SHOW MATERIALIZED VIEWS WHERE name = 'a'",
        "SHOW MATERIALIZED VIEWS LIMIT -1",
    ] {
        assert_ne!(refusal(sql), "", "{sql}");
    }
    let deep = format!(
        "DELETE FROM t WHERE {}true{}",
        "(".repeat(10_000),
        ")".repeat(10_000)
    );
    assert_ne!(refusal(&deep), "");
    let long = format!("INSERT INTO t VALUES ('{}')", "x".repeat(70_000));
    assert!(refusal(&long).contains("bytes"));
}
