use std::collections::HashSet;

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use serde_json::{Value, json};

use super::plan::{SearchPlan, with_searches};
use super::prefilter::{Relation, prefilters};
use super::*;
use crate::query::Query;
use crate::schema::expression::tokenize_statement;
use crate::sql::At;
use crate::sql::parameters::Given;
use crate::sql::statement::Statement;

/// The searches of a SELECT over `call`, and the number of its placeholders.
fn read(call: &str, values: &[Value]) -> Result<(Vec<Search>, usize)> {
    let sql = format!("SELECT * FROM {call} AS s");
    let tokens = tokenize_statement(&GenericDialect, &sql)?;
    let (tokens, parameters) = Parameters::read(tokens, Given::Values(values, &[]))?;
    let (tokens, searches, placeholders) = Searches::read(tokens, &parameters)?;
    assert!(!tokens.contains(&Token::LParen), "{tokens:?}");
    Ok((searches.all, placeholders))
}

fn query(call: &str, values: &[Value]) -> Query {
    let (mut searches, _) = read(call, values).unwrap();
    searches.remove(0).query
}

fn refusal(sql: &str, values: &[Value]) -> String {
    Statement::new(sql, Given::Values(values, &[]))
        .err()
        .map_or_else(String::new, |error| error.message().to_string())
}

#[test]
fn arguments_have_positions_or_names() {
    let by_position = query("vector_search('t', 'v', [1, -2.5, 1e-3], 7)", &[]);
    let by_name = query(
        "VECTOR_search(k => 7, vector => ARRAY[1, -2.5, +0.001], table => 't', vector_column => 'v')",
        &[],
    );
    for query in [&by_position, &by_name] {
        assert_eq!(format!("{:?}", query.vector), "One([1.0, -2.5, 0.001])");
        assert_eq!(query.vector_column.as_deref(), Some("v"));
        assert_eq!(query.k, 7);
        assert_eq!(query.with_row_id, Some(true));
    }
    let options = query(
        "vector_search('t', NULL, [1], nprobes => 3, refine_factor => 2, ef => 50, \
         distance_type => 'cosine', fast_search => true, lower_bound => NULL)",
        &[],
    );
    assert_eq!((options.k, options.vector_column), (10, None));
    assert_eq!((options.nprobes, options.refine_factor), (Some(3), Some(2)));
    assert_eq!((options.ef, options.lower_bound), (Some(50), None));
    assert_eq!(options.distance_type.as_deref(), Some("cosine"));
    assert_eq!(options.fast_search, Some(true));
}

#[test]
fn parameters_are_arguments() {
    let values = [json!([0.5, 2]), json!("t"), json!(3), json!("cat (\"dog")];
    let (searches, placeholders) = read(
        "hybrid_search($2, 'v', $1, $4, $3, method => 'weighted')",
        &values,
    )
    .unwrap();
    assert_eq!(placeholders, 4);
    let search = &searches[0];
    assert_eq!(search.table.name, ["t"]);
    assert_eq!(format!("{:?}", search.query.vector), "One([0.5, 2.0])");
    assert_eq!(search.query.k, 3);
    assert!(format!("{:?}", search.query.text).contains("cat (\\\"dog"));
    assert_eq!(
        refusal(
            "SELECT $1 AS n FROM vector_search('t', 'v', $2, $1) WHERE id > $1",
            &[json!(3), json!([1])]
        ),
        ""
    );
}

