//! The columns that a query returns.

use std::collections::HashSet;
use std::fmt;

use lance::Dataset;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::names::short;
use crate::schema::columns::canonical_column;
use crate::schema::expression::{self, Expression};

/// Columns that are not part of a table's schema and that a query can name.
const SYSTEM_COLUMNS: &[&str] = &[
    "_rowid",
    "_rowaddr",
    "_rowoffset",
    "_distance",
    "_score",
    "query_index",
    "_row_created_at_version",
    "_row_last_updated_at_version",
];

/// The requested columns, in their order.
#[derive(Debug, Default, PartialEq)]
pub enum Columns {
    #[default]
    All,
    /// Field paths.
    Names(Vec<String>),
    /// Output name and SQL expression; a field path is one.
    Aliases(Vec<(String, String)>),
}

impl Columns {
    /// Whether none of them is SQL.
    pub fn are_paths(&self) -> bool {
        !matches!(self, Self::Aliases(_))
    }

    /// Whether one of them has this output name; false for all columns of a table.
    pub fn have(&self, output: &str) -> bool {
        match self {
            Self::All => false,
            Self::Names(names) => names.iter().any(|name| name == output),
            Self::Aliases(aliases) => aliases.iter().any(|(alias, _)| alias == output),
        }
    }

    /// Output name and expression of each column; `None` for all columns unchanged.
    pub fn expressions(&self, dataset: &Dataset) -> Result<Option<Vec<(String, String)>>> {
        self.check_names()?;
        match self {
            Self::All => Ok(None),
            Self::Names(names) => {
                let named = names.iter().map(|name| {
                    if SYSTEM_COLUMNS.contains(&name.as_str()) {
                        return Ok((name.clone(), name.clone()));
                    }
                    Ok((name.clone(), canonical_column(dataset, name)?))
                });
                named.collect::<Result<_>>().map(Some)
            }
            Self::Aliases(aliases) => {
                let checked = aliases.iter().map(|(alias, sql)| {
                    if SYSTEM_COLUMNS.contains(&sql.as_str()) {
                        return Ok((alias.clone(), sql.clone()));
                    }
                    // Quoted: the name of a field may be SQL.
                    if let Ok(path) = canonical_column(dataset, sql) {
                        return Ok((alias.clone(), path));
                    }
                    Ok((alias.clone(), expression::whole(sql)?))
                });
                checked.collect::<Result<_>>().map(Some)
            }
        }
    }

    /// The expressions that are not columns of the table.
    pub fn computed(&self, dataset: &Dataset) -> Result<Vec<Expression>> {
        let Self::Aliases(aliases) = self else {
            return Ok(Vec::new());
        };
        let sql = aliases.iter().map(|(_, sql)| sql.as_str());
        sql.filter(|sql| !SYSTEM_COLUMNS.contains(sql) && canonical_column(dataset, sql).is_err())
            .map(Expression::new)
            .collect()
    }

    /// Rejects duplicate names.
    fn check_names(&self) -> Result<()> {
        let names: Vec<&String> = match self {
            Self::All => Vec::new(),
            Self::Names(names) => names.iter().collect(),
            Self::Aliases(aliases) => aliases.iter().map(|(alias, _)| alias).collect(),
        };
        let mut seen = HashSet::with_capacity(names.len());
        match names.into_iter().find(|name| !seen.insert(name.as_str())) {
            Some(name) => Err(Error::invalid(format!(
                "`columns` has `{}` twice; give one of them another alias",
                short(name)
            ))),
            None => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ColumnsVisitor)
    }
}

struct ColumnsVisitor;

