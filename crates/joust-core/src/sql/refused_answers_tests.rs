//! Statements for which DataFusion gives wrong rows, and which joust refuses. The tables are those of
//! [`wrong_answers_tests`](super::wrong_answers_tests).

use super::wrong_answers_tests::rows;

#[tokio::test]
async fn statements_with_wrong_answers_are_refused() {
    for (sql, reason) in [
        ("SELECT a FROM t RIGHT JOIN u USING (a)", "coalesce"),
        ("SELECT a FROM t FULL JOIN u USING (a)", "coalesce"),
        ("SELECT a FROM t NATURAL FULL JOIN u", "coalesce"),
        (
            "SELECT 1 FROM (t RIGHT JOIN u USING (a)) CROSS JOIN t AS v",
            "coalesce",
        ),
        ("SELECT b FROM t PREWHERE b = 1", "PREWHERE"),
        (
            "SELECT b FROM t START WITH b = 1 CONNECT BY b = a",
            "CONNECT BY",
        ),
        ("SELECT b FROM t GROUP BY b WITH ROLLUP", "ROLLUP"),
        ("SELECT abs(b) FILTER (WHERE b > 2) AS x FROM t", "FILTER"),
        ("SELECT abs(DISTINCT b) AS x FROM t", "DISTINCT"),
        ("SELECT abs(b) OVER () AS x FROM t", "OVER"),
        ("SELECT b FROM t WHERE (a, b) <> (1, 1)", "each column"),
        (
            "SELECT b FROM t WHERE (a, b) NOT IN ((1, 1))",
            "each column",
        ),
        ("SELECT b FROM t WHERE ((a, b)) = (1, NULL)", "each column"),
        (
            "SELECT b FROM t WHERE a NOT IN (SELECT a FROM u) OR b = 100",
            "EXISTS",
        ),
        (
            "SELECT b FROM t WHERE (a IN (SELECT a FROM u)) IS NULL",
            "EXISTS",
        ),
        (
            "SELECT b FROM t WHERE NOT (b > 0 AND a IN (SELECT a FROM u))",
            "EXISTS",
        ),
        (
            "SELECT b FROM t WHERE a NOT IN (SELECT u.a FROM u WHERE u.d > t.b)",
            "EXISTS",
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.a = t.a)",
            "an aggregate",
        ),
        (
            "SELECT b FROM t WHERE 0 IN (SELECT count(*) FROM u WHERE u.a = t.a)",
            "an aggregate",
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a OFFSET 5)",
            "OFFSET",
        ),
        (
            "SELECT b FROM t WHERE 1 IN (SELECT row_number() OVER (ORDER BY d) FROM u WHERE u.a = t.a)",
            "a window",
        ),
        (
            "SELECT b FROM t WHERE (SELECT min(a) FROM u HAVING min(a) > 99) NOT IN (SELECT a FROM u) OR b = 1",
            "EXISTS",
        ),
        (
            "SELECT b FROM t WHERE 77 NOT IN (SELECT a FROM u)",
            "a column on its left",
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT 1 FROM t AS x JOIN t AS y ON x.a = y.b \
             WHERE y.a = t.a AND x.a <> t.b)",
            "confuses two columns `a`",
        ),
        (
            "SELECT b FROM t WHERE a IN (SELECT x.a FROM t AS x JOIN u AS y ON x.b = y.d WHERE y.a = t.a)",
            "confuses two columns `a`",
        ),
        (
            "SELECT t.b, n FROM t JOIN LATERAL (SELECT row_number() OVER (ORDER BY d) AS n FROM u WHERE u.a = t.a) AS q \
             ON true",
            "a window",
        ),
        (
            "SELECT (SELECT max(d) FROM u WHERE u.a = t.a HAVING count(*) = 0) AS n FROM t",
            "an aggregate",
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.a = t.a GROUP BY ROLLUP (u.d))",
            "ROLLUP",
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT 1 FROM u LEFT JOIN (SELECT * FROM t AS v WHERE v.b = t.a) AS v \
             ON u.a = v.b)",
            "an outer join",
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT 1 FROM (SELECT * FROM u WHERE u.a = t.a) AS x \
             JOIN (SELECT b FROM t AS v ORDER BY b LIMIT 1) AS q ON x.d = q.b)",
            "LIMIT",
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT a FROM u EXCEPT SELECT x.a FROM u AS x WHERE x.a = t.a)",
            "EXCEPT",
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT 1 FROM (SELECT x.a, y.d FROM t AS x JOIN u AS y ON x.b = y.d \
             WHERE y.a = t.a) AS q)",
            "confuses two columns `a`",
        ),
        (
            "SELECT (SELECT approx_distinct(d) FROM u WHERE u.a = t.a) AS n FROM t",
            "approx_distinct",
        ),
        (
            "SELECT t.b, m FROM t JOIN LATERAL (SELECT 5 AS m, count(*) AS n FROM u WHERE u.a = t.a) AS q ON true",
            "a constant",
        ),
        (
            "SELECT t.b, k FROM t JOIN LATERAL (SELECT DISTINCT 3 AS k FROM u WHERE u.a <> t.a) AS l ON true",
            "DISTINCT",
        ),
        (
            "SELECT n, count(*) AS k FROM (SELECT count(*) AS n, a FROM t GROUP BY a) AS q GROUP BY n, a",
            "first",
        ),
        (
            "SELECT b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND EXISTS (SELECT 1 FROM u AS v \
             WHERE v.a = u.d AND v.d = t.b))",
            "cannot plan",
        ),
        (
            "SELECT b FROM t WHERE a IS DISTINCT FROM 1 AND b = 2",
            "parentheses",
        ),
        (
            "SELECT b FROM t WHERE a IS NOT DISTINCT FROM 1 OR b = 2",
            "parentheses",
        ),
    ] {
        let error = rows(sql).await.err();
        let message = error.as_ref().map_or("", |error| error.message());
        assert!(message.contains(reason), "{sql}: {message}");
    }
}
