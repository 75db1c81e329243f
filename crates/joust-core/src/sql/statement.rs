//! The SQL of statements and views: one query over named tables.
//!
//! A text is checked before it is planned, because parsing and planning are recursive: its length, the number of
//! SELECTs and set operations, its [tokens](expression::check_tokens), and the [`limits`](super::limits) of its parsed
//! form, which is what is planned. Settings and COPY are rejected by their kind, and the session only contains the given
//! tables. [`change`](super::change) reads the statements that change something.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::ambiguous;
use super::names::{self, At, Names, Versions};
use super::parameters::{Given, Parameters};
use super::registration::register;
use super::search::{self, OpenSearch, OpenTable, Searches};
use super::unbound::Unbound;
use super::{barriers, limits, refused, subqueries};
use crate::error::{Error, Result};
use crate::names::short;
use crate::schema::expression::{self, Place};
use arrow::datatypes::DataType;
use datafusion::catalog::TableProvider;
use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::SessionContext;
use datafusion::sql::TableReference;
use datafusion::sql::parser::Statement as Parsed;
use datafusion::sql::resolve::resolve_table_references;
use datafusion::sql::sqlparser::ast::{DescribeAlias, Statement as Ast, VisitMut};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, Whitespace};

/// Bytes of a query.
const MAX_LENGTH: usize = 64 << 10;
/// The most SELECTs in a query, and set operations: the parser nests each around the previous ones.
const MAX_SELECTS: usize = 32;
const SELECT_WORDS: &[&str] = &["select", "values"];
const SET_OPERATION_WORDS: &[&str] = &["union", "intersect", "except", "minus"];

/// A checked query that is not planned yet: its tables are only names.
pub struct Statement {
    parsed: Parsed,
    searches: Searches,
    pub explain: Option<Explain>,
    /// The same query with its placeholders, if their values are not known: `parsed` has NULL for each.
    open: Option<Unbound>,
}

/// A query whose plan is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explain {
    pub verbose: bool,
}

/// A table in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// As written in the query, in parts.
    pub name: Vec<String>,
    /// The newest version when absent.
    pub at: Option<At>,
    /// The name under which it is registered.
    registered: Vec<String>,
}

impl Statement {
    /// The query of a view, which has neither parameters nor versions of tables.
    pub fn of_view(sql: &str) -> Result<Self> {
        check_length(sql)?;
        let tokens = expression::tokenize(&GenericDialect, sql)?;
        search::refuse_in_view(&tokens)?;
        let ast = parse(tokens)?;
        if !matches!(ast, Ast::Query(_)) {
            return Err(Error::invalid(
                "a view's query is one SELECT statement and nothing else",
            ));
        }
        Self::checked(ast, None, Searches::default())
    }

    /// A query of a client.
    pub fn new(sql: &str, given: Given<'_>) -> Result<Self> {
        check_length(sql)?;
        let tokens = without_comments(expression::tokenize_statement(&GenericDialect, sql)?);
        let (tokens, mut parameters) = Parameters::read(tokens, given)?;
        let (tokens, mut versions) = Versions::read(tokens)?;
        let (tokens, mut searches, placeholders) = Searches::read(tokens, &parameters)?;
        parameters.used_by_searches(placeholders);
        let (mut ast, explain) = explained(parse(tokens)?)?;
        if !matches!(ast, Ast::Query(_)) {
            return Err(match explain {
                Some(_) => Error::invalid("EXPLAIN takes a SELECT"),
                None => refused::statement(&ast),
            });
        }
        versions.place_in(&mut ast);
        versions.finish()?;
        searches.place(&mut ast)?;
        let open = parameters.is_open().then(|| ast.clone());
        parameters.bind_in(&mut ast);
        parameters.finish()?;
        let mut statement = Self::checked(ast, explain, searches)?;
        statement.open = open.map(|ast| Unbound::new(ast, parameters.given().len()));
        Ok(statement)
    }

    /// A query that is a part of another statement, and its searches.
    pub(super) fn of_query(query: Ast, searches: Searches) -> Result<Self> {
        Self::checked(query, None, searches)
    }