impl<'de> Visitor<'de> for ColumnsVisitor {
    type Value = Columns;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "an array of column names, a map of aliases, or an object with `column_names` or \
             `column_aliases`",
        )
    }

    fn visit_unit<E>(self) -> Result<Columns, E> {
        Ok(Columns::All)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Columns, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = seq.next_element()? {
            names.push(name);
        }
        Ok(Columns::Names(names))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Columns, A::Error> {
        let mut names = None;
        let mut aliases: Option<Vec<(String, String)>> = None;
        while let Some(key) = map.next_key::<String>()? {
            match map.next_value::<Value>()? {
                Value::None => {}
                // Probably a mistake in the other form, not an alias.
                Value::Text(_) if matches!(key.as_str(), "column_names" | "column_aliases") => {
                    let right = match key.as_str() {
                        "column_names" => "an array of column names",
                        _ => "a map of aliases",
                    };
                    return Err(de::Error::custom(format!("`{key}` must be {right}")));
                }
                Value::Text(expression) => {
                    aliases.get_or_insert_default().push((key, expression));
                }
                Value::Names(list) if key == "column_names" => names = Some(list),
                Value::Aliases(list) if key == "column_aliases" => {
                    aliases.get_or_insert_default().extend(list);
                }
                _ => return Err(de::Error::custom(format!("`{key}` has the wrong form"))),
            }
        }
        // The Java client sends both forms, the unused one empty.
        if let (Some(listed), Some(mapped)) = (&names, &aliases) {
            match (listed.is_empty(), mapped.is_empty()) {
                (true, true) => return Ok(Columns::All),
                (true, false) => names = None,
                (false, true) => aliases = None,
                (false, false) => {}
            }
        }
        match (names, aliases) {
            (Some(_), Some(_)) => Err(de::Error::custom(
                "give `column_names` or `column_aliases`, not both",
            )),
            (Some(names), None) => Ok(Columns::Names(names)),
            (None, Some(aliases)) => Ok(Columns::Aliases(aliases)),
            (None, None) => Ok(Columns::All),
        }
    }
}

/// A value in the object. A map preserves the order of its keys, which is the order of the columns.
enum Value {
    None,
    Text(String),
    Names(Vec<String>),
    Aliases(Vec<(String, String)>),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;

        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a column, an array of columns or a map of aliases")
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::None)
            }

            fn visit_str<E>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Text(text.to_string()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                Ok(Value::Names(names))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut aliases = Vec::new();
                while let Some(alias) = map.next_entry()? {
                    aliases.push(alias);
                }
                Ok(Value::Aliases(aliases))
            }
        }

        deserializer.deserialize_any(ValueVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(json: &str) -> Columns {
        serde_json::from_str(json).unwrap()
    }

    fn names(names: &[&str]) -> Columns {
        Columns::Names(names.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn every_form_is_read() {
        assert_eq!(columns("null"), Columns::All);
        assert_eq!(columns("{}"), Columns::All);
        assert_eq!(columns(r#"["a","b"]"#), names(&["a", "b"]));
        assert_eq!(columns(r#"{"column_names":["a"]}"#), names(&["a"]));
        let aliases =
            Columns::Aliases(vec![("z".into(), "a + 1".into()), ("a".into(), "b".into())]);
        assert_eq!(columns(r#"{"z":"a + 1","a":"b"}"#), aliases);
        assert_eq!(
            columns(r#"{"column_aliases":{"z":"a + 1","a":"b"}}"#),
            aliases
        );
    }

    #[test]
    fn a_text_in_place_of_a_list_or_a_map_is_refused() {
        for (json, right) in [
            (
                r#"{"column_names":"id"}"#,
                "must be an array of column names",
            ),
            (r#"{"column_aliases":"id"}"#, "must be a map of aliases"),
            (r#"{"a":"id","column_names":"id"}"#, "`column_names`"),
        ] {
            let error = serde_json::from_str::<Columns>(json).unwrap_err();
            assert!(error.to_string().contains(right), "{error}");
        }
        let expected = Columns::Aliases(vec![("column_names".into(), "a".into())]);
        let json = r#"{"column_aliases":{"column_names":"a"}}"#;
        assert_eq!(columns(json), expected);
    }

    #[test]
    fn both_forms_at_once_are_refused() {
        let both = r#"{"column_names":["a"],"column_aliases":{"b":"c"}}"#;
        assert!(serde_json::from_str::<Columns>(both).is_err());
    }
}
