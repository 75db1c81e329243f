//! Reading conditions of the simplest form: `label = 'a' AND number >= 3`, `id IN (1, 2)`.
//!
//! It takes a microsecond where a SQL parser and a planner take a hundred. Whatever is not plainly of this
//! form is left to those, and what is, they would read as the same.

use super::{Comparison, Is, Test};
use crate::rows::Value;

/// Conditions within parentheses within parentheses.
const DEPTH: usize = 8;

/// Words that SQL does not take for a column, unless they are in backticks.
const RESERVED: &[&str] = &[
    "current_date",
    "current_time",
    "current_timestamp",
    "exists",
    "false",
    "interval",
    "localtime",
    "localtimestamp",
    "not",
    "null",
    "select",
    "trim",
    "true",
    "with",
];

/// What a condition tests, if it is of this form. Whether there are such columns is left open.
pub fn tests(sql: &str) -> Option<Vec<Test>> {
    let mut rest = Rest(sql);
    let mut tests = Vec::new();
    rest.all(&mut tests, DEPTH)?;
    rest.skip();
    rest.0.is_empty().then_some(tests)
}

struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    /// Tests that are joined by AND.
    fn all(&mut self, tests: &mut Vec<Test>, depth: usize) -> Option<()> {
        loop {
            if self.symbol('(') {
                self.all(tests, depth.checked_sub(1)?)?;
                self.symbol(')').then_some(())?;
            } else {
                self.test(tests)?;
            }
            if self.keyword("and").is_none() {
                return Some(());
            }
        }
    }

    fn test(&mut self, tests: &mut Vec<Test>) -> Option<()> {
        let column = self.column()?;
        let mut compared = |comparison, value| {
            tests.push(Test {
                column: column.clone(),
                is: Is::Compared(comparison, value),
            });
        };
        // The longer ones first.
        let operators = [
            ("<>", Comparison::Not),
            ("!=", Comparison::Not),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Less),
            (">", Comparison::More),
        ];
        for (operator, comparison) in operators {
            if self.operator(operator) {
                compared(comparison, self.value()?);
                return Some(());
            }
        }
        if self.keyword("between").is_some() {
            compared(Comparison::AtLeast, self.value()?);
            self.keyword("and")?;
            compared(Comparison::AtMost, self.value()?);
            return Some(());
        }
        let values = if self.symbol('=') {
            vec![self.value()?]
        } else {
            self.keyword("in")?;
            self.symbol('(').then_some(())?;
            let mut values = vec![self.value()?];
            while self.symbol(',') {
                values.push(self.value()?);
            }
            self.symbol(')').then_some(())?;
            values
        };
        tests.push(Test {
            column,
            is: Is::OneOf(values),
        });
        Some(())
    }

    fn skip(&mut self) {
        self.0 = self.0.trim_start();
    }

    fn symbol(&mut self, symbol: char) -> bool {
        self.skip();
        match self.0.strip_prefix(symbol) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// Signs that are one operator only when nothing is between them.
    fn operator(&mut self, operator: &str) -> bool {
        self.skip();
        match self.0.strip_prefix(operator) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'a str {
        self.skip();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = self.0.find(|letter| !is_part(letter));
        let (word, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        word
    }

    fn keyword(&mut self, keyword: &str) -> Option<()> {
        let before = self.0;
        if self.word().eq_ignore_ascii_case(keyword) {
            return Some(());
        }
        self.0 = before;
        None
    }

    fn column(&mut self) -> Option<String> {
        if self.symbol('`') {
            let (name, rest) = self.0.split_once('`')?;
            self.0 = rest;
            return (!name.is_empty() && !rest.starts_with('`')).then(|| name.to_string());
        }
        let word = self.word();
        let is_name =
            word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        let is_reserved = || RESERVED.iter().any(|own| word.eq_ignore_ascii_case(own));
        (is_name && !is_reserved()).then(|| word.to_string())
    }

    fn value(&mut self) -> Option<Value> {
        if self.symbol('\'') {
            return self.text().map(Value::Text);
        }
        let sign = if self.symbol('-') { "-" } else { "" };
        let digits = self.word();
        let all = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let value = all.then(|| format!("{sign}{digits}").parse().ok())?;
        // The least number is no literal of SQL's, but what a minus makes of a larger one.
        value.filter(|value| *value != i64::MIN).map(Value::Integer)
    }

    /// A text whose first quote has been read.
    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let (part, rest) = self.0.split_once('\'')?;
            text.push_str(part);
            self.0 = rest;
            match rest.strip_prefix('\'') {
                Some(rest) => {
                    text.push('\'');
                    self.0 = rest;
                }
                None => return (!text.contains('\\')).then_some(text),
            }
        }
    }
}

