//! The conditions that restrict the rows of a search.
//!
//! They are the parts of a WHERE, joined by AND, that only name columns of the searched table, in the SELECT that has
//! the search in its FROM. This depends on the text of the statement alone, and not on an optimizer. The WHERE stays in
//! the statement: rows that pass the restriction pass it again, and other conditions apply to the rows that are found.
//!
//! A search on the side of an outer join that may have no row is not restricted: `WHERE s.id IS NULL` finds the rows
//! without a partner there.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, Ident, JoinOperator, ObjectNamePart, Query, Select,
    Statement, Subscript, TableAlias, TableFactor, TableWithJoins, Value, ValueWithSpan, Visit,
    VisitMut, Visitor, VisitorMut,
};

use super::place::search_of;

/// Encloses the number of a text while its expression is written.
const MARK: char = '\u{2}';
/// Functions with another value at each call.
const VOLATILE: &[&str] = &["rand", "random", "uuid"];

/// The relation of a search.
pub struct Relation {
    pub alias: String,
    /// The columns of the table, without the results of the search.
    pub columns: HashSet<String>,
}

/// The restriction of each search as SQL for Lance.
pub fn prefilters(query: &Statement, searches: &[Relation]) -> Vec<Option<String>> {
    let mut conditions = Conditions {
        searches,
        found: searches.iter().map(|_| Vec::new()).collect(),
    };
    let _: ControlFlow<()> = Visit::visit(query, &mut conditions);
    let all = conditions.found.into_iter();
    all.map(|own| (!own.is_empty()).then(|| own.join(" AND ")))
        .collect()
}

struct Conditions<'a> {
    searches: &'a [Relation],
    found: Vec<Vec<String>>,
}