#[test]
fn a_table_is_named_as_in_a_from() {
    let named = |name: &str| {
        let (searches, _) = read("vector_search($1, 'v', [1])", &[json!(name)])?;
        Ok::<_, Error>((searches[0].table.name.clone(), searches[0].table.at.clone()))
    };
    let parts = |parts: &[&str]| parts.iter().map(ToString::to_string).collect::<Vec<_>>();
    for (name, expected, at) in [
        ("t", parts(&["t"]), None),
        (" a.b.t ", parts(&["a", "b", "t"]), None),
        ("a.b.c.t", parts(&["a$b$c", "t"]), None),
        ("\"a$b\".\"T 1\"", parts(&["a$b", "T 1"]), None),
        ("t FOR VERSION AS OF 7", parts(&["t"]), Some(At::Version(7))),
        (
            "n.t FOR VERSION AS OF 'first'",
            parts(&["n", "t"]),
            Some(At::Tag("first".to_string())),
        ),
    ] {
        assert_eq!(named(name).unwrap(), (expected, at), "{name}");
    }
    for name in [
        "",
        "t; SELECT 1",
        "t, u",
        "f(x)",
        "(SELECT 1)",
        "t AS u",
        "7",
    ] {
        assert!(named(name).is_err(), "{name}");
    }
    let statement = Statement::new(
        "SELECT * FROM t JOIN vector_search('t', 'v', [1]) a USING (id) JOIN text_search('u', 'x') b \
         USING (id)",
        Given::Values(&[], &[]),
    )
    .unwrap();
    let names = |tables: Vec<TableName>| {
        let names = tables.into_iter().map(|table| table.name.join("."));
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(statement.tables().unwrap()), ["t", "u"]);
    assert_eq!(names(statement.scanned().unwrap()), ["t"]);
}

#[test]
fn invalid_calls_are_refused() {
    let vector = |arguments: &str| format!("SELECT * FROM vector_search({arguments})");
    let many = vec![json!(vec![0.5; 70_000])];
    let twelve = ["vector_search('t', 'v', [1])"; 12].join(", ");
    for (sql, values, wanted) in [
        (vector(""), &[][..], "name of a table"),
        (vector("t, 'v', [1]"), &[], "`t` is none"),
        (vector("7, 'v', [1]"), &[], "name of a table"),
        (vector("'t', 'v'"), &[], "vector is missing"),
        (vector("'t', 'v', NULL"), &[], "vector is null"),
        (vector("'t', 'v', $1"), &[json!(null)], "vector is null"),
        (vector("'t', 'v', []"), &[], "not empty"),
        (vector("'t', 'v', [NULL]"), &[], "list of numbers"),
        (vector("'t', 'v', [1, 'a']"), &[], "list of numbers"),
        (vector("'t', 'v', [1, [2]]"), &[], "list of numbers"),
        (vector("'t', 'v', [[[1]]]"), &[], "lists of numbers"),
        (vector("'t', 'v', '[1]'"), &[], "list of numbers"),
        (vector("'t', 'v', [1e300]"), &[], "32-bit"),
        (vector("'t', 'v', $1"), &many, "65536"),
        (vector("'t', 'v', [1], 0"), &[], "from 1 to 10000"),
        (vector("'t', 'v', [1], -1"), &[], "from 1 to 10000"),
        (vector("'t', 'v', [1], 10001"), &[], "from 1 to 10000"),
        (vector("'t', 'v', [1], 1.5"), &[], "from 1 to 10000"),
        (vector("'t', 'v', [1], '5'"), &[], "from 1 to 10000"),
        (vector("'t', 'v', [1], 5, 'l2'"), &[], "need no name"),
        (vector("'t', 'v', [1], 1 + 1"), &[], "constants"),
        (vector("'t', 'v', [sqrt(2)], 1"), &[], "constants"),
        (vector("'t', 'v', (SELECT v FROM t), 1"), &[], "constants"),
        (vector("'t', 'v', [1], k => 1, k => 1"), &[], "twice"),
        (vector("'t', 'v', [1], 3, k => 1"), &[], "twice"),
        (vector("'t', k => 1, [1]"), &[], "without a name"),
        (
            vector("'t', 'v', [1], probes => 1"),
            &[],
            "no argument `probes`",
        ),
        (
            vector("'t', 'v', [1], filter => 'a'"),
            &[],
            "no argument `filter`",
        ),
        (vector("'t', 'v', [1], nprobes => 'x'"), &[], "nprobes"),
        (
            vector("'t', 'v', [1], search_effort => 2"),
            &[],
            "between 0 and 1",
        ),
        (
            vector("'t', 'v', [1]").replace(')', ""),
            &[],
            "closing parenthesis",
        ),
        (
            format!("SELECT * FROM {twelve}"),
            &[],
            "more than 8 searches",
        ),
        ("SELECT * FROM text_search('t')".to_string(), &[], "words"),
        (
            "SELECT * FROM text_search('t', 7)".to_string(),
            &[],
            "`query` is a text",
        ),
        (
            "SELECT * FROM text_search('t', 'x', 3, [1])".to_string(),
            &[],
            "list of texts",
        ),
        (
            "SELECT * FROM hybrid_search('t', 'v', [1], 'x', method => 'best')".to_string(),
            &[],
            "no method `best`",
        ),
        (
            "SELECT vector_search('t', 'v', [1])".to_string(),
            &[],
            "a search is a table",
        ),
        (
            "SELECT * FROM vector_search('t', 'v', [1]) AS s(a, b)".to_string(),
            &[],
            "list of columns",
        ),
        (
            "SELECT * FROM (vector_search('t', 'v', [1]) CROSS JOIN u) AS s".to_string(),
            &[],
            "alias inside",
        ),
        (
            "SELECT * FROM ns.vector_search('t', 'v', [1])".to_string(),
            &[],
            "not available",
        ),
        ("SELECT * FROM \"\u{1}0\"".to_string(), &[], "code 1"),
        (
            "SELECT * FROM vector_search('t', 'v', [1]) FOR VERSION AS OF 7".to_string(),
            &[],
            "in the text with the name",
        ),
    ] {
        let message = refusal(&sql, values);
        assert!(message.contains(wanted), "{sql:.80}: {message}");
    }
    assert!(Statement::of_view("SELECT * FROM vector_search('t', 'v', [1])").is_err());
}