    /// The same query with its placeholders. `count`: the number of parameters.
    pub(super) fn with_open(mut self, query: Ast, count: usize) -> Self {
        self.open = Some(Unbound::new(query, count));
        self
    }

    fn checked(mut ast: Ast, explain: Option<Explain>, searches: Searches) -> Result<Self> {
        limits::check(&ast)?;
        let mut names = Names::default();
        let _: ControlFlow<()> = ast.visit(&mut names);
        names.check()?;
        ambiguous::check(&ast)?;
        Ok(Self {
            parsed: Parsed::Statement(Box::new(ast)),
            searches,
            explain,
            open: None,
        })
    }

    /// Its text, with the names of [`tables`](Self::tables).
    pub fn to_sql(&self) -> String {
        self.parsed.to_string()
    }

    /// The number of its parameters if their values are not known and its searches need them.
    pub fn open_searches_of(&self) -> Option<usize> {
        let open = self.open.as_ref().filter(|_| self.searches.is_open());
        open.map(|open| open.count)
    }

    /// The types of the parameters whose values are not known, as far as the query determines them. `tables` is as for
    /// [`plan`](Self::plan).
    pub async fn parameter_types(
        &self,
        context: &SessionContext,
        tables: &[(TableName, Arc<dyn TableProvider>)],
    ) -> Result<Vec<Option<DataType>>> {
        let Some(open) = self.open.as_ref().filter(|open| open.count > 0) else {
            return Ok(Vec::new());
        };
        for (name, table) in tables {
            register(context, &name.registered, table.clone())?;
        }
        Ok(open.parameter_types(context).await)
    }

    /// The tables that it reads, without duplicates, in a deterministic order.
    pub fn tables(&self) -> Result<Vec<TableName>> {
        let mut tables = self.scanned()?;
        for table in self.searches.tables() {
            if !tables.contains(table) {
                tables.push(table.clone());
            }
        }
        Ok(tables)
    }

    /// The same without those that it only searches.
    pub fn scanned(&self) -> Result<Vec<TableName>> {
        let (tables, _) = resolve_table_references(&self.parsed, false).map_err(Error::of_input)?;
        let tables = tables.iter();
        tables
            .filter(|table| !search::is_search(table.table()))
            .map(TableName::new)
            .collect()
    }

    /// Opens its searches over all of its tables that have a version.
    pub async fn open_searches(&mut self, tables: &[OpenTable]) -> Result<Vec<Arc<OpenSearch>>> {
        let searches = std::mem::take(&mut self.searches);
        match &self.parsed {
            Parsed::Statement(ast) => searches.open(ast, tables).await,
            _ => Ok(Vec::new()),
        }
    }

    /// Plans it over the tables given, in the order of [`tables`](Self::tables).
    pub async fn plan(
        self,
        context: &SessionContext,
        tables: Vec<(TableName, Arc<dyn TableProvider>)>,
    ) -> Result<DataFrame> {
        for (name, table) in tables {
            register(context, &name.registered, table)?;
        }
        let state = context.state();
        let plan = state
            .statement_to_plan(self.parsed)
            .await
            .map_err(Error::of_input)?;
        SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false)
            .verify_plan(&plan)
            .map_err(|_| Error::invalid("the query is more than a SELECT; leave INTO out"))?;
        let plan = barriers::place(plan).map_err(Error::of_input)?;
        subqueries::check(&plan)?;
        Ok(DataFrame::new(state, plan))
    }
}

impl TableName {
    fn new(table: &TableReference) -> Result<Self> {
        let parts = [table.catalog(), table.schema(), Some(table.table())];
        Self::of_parts(parts.into_iter().flatten().map(str::to_string).collect())
    }

    /// A name in a text, as it would stand in a FROM.
    pub(super) fn of_text(text: &str) -> Result<Self> {
        check_length(text)?;
        let tokens = expression::tokenize(&GenericDialect, text)?;
        expression::check_tokens(&tokens, Place::View)?;
        let (tokens, _) = Versions::read(tokens)?;
        let mut parser = Parser::new(&GenericDialect).with_tokens(tokens);
        let mut name = parser.parse_object_name(false).map_err(of_parser)?;
        if parser.peek_token().token != Token::EOF {
            return Err(Error::invalid(format!(
                "`{}` is not the name of a table",
                short(text)
            )));
        }
        names::join_namespace(&mut name);
        let parts = name.0.iter().map(|part| part.as_ident());
        let parts = parts.map(|ident| ident.map(|ident| ident.value.clone()));
        let parts = parts.collect::<Option<Vec<_>>>();
        Self::of_parts(parts.ok_or_else(|| Error::invalid("a function is not a table's name"))?)
    }

