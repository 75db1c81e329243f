//! The SQL of views: one SELECT over tables that are given by name.
//!
//! A statement is checked before it is planned, because parsing and planning walk it recursively: its
//! length, how many SELECTs and set operations it has, its [tokens](expression::check_tokens), and what
//! [`limits`](super::limits) finds in its parsed form, which is what is planned. DDL, DML, settings and copies are refused by what they are, and the session has
//! nothing to read but the tables that are handed to it.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::catalog::{MemoryCatalogProvider, MemorySchemaProvider};
use datafusion::config::Dialect;
use datafusion::dataframe::DataFrame;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::SessionContext;
use datafusion::sql::TableReference;
use datafusion::sql::parser::Statement;
use datafusion::sql::resolve::resolve_table_references;
use datafusion::sql::sqlparser::ast::{
    Ident, Statement as Ast, TableAlias, TableFactor, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::ParserError;
use lance::Dataset;

use super::limits;
use super::session::{self, CATALOG, SCHEMA};
use super::source::SourceTable;
use crate::error::{Error, Result};
use crate::names::short;
use crate::schema::expression::{self, Place};

/// Bytes of a query.
const MAX_LENGTH: usize = 64 << 10;
/// SELECTs in a query, and set operations, each of which the parser puts around those before it.
const MAX_SELECTS: usize = 32;
const SELECT_WORDS: &[&str] = &["select", "values"];
const SET_OPERATION_WORDS: &[&str] = &["union", "intersect", "except", "minus"];

/// The names of the tables that a query reads, each in parts, as the query has them.
pub fn tables(sql: &str) -> Result<Vec<Vec<String>>> {
    let statement = parse(&session::for_planning()?, sql)?;
    let (tables, _) = resolve_table_references(&statement, false).map_err(Error::of_input)?;
    Ok(tables.iter().map(parts).collect())
}

/// Plans a query over the tables given, by their names in it.
pub async fn plan(
    context: &SessionContext,
    sql: &str,
    tables: &[(Vec<String>, Arc<Dataset>)],
) -> Result<DataFrame> {
    let statement = parse(context, sql)?;
    for (name, dataset) in tables {
        register(context, name, dataset.clone())?;
    }
    let state = context.state();
    let plan = state
        .statement_to_plan(statement)
        .await
        .map_err(Error::of_input)?;
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(&plan)
        .map_err(|_| not_a_select())?;
    Ok(DataFrame::new(state, plan))
}

fn parse(context: &SessionContext, sql: &str) -> Result<Statement> {
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
    let tokens = expression::tokenize(&GenericDialect, sql)?;
    expression::check_tokens(&tokens, Place::View)?;
    let state = context.state();
    // The tokens' dialect.
    let dialect = Dialect::Generic;
    let mut statement = state.sql_to_statement(sql, &dialect).map_err(of_parser)?;
    let Statement::Statement(ast) = &mut statement else {
        return Err(not_a_select());
    };
    if !matches!(**ast, Ast::Query(_)) {
        return Err(not_a_select());
    }
    limits::check(ast)?;
    let _: ControlFlow<()> = ast.visit(&mut Aliases(0));
    Ok(statement)
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

/// Gives every subquery in a FROM a name. Without one, DataFusion 54.1 takes a SELECT that reads like
/// the one inside it for the same and leaves it out: `SELECT a + a AS a FROM (SELECT a + a AS a FROM t)`
/// would add once.
struct Aliases(usize);

impl VisitorMut for Aliases {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { alias, .. } = factor
            && alias.is_none()
        {
            self.0 += 1;
            *alias = Some(TableAlias {
                explicit: true,
                name: Ident::with_quote('"', format!("__subquery_{}", self.0)),
                columns: Vec::new(),
                at: None,
            });
        }
        ControlFlow::Continue(())
    }
}

/// What the parser found, in words.
fn of_parser(error: DataFusionError) -> Error {
    if let DataFusionError::SQL(found, _) = error.find_root() {
        return Error::invalid(match found.as_ref() {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
                format!("the query can't be read: {}", short(text))
            }
            ParserError::RecursionLimitExceeded => "the query is nested too deeply".to_string(),
        });
    }
    Error::of_input(error)
}

