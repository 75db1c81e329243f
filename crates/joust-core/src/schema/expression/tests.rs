use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::keywords::ALL_KEYWORDS;
use proptest::prelude::*;

use super::{Expression, Tree, parse, tokens, whole};

fn refusal(sql: &str) -> String {
    match whole(sql) {
        Ok(_) => String::new(),
        Err(error) => error.message().to_string(),
    }
}

fn is_refused(sql: &str) -> bool {
    !refusal(sql).is_empty()
}

fn accepted(sql: &str) {
    assert_eq!(
        refusal(sql),
        "",
        "{}",
        sql.chars().take(200).collect::<String>()
    );
}

/// The tree that Lance's planner gets for a text.
fn tree(sql: &str) -> Option<Tree> {
    let tokens = tokens::read(sql).ok()?;
    parse(tokens).ok()
}

/// The same without the outer parentheses.
fn inner(tree: &Tree) -> Option<&Expr> {
    match &tree.0 {
        Expr::Nested(inner) => Some(inner),
        _ => None,
    }
}

#[test]
fn common_expressions_are_accepted() {
    for sql in [
        "id = 7",
        "id == 7",
        "id IN (1, 2, 3) AND name LIKE 'it''s%' ESCAPE '!'",
        "NOT (a OR b) AND c IS NOT NULL AND d BETWEEN 1 AND 2 OR e NOT IN ('x')",
        "struct.field = 'x' AND `a b`.`c` > -1.5e3",
        "user = 'x' AND current_user != 'y'",
        "array_has_any(tags, ['a', 'b'])",
        "array_contains(tags, 'x') AND array_length(tags) > 2",
        "regexp_match(name, 'e[12]')",
        "regexp_match(name, 'e[12]') IS NOT NULL",
        "date '2020-01-01' < d AND ts >= timestamp '2020-01-01 00:00:00'",
        "ts > timestamp(3) '2020-01-01' AND d = CAST('2020-01-01' AS DATE)",
        "cast(x AS int) = 5 AND x::bigint = 6 AND try_cast(s AS decimal(10, 2)) > 1",
        "json_get_string(j, 'a') = 'x' AND json_extract(j, '$.a.b[0]') = 'y'",
        "json_exists(j, '$.a[?(@.b > 3)]')",
        "j = jsonb '{\"a\": [1, {\"b\": 2}]}'",
        "contains_tokens(text, 'a b') AND starts_with(name, 'x')",
        "st_contains(geo, other)",
        "upper(trim(name)) = 'X' OR lower(substr(name, 1, 2)) = 'x'",
        "name || ' ' || coalesce(last, '') = 'a b'",
        "replace(name, 'a', 'b') = 'x'",
        "concat(a, '-', b) = 'x-y'",
        "now() - interval '1 day' > ts",
        "data = X'0aFF'",
        "vector[1] > 0.5 AND tags[1] = 'x' AND s['key'] = 1",
        "is_valid(x)",
        "upper(CASE WHEN a THEN 'x' ELSE b END) = 'X'",
        "levenshtein(name, 'smith') < 3",
        "arrow_cast(x, 'Int64') = 5",
        "arrow_typeof(v) = 'FixedSizeBinary(16)'",
        "repeat(name, 3) = 'x' AND lpad(name, 10, '0') = 'y'",
        "id % 10 = 3",
        "true",
        "\"a text\" = name",
        "a IS DISTINCT FROM b",
        "1 << 2 = 4",
        "- - 1 = 1",
        "日本 = '日本' AND `é ` = 'é'",
        "s = '\\' AND t = '$1 -- ? ) /*'",
    ] {
        accepted(sql);
    }
}

#[test]
fn what_is_written_is_read_as_the_same_tree() {
    for sql in [
        "s = 'it''s' AND t = '\\''' OR u = '''''\\'",
        "`a``b` = \"x\"\"y\"",
        "a - -1 - - 2 = x.y.z[1]::int",
        "x = .5 AND y = 5. AND z = 1e10 AND a.b = 0x1F",
        "a.`b c`._d = X'00'",
        "user = 1",
        "id = -9223372036854775808 OR id IN (-9223372036854775808, 1 - 9223372036854775808)",
    ] {
        let first = tree(sql).unwrap();
        let written = whole(sql).unwrap();
        let again = tree(&written).unwrap();
        assert_eq!(inner(&again), Some(&first.0), "{sql}: {written}");
    }
}