#[cfg(test)]
mod read {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::logical_expr::utils::split_conjunction;
    use datafusion::prelude::Expr;
    use lance_datafusion::planner::Planner;
    use proptest::prelude::*;

    use super::*;
    use crate::schema::expression::whole;

    fn integers(column: &str, values: &[i64]) -> Test {
        let values = values.iter().copied().map(Value::Integer).collect();
        one_of(column, values)
    }

    fn texts(column: &str, values: &[&str]) -> Test {
        let values = values.iter().map(|text| Value::Text((*text).into()));
        one_of(column, values.collect())
    }

    fn one_of(column: &str, values: Vec<Value>) -> Test {
        Test {
            column: column.to_string(),
            is: Is::OneOf(values),
        }
    }

    fn compared(column: &str, comparison: Comparison, value: i64) -> Test {
        Test {
            column: column.to_string(),
            is: Is::Compared(comparison, Value::Integer(value)),
        }
    }

    #[test]
    fn plain_conditions() {
        assert_eq!(tests("id = 7"), Some(vec![integers("id", &[7])]));
        assert_eq!(tests(" id=-7 "), Some(vec![integers("id", &[-7])]));
        assert_eq!(
            tests("id IN (1, 2,3)"),
            Some(vec![integers("id", &[1, 2, 3])])
        );
        assert_eq!(tests("`a b` in(5)"), Some(vec![integers("a b", &[5])]));
        assert_eq!(
            tests("name = 'it''s'"),
            Some(vec![texts("name", &["it's"])])
        );
        assert_eq!(tests("n in ('a', '')"), Some(vec![texts("n", &["a", ""])]));
    }

    #[test]
    fn several_conditions() {
        use Comparison::{AtLeast, AtMost, Less, More, Not};
        assert_eq!(
            tests("label = 'a' AND number >= 3 and number<9"),
            Some(vec![
                texts("label", &["a"]),
                compared("number", AtLeast, 3),
                compared("number", Less, 9),
            ])
        );
        assert_eq!(
            tests("(\n(a > 1) AND (b <= -2 AND (c != 3))\n)"),
            Some(vec![
                compared("a", More, 1),
                compared("b", AtMost, -2),
                compared("c", Not, 3),
            ])
        );
        assert_eq!(
            tests("a BETWEEN 1 AND 5 AND b <> 2"),
            Some(vec![
                compared("a", AtLeast, 1),
                compared("a", AtMost, 5),
                compared("b", Not, 2),
            ])
        );
    }

    #[test]
    fn everything_else_is_left_alone() {
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
            assert_eq!(tests(sql), None, "{sql}");
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

    /// What was read, written with quotes wherever there can be any.
    fn written(tests: &[Test]) -> String {
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
                        Comparison::Not => "<>",
                        Comparison::Less => "<",
                        Comparison::AtMost => "<=",
                        Comparison::More => ">",
                        Comparison::AtLeast => ">=",
                    };
                    format!("`{column}` {operator} {}", value(own))
                }
            }
        });
        written.collect::<Vec<_>>().join(" AND ")
    }

    /// One condition and what it is over, in any spelling.
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
            if let Some(read) = tests(&sql) {
                let columns: Vec<&str> = read.iter().map(|test| test.column.as_str()).collect();
                let (own, lances) = (planned(&written(&read), &columns), planned(&sql, &columns));
                prop_assert_eq!(own, lances, "{}", sql);
            }
        }
    }
}