impl Visitor for Conditions<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let mut from = From::default();
        for tables in &select.from {
            from.add(tables, false);
        }
        for part in select.selection.iter().flat_map(parts) {
            for &search in &from.searches {
                let Some(relation) = self.searches.get(search) else {
                    continue;
                };
                if let Some(sql) = of_table(part, relation, &from.names) {
                    self.found[search].push(format!("({sql})"));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The relations of a FROM.
#[derive(Default)]
struct From {
    /// The searches that a WHERE restricts.
    searches: Vec<usize>,
    /// The names of all relations.
    names: Vec<String>,
}

impl From {
    /// `is_optional`: rows may have no partner in these tables.
    fn add(&mut self, tables: &TableWithJoins, is_optional: bool) {
        let mut before_optional = is_optional;
        // The last join first: it decides about all tables before it.
        for join in tables.joins.iter().rev() {
            use JoinOperator as J;
            let (before, own) = match &join.join_operator {
                J::Join(_) | J::Inner(_) | J::CrossJoin(_) => (false, false),
                J::Left(_) | J::LeftOuter(_) => (false, true),
                J::LeftSemi(_) | J::LeftAnti(_) | J::Semi(_) | J::Anti(_) => (false, true),
                J::Right(_) | J::RightOuter(_) => (true, false),
                _ => (true, true),
            };
            self.factor(&join.relation, before_optional || own);
            before_optional |= before;
        }
        self.factor(&tables.relation, before_optional);
    }

    fn factor(&mut self, factor: &TableFactor, is_optional: bool) {
        let alias = |alias: &Option<TableAlias>| alias.as_ref().map(|own| own.name.value.clone());
        match factor {
            TableFactor::Table {
                name, alias: own, ..
            } => {
                let plain = || {
                    let last = name.0.last().and_then(ObjectNamePart::as_ident);
                    last.map(|ident| ident.value.clone())
                };
                self.names.extend(alias(own).or_else(plain));
                self.searches
                    .extend(search_of(name).filter(|_| !is_optional));
            }
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.add(table_with_joins, is_optional),
            TableFactor::Derived { alias: own, .. } | TableFactor::UNNEST { alias: own, .. } => {
                self.names.extend(alias(own));
            }
            _ => {}
        }
    }
}

/// The parts of a condition that AND joins.
fn parts(condition: &Expr) -> Vec<&Expr> {
    let mut parts = Vec::new();
    let mut rest = vec![condition];
    while let Some(expr) = rest.pop() {
        match expr {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => rest.extend([right.as_ref(), left.as_ref()]),
            Expr::Nested(inner) => rest.push(inner),
            other => parts.push(other),
        }
    }
    parts
}

/// A condition as SQL for Lance, if it only names columns of this relation.
fn of_table(condition: &Expr, relation: &Relation, names: &[String]) -> Option<String> {
    let mut own = condition.clone();
    let mut reader = Columns {
        relation,
        names,
        count: 0,
        texts: Vec::new(),
    };
    let visited: ControlFlow<()> = VisitMut::visit(&mut own, &mut reader);
    if visited.is_break() || reader.count == 0 {
        return None;
    }
    let texts = reader.texts.iter().enumerate();
    Some(texts.fold(own.to_string(), |sql, (number, text)| {
        sql.replace(&marked(number), &text.replace('\'', "''"))
    }))
}

/// Rewrites the columns of an expression as paths in backticks, and its texts as marks: sqlparser writes a text with a
/// backslash before a quote in a way that ends the text there.
struct Columns<'a> {
    relation: &'a Relation,
    names: &'a [String],
    count: usize,
    texts: Vec<String>,
}

impl Columns<'_> {
    /// The path of a column within the table.
    fn path(&self, parts: &[Ident]) -> Option<Vec<Ident>> {
        let [first, rest @ ..] = parts else {
            return None;
        };
        let is_column =
            |ident: &Ident| self.relation.columns.contains(&ident.value) && is_plain(&ident.value);
        let path = match rest {
            [column, ..] if first.value == self.relation.alias => is_column(column).then_some(rest),
            // Of another relation.
            [_, ..] if self.names.contains(&first.value) => None,
            _ => is_column(first).then_some(parts),
        }?;
        let quoted = path
            .iter()
            .map(|ident| is_plain(&ident.value).then(|| Ident::with_quote('`', &ident.value)));
        quoted.collect()
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Text | DataType::Varchar(_) | DataType::CharacterVarying(_)
    )
}

fn is_plain(name: &str) -> bool {
    !name.contains(['`', MARK])
}

fn marked(number: usize) -> String {
    format!("{MARK}{number}{MARK}")
}

impl VisitorMut for Columns<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::CompoundFieldAccess { root, access_chain } => unite(root, access_chain),
            Expr::Cast { data_type, .. } if is_text(data_type) => {
                // Lance knows no other name of this type.
                *data_type = DataType::String(None);
            }
            _ => {}
        }
        let path = match expr {
            Expr::Identifier(ident) => self.path(std::slice::from_ref(ident)),
            Expr::CompoundIdentifier(parts) => self.path(parts),
            Expr::Function(function) => {
                let name = function.name.to_string().to_ascii_lowercase();
                return match VOLATILE.contains(&name.as_str()) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                };
            }
            _ => return ControlFlow::Continue(()),
        };
        let Some(path) = path else {
            return ControlFlow::Break(());
        };
        self.count += 1;
        *expr = Expr::CompoundIdentifier(path);
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        let text = match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => text.clone(),
            Value::DollarQuotedString(text) => text.value.clone(),
            _ => return ControlFlow::Continue(()),
        };
        value.value = Value::SingleQuotedString(marked(self.texts.len()));
        self.texts.push(text);
        ControlFlow::Continue(())
    }
}

/// Makes a path of `t.column['a'].b`: the names before the first bracket are one identifier, and the ones behind it are
/// keys.
fn unite(root: &mut Expr, access: &mut Vec<AccessExpr>) {
    let mut path = match root {
        Expr::Identifier(ident) => vec![ident.clone()],
        Expr::CompoundIdentifier(parts) => parts.clone(),
        _ => Vec::new(),
    };
    if !path.is_empty() {
        let names = access.iter().map_while(|access| match access {
            AccessExpr::Dot(Expr::Identifier(ident)) => Some(ident.clone()),
            _ => None,
        });
        let names: Vec<Ident> = names.collect();
        access.drain(..names.len());
        path.extend(names);
        *root = Expr::CompoundIdentifier(path);
    }
    for access in access {
        if let AccessExpr::Dot(Expr::Identifier(ident)) = access {
            let key = Value::SingleQuotedString(ident.value.clone());
            *access = AccessExpr::Subscript(Subscript::Index {
                index: Expr::Value(key.into()),
            });
        }
    }
}