#[test]
fn what_lance_would_misread_is_refused() {
    for text in [
        "",
        " ",
        ")",
        "(",
        "'",
        "`é",
        "\u{0}",
        "日本 + ",
        "id = 3) OR (true",
        "id = 3 garbage",
        "id = 3 AN x = 1",
        "id = 3; DROP TABLE t",
        "id = 3 LIMIT 1",
        "1, 2",
        "id AS x",
        "id = $1",
        "id = ?",
        "id = :x",
        "id = 3 -- all",
        "1 /* x */",
        "id IN (SELECT 1)",
        "EXISTS (SELECT 1)",
        "(SELECT 1) = 1",
        "s = N'x'",
        "s = B'1'",
        "s = $$x$$",
        "s = E'x'",
        "s = X'0g'",
        "count(id) = 3",
        "sum(id) OVER () = 3",
        "no_such(id)",
        "s.concat(a, b) = 'x'",
        "f(a => 1)",
        "is_valid()",
        "array_transform(a, x -> x)",
        "a IS DISTINCT FROM true AND id = 5",
        "a IS NOT DISTINCT FROM b OR id = 5",
        "*",
    ] {
        assert!(is_refused(text), "{text}");
    }
}

#[test]
fn escapes_hide_nothing() {
    for hidden in [
        "repeat(s, 1000000000) = 'x'",
        "no_such(s)",
        "id = 1 -- x",
        "length(array_repeat('x', 1000000000)) = 1",
    ] {
        for text in [
            format!("X'\\'' IS NULL AND {hidden} AND X'\\'' IS NULL"),
            format!("x'\\'' IS NULL AND {hidden} AND x'\\'' IS NULL"),
            format!("E'\\'' = s AND {hidden} AND E'\\'' = s"),
            format!("s = '\\' AND {hidden} AND s = '\\'"),
            format!("s = \"\\\" AND {hidden} AND s = \"\\\""),
            format!("`\\` IS NULL AND {hidden} AND `\\` IS NULL"),
        ] {
            assert!(is_refused(&text), "{text}");
        }
    }
}

#[test]
fn functions_that_ask_for_any_memory_or_time_are_refused() {
    let long = "x".repeat(9_000);
    for greedy in [
        "repeat(s, 1000000000) = 'x'".to_string(),
        "REPEAT ('a', 1000000000) = s".to_string(),
        "`repeat`(s, 100000) = 'x'".to_string(),
        "repeat(s, n) = 'x'".to_string(),
        "lpad(s, 1000000000, 'x') = 'x'".to_string(),
        "rpad(s, n) = 'x'".to_string(),
        "array_length(range(1, 1000000000)) = 1".to_string(),
        "array_length(generate_series(1, 10)) = 1".to_string(),
        "array_length(array_repeat(s, 1000000000)) = 1".to_string(),
        "array_length(array_resize([1], 1000000000)) = 1".to_string(),
        "length(repeat(repeat(repeat(repeat(s, 50), 50), 50), 50)) = 1".to_string(),
        format!("replace(s, 'e', '{long}') = 'x'"),
        "replace(s, 'e', s) = 'x'".to_string(),
        "replace(replace(replace(s, 'a', 'aaaaaaaa'), 'a', 'aaaaaaaa'), 'a', 'aaaaaaaa') = 'x'"
            .to_string(),
        format!("regexp_replace(s, '.', '{long}', 'g') = 'x'"),
        "regexp_replace(s, p, 'x') = 'x'".to_string(),
        "s ~ p".to_string(),
        format!("s || '{long}' = 'x'"),
        format!("s || '{}' = 'x'", "x".repeat(6_000_000)),
        format!("concat(s, '{long}') = 'x'"),
        format!("s{} = 'x'", " || s".repeat(100)),
        format!("concat({}) = 'x'", ["s"; 100].join(", ")),
        "arrow_cast(x, 'FixedSizeBinary(2147483647)') IS NULL".to_string(),
        "arrow_cast(x, t) IS NULL".to_string(),
        "CAST(x AS DECIMAL(300, 2)) = 1".to_string(),
        "upper(CAST(x AS INT[2147483647])) = 1".to_string(),
        format!("levenshtein('{0}', '{0}') = 1", "x".repeat(60_000)),
        format!("levenshtein('{0}', '{0}') = 1", "x".repeat(1_000)),
        "levenshtein(a, b) = 1".to_string(),
        format!("array_has_any(a, [{}])", vec!["1"; 10_000].join(", ")),
        format!("to_char(d, '{}') = 'x'", "%A".repeat(20_000)),
        format!(
            "jsonb '{}{}' = jsonb '1'",
            "[".repeat(1_000_000),
            "]".repeat(1_000_000)
        ),
        format!("jsonb '{}{}' = jsonb '1'", "[".repeat(100), "]".repeat(100)),
        format!("'{}'::jsonb = j", "{\"a\":".repeat(100)),
        format!("CAST('{}' AS JSONB) = j", "[".repeat(100)),
        format!("json_exists(j, '$?{}')", "(".repeat(100)),
        "json_exists(j, p)".to_string(),
        format!("json_extract(j, '$?{}') = 'x'", "(".repeat(10_000)),
        format!("array_to_string(tags, '{long}') = 'x'"),
        "array_to_string(tags, s) = 'x'".to_string(),
    ] {
        assert!(is_refused(&greedy), "{}", &greedy[..60.min(greedy.len())]);
    }
}

