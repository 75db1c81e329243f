//! Names of tables in a query, and the versions behind them.
//!
//! sqlparser's generic dialect does not know `t FOR VERSION AS OF 7`. So these words are taken out of the
//! tokens, and the version becomes a part of the table's name until the query has been read: after a
//! [mark](MARK), which no name can have.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Statement, TableAlias, TableFactor, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Word};

use crate::error::{Error, Result};
use crate::names::short;

/// Stands between a table's name and its version.
pub const MARK: char = '\0';
/// Joins the components of an identifier.
const DELIMITER: &str = "$";
/// Parts of a name that DataFusion knows.
const PARTS: usize = 3;

/// Which state of a table a query names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    Version(u64),
    Tag(String),
}

impl At {
    fn text(&self) -> String {
        match self {
            Self::Version(version) => format!("v{version}"),
            Self::Tag(tag) => format!("t{tag}"),
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_at_checked(1)?;
        match kind {
            "v" => rest.parse().ok().map(Self::Version),
            _ => Some(Self::Tag(rest.to_string())),
        }
    }
}

/// Takes the version off a table's name.
pub fn take_version(name: &mut String) -> Option<At> {
    let (plain, version) = name.split_once(MARK)?;
    let at = At::of_text(version);
    *name = plain.to_string();
    at
}

pub fn misplaced() -> Error {
    Error::invalid("FOR VERSION AS OF stands directly behind the name of a table in FROM or JOIN")
}

/// The versions that a query names.
pub struct Versions {
    /// Those that have not been found behind a table yet.
    open: usize,
}

impl Versions {
    /// Moves each version into the name before it.
    pub fn read(tokens: Vec<Token>) -> Result<(Vec<Token>, Self)> {
        let marked =
            |token: &Token| matches!(token, Token::Word(word) if word.value.contains(MARK));
        if tokens.iter().any(marked) {
            return Err(Error::invalid("a name can't have a character of code 0"));
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

    /// Proves that all versions are behind tables, and names those tables as they would be without.
    pub fn place(&mut self, query: &mut Statement) -> Result<()> {
        let _: ControlFlow<()> = query.visit(self);
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

/// The version that some tokens end with, and where its words begin.
fn version_at_end(tokens: &[Token]) -> Result<Option<(usize, At)>> {
    const WORDS: [Keyword; 4] = [Keyword::OF, Keyword::AS, Keyword::VERSION, Keyword::FOR];
    let mut rest = tokens
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, token)| !matches!(token, Token::Whitespace(_)));
    let Some((_, value)) = rest.next() else {
        return Ok(None);
    };
    let mut from = 0;
    for wanted in WORDS {
        match rest.next() {
            Some((at, Token::Word(word)))
                if word.quote_style.is_none() && word.keyword == wanted =>
            {
                from = at;
            }
            _ => return Ok(None),
        }
    }
    let at = match value {
        Token::Number(digits, false) => digits.parse().ok().map(At::Version),
        Token::SingleQuotedString(tag) if !tag.contains(MARK) => Some(At::Tag(tag.clone())),
        _ => None,
    };
    match at {
        Some(at) => Ok(Some((from, at))),
        None => Err(Error::invalid(format!(
            "`{}` is no version: FOR VERSION AS OF takes a number, or a tag as text: 'name'",
            short(&value.to_string())
        ))),
    }
}

fn named(name: &str) -> TableAlias {
    TableAlias {
        explicit: true,
        name: Ident::with_quote('"', name),
        columns: Vec::new(),
        at: None,
    }
}

/// Makes the names of a query ones that DataFusion takes as they are meant.
///
/// - Every subquery in a FROM gets a name. Without one, DataFusion 54.1 takes a SELECT that reads like the
///   one inside it for the same and leaves it out: `SELECT a + a AS a FROM (SELECT a + a AS a FROM t)` would
///   add once.
/// - Of more than three parts the first are joined: they are the components of a namespace.
#[derive(Default)]
pub struct Names {
    subqueries: usize,
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { alias, .. } = factor
            && alias.is_none()
        {
            self.subqueries += 1;
            *alias = Some(named(&format!("__subquery_{}", self.subqueries)));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
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
        ControlFlow::Continue(())
    }
}