fn not_a_select() -> Error {
    Error::invalid("a view's query is one SELECT statement and nothing else")
}

fn parts(table: &TableReference) -> Vec<String> {
    let parts = [table.catalog(), table.schema(), Some(table.table())];
    parts.into_iter().flatten().map(str::to_string).collect()
}

/// Makes a table known under its name in the query.
fn register(context: &SessionContext, name: &[String], dataset: Arc<Dataset>) -> Result<()> {
    let (catalog, schema, table) = match name {
        [table] => (CATALOG, SCHEMA, table),
        [schema, table] => (CATALOG, schema.as_str(), table),
        [catalog, schema, table] => (catalog.as_str(), schema.as_str(), table),
        _ => {
            return Err(Error::invalid(format!(
                "`{}` has too many parts: put the table's whole identifier into quotes",
                name.join(".")
            )));
        }
    };
    if context.catalog(catalog).is_none() {
        context.register_catalog(catalog, Arc::new(MemoryCatalogProvider::new()));
    }
    let found = context
        .catalog(catalog)
        .ok_or_else(|| Error::invalid("the query's tables can't be named so"))?;
    if found.schema(schema).is_none() {
        found.register_schema(schema, Arc::new(MemorySchemaProvider::new()))?;
    }
    let reference = TableReference::full(catalog, schema, table.as_str());
    context.register_table(reference, Arc::new(SourceTable::new(dataset)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_select_names_its_tables() {
        let names = |sql: &str| tables(sql).unwrap();
        assert_eq!(names("SELECT 1"), Vec::<Vec<String>>::new());
        assert_eq!(names("SELECT * FROM Items"), [["Items"]]);
        assert_eq!(
            names("select a.x from ns.a join `b` using (x)"),
            [
                vec!["b".to_string()],
                vec!["ns".to_string(), "a".to_string()],
            ]
        );
        assert_eq!(names(r#"SELECT * FROM "a$b$c" LIMIT 3"#), [["a$b$c"]]);
        assert_eq!(
            names("WITH w AS (SELECT * FROM t) SELECT * FROM w"),
            [["t"]]
        );
        assert_eq!(
            names("SELECT (SELECT max(x) FROM u) FROM t"),
            [["t"], ["u"]]
        );
    }

    #[test]
    fn anything_else_is_refused() {
        for sql in [
            "",
            "  ",
            "SELEC 1",
            "SELECT 1; SELECT 2",
            "INSERT INTO t VALUES (1)",
            "DELETE FROM t",
            "UPDATE t SET x = 1",
            "DROP TABLE t",
            "CREATE TABLE u AS SELECT * FROM t",
            "CREATE EXTERNAL TABLE u STORED AS CSV LOCATION '/etc/passwd'",
            "COPY t TO '/tmp/x'",
            "SET datafusion.execution.batch_size = 1",
            "EXPLAIN SELECT 1",
            "SHOW TABLES",
            "SELECT * FROM generate_series(1, 1000000000000)",
            "SELECT repeat('x', 1000000000)",
            "SELECT * FROM t -- all of it",
            "SELECT * FROM t WHERE id = $1",
            "PREPARE p AS SELECT 1",
        ] {
            assert!(tables(sql).is_err(), "{sql}");
        }
        for operation in ["UNION", "INTERSECT", "EXCEPT ALL", "MINUS"] {
            for part in ["VALUES (1)", "VALUE (1)", "TABLE t", "(SELECT 1)"] {
                let chain = vec![part; 2_000].join(&format!(" {operation} "));
                assert!(tables(&chain).is_err(), "{operation} {part}");
            }
        }
        let many = format!("SELECT * FROM t{}", ", t".repeat(100));
        assert!(tables(&many).is_err());
        let deep = vec!["SELECT 1"; 50_000 / 20].join(" UNION ALL ");
        assert!(tables(&deep).is_err());
        assert!(tables(&format!("SELECT 1{}", " ".repeat(100_000))).is_err());
    }
}