#[test]
fn long_chains_are_refused_however_they_are_written() {
    for deep in [
        format!("n{} = 1", "+1".repeat(600)),
        format!("n{} = 1", "+1".repeat(200)),
        format!("s{} = 'x'", " || 'a'".repeat(600)),
        format!(
            "{}n{} = 1",
            "(".repeat(40),
            "+1+1+1+1+1+1+1+1+1+1+1+1+1)".repeat(40)
        ),
        format!("n{}", "+1+1+1+1+1+1+1+1+1+1+1+1+(1".repeat(45)),
        format!("a{}", " = b".repeat(600)),
        format!("n{} = 1", "::int".repeat(600)),
        format!("true{}", " is true".repeat(600)),
        format!("n{}", " is null".repeat(600)),
        format!("n{}", " between 1 and 2".repeat(600)),
        format!("{}n", "not ".repeat(600)),
        format!("{}n = 1", "- ".repeat(600)),
        format!("{}n = 1", "~".repeat(600)),
        format!("{}'1 day'", "interval ".repeat(600)),
        format!("n{}", "[1]".repeat(600)),
        format!("n{} = 1", ".a".repeat(600)),
        format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("x = {}1{}", "[".repeat(100), "]".repeat(100)),
        format!(
            "{}1{}",
            "case when ".repeat(1_000),
            " then 1 end".repeat(1_000)
        ),
        format!(
            "CAST(x AS {}INT{})",
            "ARRAY<".repeat(100_000),
            ">".repeat(100_000)
        ),
        format!(
            "CAST(x AS {}INT{})",
            "NULLABLE(".repeat(100_000),
            ")".repeat(100_000)
        ),
        format!("CAST(x AS INT{})", "[]".repeat(100_000)),
        format!("{}INT{} '1'", "ARRAY<".repeat(100_000), ">".repeat(100_000)),
        format!(
            "{}INT{} '1'",
            "STRUCT<a ".repeat(100_000),
            ">".repeat(100_000)
        ),
        format!("upper({}) = 'x'", vec!["a"; 5_000].join(" OR ")),
    ] {
        assert!(is_refused(&deep), "{}", &deep[..60]);
    }
}