#[test]
fn deep_and_long_arguments_are_read_without_recursion() {
    let nested = format!(
        "SELECT * FROM vector_search('t', 'v', {}1{})",
        "[".repeat(30_000),
        "]".repeat(30_000)
    );
    assert!(refusal(&nested, &[]).contains("lists of numbers"));
    let arrows = format!("SELECT * FROM vector_search({})", "k => ".repeat(10_000));
    assert!(refusal(&arrows, &[]).contains("constants"));
}

/// The restrictions of the searches of a statement. Each has the columns `id`, `year`, `meta`.
fn restrictions(sql: &str) -> Vec<Option<String>> {
    let tokens = tokenize_statement(&GenericDialect, sql).unwrap();
    let (tokens, parameters) = Parameters::read(tokens, Given::Values(&[], &[])).unwrap();
    let (tokens, mut searches, _) = Searches::read(tokens, &parameters).unwrap();
    let mut ast = Parser::new(&GenericDialect)
        .with_tokens(tokens)
        .parse_statement()
        .unwrap();
    searches.place(&mut ast).unwrap();
    let relations: Vec<Relation> = searches
        .all
        .iter()
        .map(|search| Relation {
            alias: search.alias.clone(),
            columns: HashSet::from(["id", "year", "meta"].map(str::to_string)),
        })
        .collect();
    prefilters(&ast, &relations)
}

#[test]
fn conditions_on_the_columns_of_the_table_restrict_the_search() {
    for (condition, expected) in [
        ("year > 1970", Some("(`year` > 1970)")),
        (
            "(year > 1970 AND s.id IN (1, 2)) AND _distance < 1",
            Some("(`year` > 1970) AND (`id` IN (1, 2))"),
        ),
        ("year > 1970 OR id = 1", Some("(`year` > 1970 OR `id` = 1)")),
        ("year > 1970 OR _distance < 1", None),
        ("_distance < 1", None),
        ("u.year > 1970", None),
        ("other.x = 1", None),
        ("true", None),
        ("random() < year", None),
        ("id IN (SELECT id FROM u)", None),
        ("EXISTS (SELECT 1 FROM u WHERE u.id = s.id)", None),
        ("meta.author = 'x'", Some("(`meta`.`author` = 'x')")),
        ("s.meta['a'].b = 'x'", Some("(`meta`['a']['b'] = 'x')")),
        ("year = 'it''s'", Some("(`year` = 'it''s')")),
        (
            "year::TEXT = CAST(id AS VARCHAR(9))",
            Some("(`year`::STRING = CAST(`id` AS STRING))"),
        ),
        ("year = 'a''''b'", Some("(`year` = 'a''''b')")),
        (
            r"year = '\'' OR true --' AND id = '\'",
            Some(r"(`year` = '\'' OR true --') AND (`id` = '\')"),
        ),
    ] {
        let sql = format!(
            "SELECT * FROM vector_search('t', 'v', [1]) AS s CROSS JOIN u WHERE {condition}"
        );
        let expected = expected.map(str::to_string);
        assert_eq!(restrictions(&sql), [expected], "{condition}");
    }
}

