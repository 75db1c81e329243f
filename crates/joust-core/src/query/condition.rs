//! Conditions that ask for rows by the value of one column: `id = 7`, `name IN ('a', 'b')`.
//!
//! Reading them takes a microsecond where a SQL parser and a planner take a hundred. Whatever is not
//! plainly of this form is left to those.

use crate::rows::Value;

/// A column and the values that it may have.
#[derive(Debug, PartialEq, Eq)]
pub struct OneOf {
    pub column: String,
    pub values: Vec<Value>,
}

/// The condition, if it is of this form. Whether there is such a column is left open.
pub fn one_of(sql: &str) -> Option<OneOf> {
    let mut rest = Rest(sql);
    let column = rest.column()?;
    let values = if rest.symbol('=') {
        vec![rest.value()?]
    } else {
        rest.keyword("in")?;
        rest.symbol('(').then_some(())?;
        let mut values = vec![rest.value()?];
        while rest.symbol(',') {
            values.push(rest.value()?);
        }
        rest.symbol(')').then_some(())?;
        values
    };
    rest.skip();
    rest.0.is_empty().then_some(OneOf { column, values })
}

struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
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

    fn word(&mut self) -> &'a str {
        self.skip();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = self.0.find(|letter| !is_part(letter));
        let (word, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        word
    }

    fn keyword(&mut self, keyword: &str) -> Option<()> {
        self.word().eq_ignore_ascii_case(keyword).then_some(())
    }

    fn column(&mut self) -> Option<String> {
        if self.symbol('`') {
            let (name, rest) = self.0.split_once('`')?;
            self.0 = rest;
            return (!name.is_empty() && !rest.starts_with('`')).then(|| name.to_string());
        }
        let word = self.word();
        word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
            .then(|| word.to_string())
    }

    fn value(&mut self) -> Option<Value> {
        if self.symbol('\'') {
            return self.text().map(Value::Text);
        }
        let sign = if self.symbol('-') { "-" } else { "" };
        let digits = self.word();
        let all = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        all.then(|| format!("{sign}{digits}").parse().ok())?
            .map(Value::Integer)
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
mod tests {
    use super::*;

    fn integers(column: &str, values: &[i64]) -> Option<OneOf> {
        let values = values.iter().copied().map(Value::Integer).collect();
        let column = column.to_string();
        Some(OneOf { column, values })
    }

    fn texts(column: &str, values: &[&str]) -> Option<OneOf> {
        let values = values.iter().map(|text| Value::Text((*text).into()));
        let (column, values) = (column.to_string(), values.collect());
        Some(OneOf { column, values })
    }

    #[test]
    fn plain_conditions_are_read() {
        assert_eq!(one_of("id = 7"), integers("id", &[7]));
        assert_eq!(one_of(" id=-7 "), integers("id", &[-7]));
        assert_eq!(one_of("id IN (1, 2,3)"), integers("id", &[1, 2, 3]));
        assert_eq!(one_of("`a b` in(5)"), integers("a b", &[5]));
        assert_eq!(one_of("name = 'it''s'"), texts("name", &["it's"]));
        assert_eq!(one_of("n in ('a', '')"), texts("n", &["a", ""]));
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
        ] {
            assert_eq!(one_of(sql), None, "{sql}");
        }
    }
}
