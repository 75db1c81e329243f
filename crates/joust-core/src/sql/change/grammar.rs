//! The words, names and values that the statements consist of.

use std::ops::{ControlFlow, Range};

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Query, Statement as Ast, TableFactor, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use serde_json::{Map, Number, Value};

use super::super::names::{self, Versions};
use super::super::parameters::{Given, Parameters};
use super::super::search::{self, Searches};
use super::super::statement::{self, Statement};
use super::condition::{self, Qualifier};
use super::open::Open;
use crate::error::{Error, Result};
use crate::names::short;
use crate::schema::expression::{self, Place};

/// Items of a list in `WITH (…)`.
const MAX_ITEMS: usize = 10_000;

pub(super) struct Grammar {
    /// Only for what SELECT has too: names, expressions, types and queries.
    pub parser: Parser<'static>,
    tokens: Vec<Token>,
    parameters: Parameters,
    versions: Versions,
    /// If the values of the parameters are not known.
    pub open: Option<Open>,
    /// The searches that are not part of a query yet.
    searches: Searches,
}

impl Grammar {
    pub fn new(sql: &str, given: Given<'_>) -> Result<Self> {
        let tokens = expression::tokenize_statement(&GenericDialect, sql)?;
        let tokens = statement::without_comments(tokens);
        let (tokens, mut parameters) = Parameters::read(tokens, given)?;
        let (tokens, versions) = Versions::read(tokens)?;
        let (tokens, searches, placeholders) = Searches::read(tokens, &parameters)?;
        parameters.used_by_searches(placeholders);
        expression::check_tokens(&tokens, Place::View)?;
        Ok(Self {
            parser: Parser::new(&GenericDialect).with_tokens(tokens.clone()),
            tokens,
            open: parameters.is_open().then(Open::default),
            parameters,
            versions,
            searches,
        })
    }

    pub fn parameter_count(&self) -> usize {
        self.parameters.given().len()
    }

    /// Takes a keyword if it is next.
    pub fn word(&mut self, word: &str) -> bool {
        self.words(&[word])
    }

    /// Takes keywords if all of them are next.
    pub fn words(&mut self, words: &[&str]) -> bool {
        let are_next = words.iter().enumerate().all(|(at, word)| {
            matches!(
                &self.parser.peek_nth_token(at).token,
                Token::Word(next) if next.quote_style.is_none() && next.value.eq_ignore_ascii_case(word)
            )
        });
        if are_next {
            for _ in words {
                self.parser.advance_token();
            }
        }
        are_next
    }

    pub fn expect(&mut self, word: &str) -> Result<()> {
        match self.word(word) {
            true => Ok(()),
            false => Err(self.unexpected(word)),
        }
    }

    pub fn symbol(&mut self, symbol: &Token) -> bool {
        self.parser.consume_token(symbol)
    }

    pub fn expect_symbol(&mut self, symbol: &Token) -> Result<()> {
        match self.symbol(symbol) {
            true => Ok(()),
            false => Err(self.unexpected(&symbol.to_string())),
        }
    }

    /// The error for the next token.
    pub fn unexpected(&self, wanted: &str) -> Error {
        Error::invalid(match self.parser.peek_token().token {
            Token::EOF => format!("the statement ends where {wanted} is expected"),
            Token::Word(word) if search::is_search(&word.value) => return search::misplaced(),
            found => format!(
                "the statement has `{}` where {wanted} is expected",
                short(&found.to_string())
            ),
        })
    }

    /// `IF EXISTS`
    pub fn if_exists(&mut self) -> bool {
        self.words(&["IF", "EXISTS"])
    }

    /// `IF NOT EXISTS`
    pub fn if_not_exists(&mut self) -> bool {
        self.words(&["IF", "NOT", "EXISTS"])
    }