#[test]
fn only_the_select_of_the_search_restricts_it() {
    const SEARCH: &str = "vector_search('t', 'v', [1])";
    let some = || Some("(`year` > 1)".to_string());
    for (sql, expected) in [
        (
            format!("SELECT * FROM {SEARCH} WHERE vector_search.year > 1"),
            some(),
        ),
        (
            format!("SELECT * FROM (SELECT * FROM {SEARCH}) q WHERE year > 1"),
            None,
        ),
        (
            format!("SELECT * FROM (SELECT * FROM {SEARCH} WHERE year > 1) q"),
            some(),
        ),
        (
            format!("WITH s AS (SELECT * FROM {SEARCH}) SELECT * FROM s WHERE year > 1"),
            None,
        ),
        (
            format!("SELECT * FROM u WHERE id IN (SELECT id FROM {SEARCH} WHERE year > 1)"),
            some(),
        ),
        (
            format!("SELECT * FROM {SEARCH} s JOIN u ON s.year > 1"),
            None,
        ),
        (
            format!("SELECT * FROM {SEARCH} s JOIN u USING (id) WHERE year > 1"),
            some(),
        ),
        (
            format!("SELECT * FROM {SEARCH} s LEFT JOIN u USING (id) WHERE year > 1"),
            some(),
        ),
        (
            format!("SELECT * FROM u LEFT JOIN {SEARCH} s USING (id) WHERE year > 1"),
            None,
        ),
        (
            format!("SELECT * FROM {SEARCH} s RIGHT JOIN u ON s.id = u.id WHERE year > 1"),
            None,
        ),
        (
            format!("SELECT * FROM u RIGHT JOIN {SEARCH} s ON s.id = u.id WHERE year > 1"),
            some(),
        ),
        (
            format!("SELECT * FROM u FULL JOIN {SEARCH} s ON s.id = u.id WHERE year > 1"),
            None,
        ),
        (
            format!("SELECT * FROM {SEARCH} s JOIN u ON true RIGHT JOIN w ON true WHERE year > 1"),
            None,
        ),
        (
            format!("SELECT * FROM u LEFT JOIN ({SEARCH} s JOIN w ON true) ON true WHERE year > 1"),
            None,
        ),
        (
            format!("SELECT count(*) FROM {SEARCH} GROUP BY id HAVING count(*) > 1"),
            None,
        ),
        (
            format!("SELECT 1 FROM u UNION ALL SELECT id FROM {SEARCH} WHERE year > 1"),
            some(),
        ),
    ] {
        assert_eq!(restrictions(&sql), [expected], "{sql}");
    }
    let both = restrictions(&format!(
        "SELECT * FROM {SEARCH} a JOIN text_search('t', 'x') b USING (id) WHERE id = 1 AND b.year = 2"
    ));
    let expected = ["(`id` = 1)", "(`id` = 1) AND (`year` = 2)"];
    assert_eq!(both, expected.map(|sql| Some(sql.to_string())));
}

#[test]
fn a_plan_shows_the_steps_of_its_searches() {
    let search = SearchPlan {
        name: name(0),
        function: "vector_search",
        steps: "A: a=1\n  B\n".to_string(),
    };
    let plan = format!("SortExec\n  SearchExec: {}, schema=[]\n", name(0));
    assert_eq!(
        with_searches(&plan, &[search]),
        "SortExec\n  SearchExec: vector_search, schema=[]\n    A: a=1\n      B\n"
    );
}