    /// A name that stands for a part of the statement.
    pub(super) fn internal(name: String) -> Self {
        Self {
            name: vec![name.clone()],
            at: None,
            registered: vec![name],
        }
    }

    /// Gives a table this name in a plan.
    pub(crate) fn register(
        &self,
        context: &SessionContext,
        table: Arc<dyn TableProvider>,
    ) -> Result<()> {
        register(context, &self.registered, table)
    }

    fn of_parts(registered: Vec<String>) -> Result<Self> {
        let mut name = registered.clone();
        let at = name.last_mut().and_then(names::take_version);
        if name.iter().any(|part| part.contains(names::MARK)) {
            return Err(names::misplaced());
        }
        Ok(Self {
            name,
            at,
            registered,
        })
    }
}

pub(super) fn check_length(sql: &str) -> Result<()> {
    if sql.trim().is_empty() {
        return Err(Error::invalid("the query is empty; give a SELECT"));
    }
    if sql.len() > MAX_LENGTH {
        return Err(Error::invalid(format!(
            "the query has {} bytes; it may have {MAX_LENGTH}",
            sql.len()
        )));
    }
    for (words, what) in [
        (SELECT_WORDS, "SELECTs and VALUES"),
        (SET_OPERATION_WORDS, "UNIONs, INTERSECTs and EXCEPTs"),
    ] {
        if count_words(sql, words) > MAX_SELECTS {
            return Err(Error::invalid(format!(
                "the query has more than {MAX_SELECTS} {what}"
            )));
        }
    }
    Ok(())
}

/// Parses the checked tokens, not the text again.
fn parse(tokens: Vec<Token>) -> Result<Ast> {
    expression::check_tokens(&tokens, Place::View)?;
    let mut parser = Parser::new(&GenericDialect).with_tokens(tokens);
    let ast = parser.parse_statement().map_err(of_parser)?;
    let has_semicolon = parser.consume_token(&Token::SemiColon);
    match parser.peek_token().token {
        Token::EOF => Ok(ast),
        _ if has_semicolon => Err(several()),
        rest => Err(Error::invalid(format!(
            "the query has `{}` where it should end",
            short(&rest.to_string())
        ))),
    }
}

pub(super) fn several() -> Error {
    Error::invalid("the query has more than one statement; send each by itself")
}

/// The query of an EXPLAIN.
fn explained(ast: Ast) -> Result<(Ast, Option<Explain>)> {
    match ast {
        Ast::Explain {
            describe_alias: DescribeAlias::Explain,
            analyze: false,
            verbose,
            query_plan: false,
            estimate: false,
            statement,
            format: None,
            options: None,
        } => Ok((*statement, Some(Explain { verbose }))),
        Ast::Explain { .. } => Err(Error::invalid(
            "only EXPLAIN and EXPLAIN VERBOSE are available, without options",
        )),
        other => Ok((other, None)),
    }
}

pub(super) fn without_comments(tokens: Vec<Token>) -> Vec<Token> {
    let plain = |token| match token {
        Token::Whitespace(
            Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
        ) => Token::Whitespace(Whitespace::Space),
        other => other,
    };
    tokens.into_iter().map(plain).collect()
}

fn count_words(sql: &str, wanted: &[&str]) -> usize {
    sql.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| {
            wanted
                .iter()
                .any(|wanted| word.eq_ignore_ascii_case(wanted))
        })
        .count()
}

/// The message of a parser error.
fn of_parser(error: ParserError) -> Error {
    Error::invalid(match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            format!("the query can't be read as a SELECT: {}", short(&text))
        }
        ParserError::RecursionLimitExceeded => "the query is nested too deeply".to_string(),
    })
}

#[cfg(test)]
#[path = "statement_tests.rs"]
mod tests;
