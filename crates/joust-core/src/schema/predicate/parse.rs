//! Parses conditions of the simplest form: `label = 'a' AND number >= 3`, `id IN (1, 2)`.
//!
//! It takes a microsecond where a SQL parser and a planner take a hundred. Everything else is left to those; they would
//! parse these conditions identically.

use super::{Comparison, Is, Operator, Value};

/// Nested parentheses.
const DEPTH: usize = 8;

/// Words that are not columns in SQL, unless they are in backticks.
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

/// The comparisons of a condition, if it has this form. Does not check that the columns exist.
pub fn comparisons(sql: &str) -> Option<Vec<Comparison>> {
    let mut rest = Rest(sql);
    let mut tests = Vec::new();
    rest.all(&mut tests, DEPTH)?;
    rest.skip();
    rest.0.is_empty().then_some(tests)
}

struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    /// Comparisons that are joined by AND.
    fn all(&mut self, tests: &mut Vec<Comparison>, depth: usize) -> Option<()> {
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

    fn test(&mut self, tests: &mut Vec<Comparison>) -> Option<()> {
        let column = self.column()?;
        let mut compared = |comparison, value| {
            tests.push(Comparison {
                column: column.clone(),
                is: Is::Compared(comparison, value),
            });
        };
        // Longer ones first.
        let operators = [
            ("<>", Operator::Not),
            ("!=", Operator::Not),
            ("<=", Operator::AtMost),
            (">=", Operator::AtLeast),
            ("<", Operator::Less),
            (">", Operator::More),
        ];
        for (operator, comparison) in operators {
            if self.operator(operator) {
                compared(comparison, self.value()?);
                return Some(());
            }
        }
        if self.keyword("between").is_some() {
            compared(Operator::AtLeast, self.value()?);
            self.keyword("and")?;
            compared(Operator::AtMost, self.value()?);
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
        tests.push(Comparison {
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

    /// Adjacent characters that form one operator.
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
        // In SQL the smallest integer is not a literal, but a minus before a larger one.
        value.filter(|value| *value != i64::MIN).map(Value::Integer)
    }

    /// A text after its opening quote.
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
#[path = "parse_tests.rs"]
mod read;