#[test]
fn wide_expressions_are_fine() {
    let numbers = |count: i32| {
        (0..count)
            .map(|n| format!("-{n}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    for wide in [
        format!("n IN ({})", numbers(50_000)),
        format!("array_has_any(n, [{}])", numbers(1_000)),
        format!(
            "array_distance(v, [{}]) < 1",
            vec!["-0.125"; 1_536].join(", ")
        ),
        vec!["(n = 1 AND m < 2 + 3)"; 5_000].join(" OR "),
        vec!["n = 1"; 10_000].join(" or "),
        format!("NOT ({})", vec!["n = 1"; 10_000].join(" or ")),
        format!("s = '{}'", "+".repeat(60_000)),
        "n + 1 = 2 AND s LIKE 'it''s%'".to_string(),
        format!("n{} = 1", "+1".repeat(100)),
        format!("{}n = 1{}", "(".repeat(40), ")".repeat(40)),
    ] {
        accepted(&wide);
    }
}

#[test]
fn long_lists_of_values_are_read_in_part() {
    let kept = |sql: &str| tokens::write(&tokens::condensed(tokens::read(sql).unwrap()));
    assert_eq!(
        kept("a IN (1, -2, 'x', 3) AND b"),
        "( a IN ( 1 , 3 ) AND b )"
    );
    for whole in [
        "a IN (1, - - 2, 3 + 4, x, (5), upper('y'), 6)",
        "concat(a, 'x', 'y', b)",
        "[1, 2, 3]",
    ] {
        assert_eq!(kept(whole), tokens::write(&tokens::read(whole).unwrap()));
    }
    assert!(is_refused("a IN (1, 2 3, 4)"));
    assert!(is_refused("a IN (1, 2, 3"));
    assert!(is_refused("a IN (1, , 3)"));
}

#[test]
fn too_many_conditions_are_refused_with_advice() {
    let text = refusal(&vec!["n = 1"; 30_000].join(" OR "));
    assert!(text.contains("IN ("), "{text}");
    assert!(refusal(&format!("s = '{}'", "x".repeat(70_000))).contains("65536"));
}

#[test]
fn what_changes_from_one_time_to_another_is_not_immutable() {
    for sql in [
        "ts < now()",
        "d = CURRENT_DATE",
        "x > RANDOM()",
        "s = uuid()",
        "upper(a) = 'x' OR rand() > 0.5",
        "current_timestamp > ts",
        "d < today()",
    ] {
        assert!(!Expression::new(sql).unwrap().is_immutable(), "{sql}");
    }
    for sql in ["ts < 5", "now = 5", "s = 'now()'", "upper(s) = 'X'"] {
        assert!(Expression::new(sql).unwrap().is_immutable(), "{sql}");
    }
}

#[test]
fn keywords_as_columns_are_read_as_lance_reads_them() {
    for keyword in ALL_KEYWORDS {
        let _ = whole(&format!("{keyword} = 1"));
        accepted(&format!("`{keyword}` = 1"));
    }
}

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "=", "<", ">", "<=", "!=", "+", "-", "*", "/", "%", "||", "::", ".", ",", "~", " ", "==", "'",
    "''", "\\", "\\'", "`", "\"", "X'", "E'", "--", "/*", ";", "$1", "?", "1", "-1", "1.5", ".5",
    "1e9", "0x1f", "'a'", "'it''s'", "`a b`", "\"x\"", "id", "a.b", "upper(", "coalesce(", "CAST(",
    " AS INT)", "date '2020-01-01'", "interval '1 day'", "NOT ", " IS NULL", " AND ", " OR ",
    " BETWEEN ", " IN (", " LIKE 'x%'", "CASE WHEN ", " THEN ", " END", "_x", "é", "\u{a0}", "\n",
];

/// Random concatenations of SQL fragments.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("(".to_string()),
        Just(")".to_string()),
        Just("[".to_string()),
        Just("]".to_string()),
        prop::sample::select(ALL_KEYWORDS).prop_map(|word| format!(" {word} ")),
        prop::sample::select(PIECES).prop_map(str::to_string),
        "[ -~]{0,6}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_refused_or_means_the_same_when_it_is_written(text in pieces()) {
        if let Ok(written) = whole(&text) {
            let first = tree(&text);
            let again = tree(&written);
            prop_assert!(first.is_some() && again.is_some(), "{text} {written}");
            let (first, again) = (first.unwrap(), again.unwrap());
            prop_assert_eq!(inner(&again), Some(&first.0));
        }
    }
}
