use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::prelude::Expr;
use lance_datafusion::planner::Planner;
use proptest::prelude::*;

use super::*;
use crate::schema::expression::whole;

fn integers(column: &str, values: &[i64]) -> Comparison {
    let values = values.iter().copied().map(Value::Integer).collect();
    one_of(column, values)
}

fn texts(column: &str, values: &[&str]) -> Comparison {
    let values = values.iter().map(|text| Value::Text((*text).into()));
    one_of(column, values.collect())
}

fn one_of(column: &str, values: Vec<Value>) -> Comparison {
    Comparison {
        column: column.to_string(),
        is: Is::OneOf(values),
    }
}

fn compared(column: &str, comparison: Operator, value: i64) -> Comparison {
    Comparison {
        column: column.to_string(),
        is: Is::Compared(comparison, Value::Integer(value)),
    }
}

#[test]
fn one_comparison_of_a_column_with_values_is_read() {
    assert_eq!(comparisons("id = 7"), Some(vec![integers("id", &[7])]));
    assert_eq!(comparisons(" id=-7 "), Some(vec![integers("id", &[-7])]));
    assert_eq!(
        comparisons("id IN (1, 2,3)"),
        Some(vec![integers("id", &[1, 2, 3])])
    );
    assert_eq!(
        comparisons("`a b` in(5)"),
        Some(vec![integers("a b", &[5])])
    );
    assert_eq!(
        comparisons("name = 'it''s'"),
        Some(vec![texts("name", &["it's"])])
    );
    assert_eq!(
        comparisons("n in ('a', '')"),
        Some(vec![texts("n", &["a", ""])])
    );
}

#[test]
fn conjunctions_of_comparisons_are_read() {
    use Operator::{AtLeast, AtMost, Less, More, Not};
    assert_eq!(
        comparisons("label = 'a' AND number >= 3 and number<9"),
        Some(vec![
            texts("label", &["a"]),
            compared("number", AtLeast, 3),
            compared("number", Less, 9),
        ])
    );
    assert_eq!(
        comparisons("(\n(a > 1) AND (b <= -2 AND (c != 3))\n)"),
        Some(vec![
            compared("a", More, 1),
            compared("b", AtMost, -2),
            compared("c", Not, 3),
        ])
    );
    assert_eq!(
        comparisons("a BETWEEN 1 AND 5 AND b <> 2"),
        Some(vec![
            compared("a", AtLeast, 1),
            compared("a", AtMost, 5),
            compared("b", Not, 2),
        ])
    );
}

#[test]
fn other_conditions_are_not_read() {
    for sql in [
        "",
        "id",
        "id =",
        "id = 7 and true",
        "id = 7.0",
        "id = 1e3",
        "id == 7",
        "id = x",
        "id in ()",
        "id in (1,)",
        "id in (1",
        "id not in (1)",
        "not id = 1",
        "7 = id",
        "a.b = 1",
        "id = 99999999999999999999",
        "name = 'a' 'b'",
        "name = \"a\"",
        "name = 'a\\'",
        "id = - 1 - 2",
        "id = 1 -- x",
        "`a``b` = 1",
        "id = 0x10",
        "id = 1 or id = 2",
        "id = 1 and id = 2 or id = 3",
        "id = 1 and",
        "(id = 1",
        "id = 1)",
        "()",
        "id < = 1",
        "id < > 1",
        "id <=> 1",
        "id between 1 and",
        "id between 1 and 2 and",
        "id not between 1 and 2",
        "id > 1 + 1",
        "id < 2.5",
        "id >-- 1",
        "id = -9223372036854775808",
        "true = 1",
        "NULL = 1",
        "Not in (1)",
        "interval > 5",
        "(((((((((((id = 1)))))))))))",
    ] {
        assert_eq!(comparisons(sql), None, "{sql}");
    }
}

/// The conditions that Lance plans, one by one.
fn planned(sql: &str, columns: &[&str]) -> Vec<Expr> {
    let columns: BTreeSet<&str> = columns.iter().copied().collect();
    let fields: Vec<Field> = columns
        .into_iter()
        .map(|name| match name.starts_with('t') {
            true => Field::new(name, DataType::Utf8, true),
            false => Field::new(name, DataType::Int64, true),
        })
        .collect();
    let planner = Planner::new(Arc::new(Schema::new(fields)));
    let sql = whole(sql).unwrap();
    let planned = planner.parse_filter(&sql).unwrap();
    let all = split_conjunction(&planned).into_iter().cloned();
    all.map(|expr| planner.optimize_expr(expr).unwrap())
        .collect()
}

/// The parsed comparisons, written with quotes wherever possible.
fn written(tests: &[Comparison]) -> String {
    let value = |value: &Value| match value {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
    };
    let written = tests.iter().map(|test| {
        let column = &test.column;
        match &test.is {
            Is::OneOf(values) => {
                let values: Vec<String> = values.iter().map(value).collect();
                match values.as_slice() {
                    [one] => format!("`{column}` = {one}"),
                    _ => format!("`{column}` IN ({})", values.join(", ")),
                }
            }
            Is::Compared(comparison, own) => {
                let operator = match comparison {
                    Operator::Not => "<>",
                    Operator::Less => "<",
                    Operator::AtMost => "<=",
                    Operator::More => ">",
                    Operator::AtLeast => ">=",
                };
                format!("`{column}` {operator} {}", value(own))
            }
        }
    });
    written.collect::<Vec<_>>().join(" AND ")
}

/// One condition and its columns, in any spelling.
fn condition() -> impl Strategy<Value = String> {
    let column = prop::sample::select(vec![
        "id", "`id`", "n_1", "text", "`text`", "t2", "user", "date", "case", "end", "floor",
        "type", "ID", "`a b`", "_x", "position", "interval", "array",
    ]);
    let number = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (-9_i64..9).prop_map(|number| number.to_string()),
        Just("- 5".to_string()),
        Just("007".to_string()),
        Just("-9223372036854775808".to_string()),
        Just("9223372036854775808".to_string()),
    ];
    let text = "[a-c' \\\\%é-]{0,4}".prop_map(|text| format!("'{}'", text.replace('\'', "''")));
    let operator = prop::sample::select(vec!["=", "<>", "!=", "<", "<=", ">", ">=", "=="]);
    let space = prop::sample::select(vec!["", " ", "  ", "\n", "\t "]);
    (column, operator, number, text, space, 0..4).prop_map(
        |(column, operator, number, text, space, form)| {
            let value = match column.starts_with(['t', '`']) && column.contains('t') {
                true => text,
                false => number,
            };
            match form {
                0 => format!("{column}{space}IN{space}({value}{space},{space}{value})"),
                _ => format!("{column}{space}{operator}{space}{value}{space}"),
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_read_here_is_what_lance_reads(
        conditions in prop::collection::vec(condition(), 1..4),
        in_parentheses in any::<bool>(),
    ) {
        let mut sql = conditions.join(" and ");
        if in_parentheses {
            sql = format!("( {sql})");
        }
        if let Some(read) = comparisons(&sql) {
            let columns: Vec<&str> = read.iter().map(|test| test.column.as_str()).collect();
            let (own, lances) = (planned(&written(&read), &columns), planned(&sql, &columns));
            prop_assert_eq!(own, lances, "{}", sql);
        }
    }
}
