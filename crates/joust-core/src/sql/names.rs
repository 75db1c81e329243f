//! Names of tables in a query, and their versions.
//!
//! sqlparser's generic dialect does not support `t FOR VERSION AS OF 7` and `t FOR TIMESTAMP AS OF '2026-01-31'`. So
//! these words are removed from the tokens, and the version is appended to the table's name until the query is parsed,
//! after a [marker](MARK) that no name can contain.

use std::ops::ControlFlow;

use arrow::compute::kernels::cast_utils::string_to_timestamp_nanos;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, TableAlias, TableFactor, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Word};

use crate::error::{Error, Result};
use crate::names::short;

/// Separates a table's name and its version.
pub const MARK: char = '\0';
/// Joins the components of an identifier.
const DELIMITER: &str = "$";
/// Parts of a name that DataFusion supports.
const PARTS: usize = 3;

/// The state of a table that a query names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    Version(u64),
    /// A tag; if there is none of this name, the newest version of a branch.
    Tag(String),
    /// The newest version at a time, milliseconds since the epoch.
    Time(i64),
}

impl At {
    fn text(&self) -> String {
        match self {
            Self::Version(version) => format!("v{version}"),
            Self::Tag(name) => format!("n{name}"),
            Self::Time(millis) => format!("t{millis}"),
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_at_checked(1)?;
        match kind {
            "v" => rest.parse().ok().map(Self::Version),
            "t" => rest.parse().ok().map(Self::Time),
            _ => Some(Self::Tag(rest.to_string())),
        }
    }
}

/// Removes the version from a table's name.
pub fn take_version(name: &mut String) -> Option<At> {
    let (plain, version) = name.split_once(MARK)?;
    let at = At::of_text(version);
    *name = plain.to_string();
    at
}

pub fn misplaced() -> Error {
    Error::invalid(
        "FOR VERSION AS OF and FOR TIMESTAMP AS OF stand directly behind the name of a table in FROM or JOIN; for a \
         search, in the text with the name: vector_search('t FOR VERSION AS OF 7', ...)",
    )
}

/// The versions in a query.
pub struct Versions {
    /// Versions that are not assigned to a table yet.
    open: usize,
}

impl Versions {
    /// Appends each version to the name before it.
    pub fn read(tokens: Vec<Token>) -> Result<(Vec<Token>, Self)> {
        let marked =
            |token: &Token| matches!(token, Token::Word(word) if word.value.contains(MARK));
        if tokens.iter().any(marked) {
            return Err(Error::invalid(
                "a name must not contain the character U+0000",
            ));
        }
        let mut kept: Vec<Token> = Vec::with_capacity(tokens.len());
        let mut open = 0;
        for token in tokens {
            let is_space = matches!(token, Token::Whitespace(_));
            kept.push(token);
            if !is_space && let Some((from, at)) = version_at_end(&kept)? {
                kept.truncate(from);
                let before = kept
                    .iter_mut()
                    .rev()
                    .find(|token| !matches!(token, Token::Whitespace(_)));
                let Some(Token::Word(word)) = before else {
                    return Err(misplaced());
                };
                if word.value.contains(MARK) {
                    return Err(misplaced());
                }
                *word = Word {
                    value: format!("{}{MARK}{}", word.value, at.text()),
                    quote_style: Some('"'),
                    keyword: Keyword::NoKeyword,
                };
                open += 1;
            }
        }
        Ok((kept, Self { open }))
    }

    /// Restores the names of the tables that have versions.
    pub fn place_in(&mut self, query: &mut impl VisitMut) {
        let _: ControlFlow<()> = query.visit(self);
    }

    /// Checks that all versions belong to tables.
    pub fn finish(&self) -> Result<()> {
        match self.open {
            0 => Ok(()),
            _ => Err(misplaced()),
        }
    }
}

impl VisitorMut for Versions {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let last = name.0.last().and_then(ObjectNamePart::as_ident);
        let plain = last.and_then(|ident| ident.value.split_once(MARK));
        if let Some((plain, _)) = plain {
            self.open = self.open.saturating_sub(1);
            alias.get_or_insert_with(|| named(plain));
        }
        ControlFlow::Continue(())
    }
}