    /// The name of a table, view or schema, in parts.
    pub fn name(&mut self) -> Result<Vec<String>> {
        if !matches!(self.parser.peek_token().token, Token::Word(_)) {
            return Err(self.unexpected("a name"));
        }
        let name = self.parser.parse_object_name(false).map_err(unreadable)?;
        let parts = name.0.iter().map(|part| {
            part.as_ident()
                .map(|ident| ident.value.clone())
                .ok_or_else(|| Error::invalid("a name consists of words, joined by dots"))
        });
        let parts: Vec<String> = parts.collect::<Result<_>>()?;
        match parts.iter().any(|part| part.contains(names::MARK)) {
            true => Err(names::misplaced()),
            false => Ok(parts),
        }
    }

    /// A name of one part.
    pub fn ident(&mut self) -> Result<String> {
        let mut parts = self.name()?;
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => Err(Error::invalid(format!(
                "`{}` is a name of one part here",
                short(&parts.join("."))
            ))),
        }
    }

    /// The alias of a table, with or without AS. `before`: keywords that may follow the table.
    pub fn alias(&mut self, before: &[&str]) -> Result<Option<String>> {
        if self.word("AS") {
            return self.ident().map(Some);
        }
        match &self.parser.peek_token().token {
            Token::Word(word)
                if word.quote_style.is_some()
                    || !before
                        .iter()
                        .any(|next| word.value.eq_ignore_ascii_case(next)) =>
            {
                self.ident().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Items in parentheses.
    pub fn in_parentheses<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_symbol(&Token::LParen)?;
        let items = self.separated(item)?;
        self.expect_symbol(&Token::RParen)?;
        Ok(items)
    }

    /// Items separated by commas.
    pub fn separated<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.symbol(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub fn data_type(&mut self) -> Result<DataType> {
        self.parser.parse_data_type().map_err(unreadable)
    }

    /// A whole query, with its parameters and versions.
    pub fn query(&mut self) -> Result<Statement> {
        let query = self.parsed_query()?;
        self.statement(query)
    }

    /// A whole query. Its parameters are not bound.
    pub fn parsed_query(&mut self) -> Result<Box<Query>> {
        self.parser.parse_query().map_err(unreadable)
    }

    /// The statement of a query that was read from the tokens.
    pub fn statement(&mut self, query: Box<Query>) -> Result<Statement> {
        let mut query = Ast::Query(query);
        let mut searches = std::mem::take(&mut self.searches);
        self.versions.place_in(&mut query);
        searches.place(&mut query)?;
        let open = self.open.is_some().then(|| query.clone());
        self.parameters.bind_in(&mut query);
        let statement = Statement::of_query(query, searches)?;
        Ok(match open {
            Some(query) => statement.with_open(query, self.parameter_count()),
            None => statement,
        })
    }

    /// The name of the changed table in the expressions.
    pub fn name_target(&mut self, alias: &str) {
        if let Some(open) = &mut self.open {
            open.name_target(alias);
        }
    }

    /// A table, a search or a query in parentheses. A search has an alias.
    pub fn table_factor(&mut self) -> Result<TableFactor> {
        let mut factor = self.parser.parse_table_factor().map_err(unreadable)?;
        self.searches.name_in(&mut factor)?;
        Ok(factor)
    }

    /// An expression over the rows of a table, as text for an operation. `qualifiers`: names of tables that columns may
    /// have.
    pub fn expression(&mut self, qualifiers: &[Qualifier<'_>]) -> Result<String> {
        let (expr, range) = self.parsed_expression()?;
        if let Some(open) = &mut self.open {
            open.add_condition(&expr);
        }
        condition::text(&self.tokens[range], &mut self.parameters, qualifiers)
    }

    /// The same for the value of a field.
    pub fn assigned(&mut self, path: &[String], qualifiers: &[Qualifier<'_>]) -> Result<String> {
        let (expr, range) = self.parsed_expression()?;
        if let Some(open) = &mut self.open {
            open.add_assignment(path, &expr);
        }
        condition::text(&self.tokens[range], &mut self.parameters, qualifiers)
    }

    /// An expression and its tokens. Its parameters are not bound.
    pub fn parsed_expression(&mut self) -> Result<(Expr, Range<usize>)> {
        let start = self.parser.index();
        let expr = self.parser.parse_expr().map_err(unreadable)?;
        match expr.visit(&mut Subqueries) {
            ControlFlow::Break(()) => Err(Error::invalid(
                "this statement takes no subquery in an expression; read its values first, or use MERGE INTO",
            )),
            ControlFlow::Continue(()) => Ok((expr, start..self.parser.index())),
        }
    }

    /// The options in `WITH (name = value, …)`, if there are some. Names are in lower case.
    pub fn options(&mut self) -> Result<Map<String, Value>> {
        let mut options = Map::new();
        if !self.word("WITH") {
            return Ok(options);
        }
        let pairs = self.in_parentheses(|grammar| {
            let name = grammar.ident()?.to_lowercase();
            grammar.expect_symbol(&Token::Eq)?;
            Ok((name, grammar.value()?))
        })?;
        for (name, value) in pairs {
            if options.contains_key(&name) {
                return Err(Error::invalid(format!(
                    "WITH has `{}` twice; leave one of them out",
                    short(&name)
                )));
            }
            options.insert(name, value);
        }
        Ok(options)
    }

    /// A literal or a parameter.
    pub fn value(&mut self) -> Result<Value> {
        let token = self.parser.peek_token().token;
        let value = match &token {
            Token::SingleQuotedString(text) => Some(Value::String(text.clone())),
            Token::Number(digits, _) => number(digits),
            Token::Placeholder(name) => self.parameters.value(name),
            Token::Word(word) if word.quote_style.is_none() => match word.value.to_lowercase() {
                word if word == "true" => Some(Value::Bool(true)),
                word if word == "false" => Some(Value::Bool(false)),
                word if word == "null" => Some(Value::Null),
                _ => None,
            },
            Token::LBracket => return self.list().map(Value::Array),
            Token::Minus => {
                self.parser.advance_token();
                let Token::Number(digits, _) = self.parser.peek_token().token else {
                    return Err(self.unexpected("a number"));
                };
                number(&format!("-{digits}"))
            }
            _ => None,
        };
        let Some(value) = value else {
            return Err(self.unexpected("a text, number, boolean or list"));
        };
        self.parser.advance_token();
        Ok(value)
    }

    fn list(&mut self) -> Result<Vec<Value>> {
        self.expect_symbol(&Token::LBracket)?;
        if self.symbol(&Token::RBracket) {
            return Ok(Vec::new());
        }
        let items = self.separated(|grammar| {
            match matches!(grammar.parser.peek_token().token, Token::LBracket) {
                true => Err(grammar.unexpected("a text, number or boolean")),
                false => grammar.value(),
            }
        })?;
        self.expect_symbol(&Token::RBracket)?;
        match items.len() > MAX_ITEMS {
            true => Err(Error::invalid(format!(
                "a list in WITH has at most {MAX_ITEMS} values"
            ))),
            false => Ok(items),
        }
    }

    /// The end of the statement.
    pub fn end(mut self) -> Result<()> {
        let has_semicolon = self.symbol(&Token::SemiColon);
        match self.parser.peek_token().token {
            Token::EOF => {}
            _ if has_semicolon => return Err(statement::several()),
            rest => {
                return Err(Error::invalid(format!(
                    "the statement has `{}` where it should end; docs/sql.md has the clauses of each statement",
                    short(&rest.to_string())
                )));
            }
        }
        if !self.searches.is_empty() {
            return Err(search::misplaced());
        }
        self.parameters.finish()?;
        self.versions.finish()
    }
}

fn number(digits: &str) -> Option<Value> {
    let whole = digits.parse::<i64>().map(Number::from).ok();
    let number = whole.or_else(|| digits.parse().ok().and_then(Number::from_f64));
    number.map(Value::Number)
}

struct Subqueries;

impl Visitor for Subqueries {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

pub(super) fn unreadable(error: ParserError) -> Error {
    Error::invalid(match error {
        ParserError::ParserError(text) if search::is_mentioned(&text) => {
            return search::misplaced();
        }
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            format!("the statement can't be read: {}", short(&text))
        }
        ParserError::RecursionLimitExceeded => "the statement is nested too deeply".to_string(),
    })
}
