//! MERGE, as far as an insert that merges can do it.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Query, SelectItem, SetExpr, TableFactor, TableWithJoins,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

use super::condition::Qualifier;
use super::grammar::{Grammar, unreadable};
use super::{Action, Change, Changing, Shape};
use crate::error::{Code, Error, Result};

/// The names of both sides in the conditions of the operation.
const SOURCE: &str = "source";
const TARGET: &str = "target";

/// ```sql
/// MERGE INTO t [AS a] USING source [AS s] ON a.key = s.key [AND …]
///   [WHEN MATCHED [AND condition] THEN UPDATE SET *]
///   [WHEN NOT MATCHED [BY TARGET] THEN INSERT *]
///   [WHEN NOT MATCHED BY SOURCE [AND condition] THEN DELETE]
/// ```
pub(super) fn merge(grammar: &mut Grammar) -> Result<Changing> {
    let table = grammar.name()?;
    let target = grammar
        .alias(&["USING"])?
        .or_else(|| table.last().cloned())
        .unwrap_or_default();
    grammar.expect("USING")?;
    let factor = grammar.table_factor()?;
    let source = name_of(&factor)?;
    if source == target {
        return Err(Error::invalid(format!(
            "both sides of MERGE are named `{source}`; give one of them an alias"
        )));
    }
    grammar.name_target(&target);
    if let Some(open) = &mut grammar.open {
        open.add_source(factor.clone(), &source);
    }
    grammar.expect("ON")?;
    let (condition, _) = grammar.parsed_expression()?;
    let mut on = Vec::new();
    keys(&condition, &target, &source, &mut on)?;
    let sides = [
        Qualifier {
            name: &source,
            becomes: Some(SOURCE),
        },
        Qualifier {
            name: &target,
            becomes: Some(TARGET),
        },
    ];
    let of_target = [Qualifier {
        name: &target,
        becomes: None,
    }];
    let (mut update, mut insert, mut delete) = (None, false, None);
    while grammar.word("WHEN") {
        if grammar.word("MATCHED") {
            once(update.is_none(), "WHEN MATCHED")?;
            let filter = condition_of(grammar, &sides)?;
            grammar.expect("THEN")?;
            if !grammar.words(&["UPDATE", "SET"]) || !grammar.symbol(&Token::Mul) {
                return Err(unserved("WHEN MATCHED", "UPDATE SET *"));
            }
            update = Some(Action { filter });
        } else if grammar.words(&["NOT", "MATCHED", "BY", "SOURCE"]) {
            once(delete.is_none(), "WHEN NOT MATCHED BY SOURCE")?;
            let filter = condition_of(grammar, &of_target)?;
            grammar.expect("THEN")?;
            if !grammar.word("DELETE") {
                return Err(unserved("WHEN NOT MATCHED BY SOURCE", "DELETE"));
            }
            delete = Some(Action { filter });
        } else if grammar.words(&["NOT", "MATCHED"]) {
            once(!insert, "WHEN NOT MATCHED")?;
            grammar.words(&["BY", "TARGET"]);
            if grammar.word("AND") {
                return Err(Error::new(
                    Code::Unsupported,
                    "WHEN NOT MATCHED takes no condition; put it into the WHERE of the source",
                ));
            }
            grammar.expect("THEN")?;
            if !grammar.word("INSERT") || !grammar.symbol(&Token::Mul) {
                return Err(unserved("WHEN NOT MATCHED", "INSERT *"));
            }
            insert = true;
        } else {
            return Err(grammar.unexpected("MATCHED or NOT MATCHED"));
        }
    }
    if update.is_none() && !insert && delete.is_none() {
        return Err(grammar.unexpected("WHEN"));
    }
    // A merge that only deletes reads the keys.
    let columns = match update.is_none() && !insert {
        true => on.as_slice(),
        false => &[],
    };
    let statement = grammar.statement(select(columns, factor)?)?;
    let merge = Change::Merge {
        table,
        on,
        update,
        insert,
        delete,
    };
    Ok(Changing::with_rows(merge, statement, Shape::ByName))
}

/// The condition behind AND.
fn condition_of(grammar: &mut Grammar, sides: &[Qualifier<'_>]) -> Result<Option<String>> {
    match grammar.word("AND") {
        true => grammar.expression(sides).map(Some),
        false => Ok(None),
    }
}

fn once(is_first: bool, clause: &str) -> Result<()> {
    match is_first {
        true => Ok(()),
        false => Err(Error::new(
            Code::Unsupported,
            format!("MERGE takes one {clause}; leave the others out"),
        )),
    }
}

fn unserved(clause: &str, action: &str) -> Error {
    Error::new(
        Code::Unsupported,
        format!(
            "{clause} takes only {action}; compute the columns in the SELECT of the source, with the names of the table"
        ),
    )
}

/// The columns that both sides are compared by.
fn keys(condition: &Expr, target: &str, source: &str, on: &mut Vec<String>) -> Result<()> {
    match condition {
        Expr::Nested(inner) => return keys(inner, target, source, on),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            keys(left, target, source, on)?;
            return keys(right, target, source, on);
        }
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => {
            if let (Some((one, path)), Some((other, same))) = (column(left), column(right))
                && path == same
                && [(one, other), (other, one)].contains(&(target, source))
            {
                on.push(path);
                return Ok(());
            }
        }
        _ => {}
    }
    Err(Error::new(
        Code::Unsupported,
        format!(
            "ON compares columns of the same name, joined by AND: {target}.id = {source}.id; rename the columns of \
             the source in its SELECT"
        ),
    ))
}

/// A column with the name of its table.
fn column(expr: &Expr) -> Option<(&str, String)> {
    match expr {
        Expr::Nested(inner) => column(inner),
        Expr::CompoundIdentifier(parts) => {
            let (table, path) = parts.split_first()?;
            let path: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
            Some((&table.value, path.join(".")))
        }
        _ => None,
    }
}

/// The name of the source in the conditions.
fn name_of(factor: &TableFactor) -> Result<String> {
    let alias = match factor {
        TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => alias.as_ref(),
        _ => {
            return Err(Error::invalid(
                "USING takes a table, or a query in parentheses with an alias: (SELECT …) AS s",
            ));
        }
    };
    let name = match factor {
        TableFactor::Table { name, .. } => name.0.last().and_then(|part| part.as_ident()),
        _ => None,
    };
    let plain = |ident: &Ident| match ident.value.split_once(super::super::names::MARK) {
        Some((name, _)) => name.to_string(),
        None => ident.value.clone(),
    };
    let name = alias.map(|alias| &alias.name).or(name).map(plain);
    name.ok_or_else(|| Error::invalid("the query in USING needs an alias: (SELECT …) AS s"))
}

/// `SELECT columns FROM factor`; no columns: all.
fn select(columns: &[String], factor: TableFactor) -> Result<Box<Query>> {
    let mut parser = Parser::new(&GenericDialect)
        .try_with_sql("SELECT * FROM t")
        .map_err(unreadable)?;
    let mut query = parser.parse_query().map_err(unreadable)?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.from = vec![TableWithJoins {
            relation: factor,
            joins: Vec::new(),
        }];
        if !columns.is_empty() {
            let columns = columns.iter().map(|column| {
                SelectItem::UnnamedExpr(Expr::Identifier(Ident::with_quote('"', column)))
            });
            select.projection = columns.collect();
        }
    }
    Ok(query)
}