/// The version at the end of some tokens, and the start of its words.
fn version_at_end(tokens: &[Token]) -> Result<Option<(usize, At)>> {
    let mut rest = tokens
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, token)| !matches!(token, Token::Whitespace(_)));
    let Some((_, value)) = rest.next() else {
        return Ok(None);
    };
    let mut words = [(0, Keyword::NoKeyword); 4];
    for word in &mut words {
        match rest.next() {
            Some((at, Token::Word(found))) if found.quote_style.is_none() => {
                *word = (at, found.keyword);
            }
            _ => return Ok(None),
        }
    }
    let at = match words.map(|(_, keyword)| keyword) {
        [Keyword::OF, Keyword::AS, Keyword::VERSION, Keyword::FOR] => version(value)?,
        [Keyword::OF, Keyword::AS, Keyword::TIMESTAMP, Keyword::FOR] => time(value)?,
        _ => return Ok(None),
    };
    Ok(Some((words[3].0, at)))
}

fn version(value: &Token) -> Result<At> {
    let at = match value {
        Token::Number(digits, false) => digits.parse().ok().map(At::Version),
        Token::SingleQuotedString(name) if !name.contains(MARK) => Some(At::Tag(name.clone())),
        _ => None,
    };
    at.ok_or_else(|| {
        Error::invalid(format!(
            "`{}` is no version: FOR VERSION AS OF takes a number, or a tag or branch as text: 'name'",
            short(&value.to_string())
        ))
    })
}

fn time(value: &Token) -> Result<At> {
    let nanos = match value {
        Token::SingleQuotedString(text) => string_to_timestamp_nanos(text).ok(),
        _ => None,
    };
    let millis = nanos.map(|nanos| nanos.div_euclid(1_000_000));
    millis.map(At::Time).ok_or_else(|| {
        Error::invalid(format!(
            "`{}` is no time: FOR TIMESTAMP AS OF takes a text such as '2026-01-31T12:00:00Z'",
            short(&value.to_string())
        ))
    })
}

/// An alias.
pub fn named(name: &str) -> TableAlias {
    TableAlias {
        explicit: true,
        name: Ident::with_quote('"', name),
        columns: Vec::new(),
        at: None,
    }
}

/// Rewrites the names of a query for DataFusion.
///
/// - Every subquery in a FROM gets a name. Without one, DataFusion 54.1 removes a SELECT with the same text as the one
///   inside it: `SELECT a + a AS a FROM (SELECT a + a AS a FROM t)` would add once.
/// - Of more than three parts the first are joined: they are the components of a namespace.
#[derive(Default)]
pub struct Names {
    subqueries: usize,
    /// The names of tables that have no alias, in parts.
    unaliased: Vec<Vec<String>>,
}

impl Names {
    /// Checks the tables that have no alias. If two are `t` and `"".t`, DataFusion takes a column of one for a column of
    /// the other.
    pub fn check(&self) -> Result<()> {
        let is_named = |name: &[String]| self.unaliased.iter().any(|other| other == name);
        for name in &self.unaliased {
            if let [first, rest @ ..] = name.as_slice()
                && first.is_empty()
                && is_named(rest)
            {
                let name = rest.join(".");
                let name = short(&name);
                return Err(Error::invalid(format!(
                    "the statement names tables `{name}` and `\"\".{name}`: give one of them an alias, such as \
                     `{name} AS a`"
                )));
            }
        }
        Ok(())
    }
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Derived { alias, .. } if alias.is_none() => {
                self.subqueries += 1;
                *alias = Some(named(&format!("__subquery_{}", self.subqueries)));
            }
            TableFactor::Table {
                name, alias: None, ..
            } => {
                let idents = name.0.iter().filter_map(ObjectNamePart::as_ident);
                let parts = idents.map(|ident| ident.value.clone());
                self.unaliased.push(parts.collect());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        join_namespace(relation);
        ControlFlow::Continue(())
    }
}

/// Joins the first parts of a name that has more than DataFusion supports.
pub fn join_namespace(relation: &mut ObjectName) {
    let parts: Option<Vec<&str>> = relation
        .0
        .iter()
        .map(|part| part.as_ident().map(|ident| ident.value.as_str()))
        .collect();
    if let Some([namespace @ .., table]) = parts.as_deref()
        && relation.0.len() > PARTS
    {
        let parts = [namespace.join(DELIMITER), (*table).to_string()];
        let idents = parts.map(|part| Ident::with_quote('"', part));
        *relation = ObjectName::from(idents.to_vec());
    }
}
