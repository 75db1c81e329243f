//! Names of tables that DataFusion would confuse in a query.
//!
//! `DFSchema` compares two names only in the parts that both have (`TableReference::resolved_eq` of DataFusion 54.1), and
//! takes the first column that matches: beside a table or an alias `t`, the column `ns.t.x` is that of `t`. Such queries
//! are refused, because their answers would be wrong.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, Statement as Ast, TableAlias, TableFactor, TableWithJoins, Visit, Visitor,
};

use crate::error::{Error, Result};
use crate::names::short;

/// The parts of a name.
type Name = Vec<String>;

/// Checks the tables in each FROM and the columns that name a table.
pub fn check(ast: &Ast) -> Result<()> {
    match ast.visit(&mut Scopes::default()) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// The names in each FROM around the current place, the innermost last. An alias is a name of one part.
#[derive(Default)]
struct Scopes {
    names: Vec<Vec<Name>>,
    /// The scopes that the current place does not see: a subquery in a FROM sees no other table of this FROM.
    hidden: Vec<usize>,
    /// Of each query around the current place: whether it is one SELECT, whose tables its ORDER BY sees.
    are_selects: Vec<bool>,
}

impl Scopes {
    /// The innermost first.
    fn visible(&self) -> impl Iterator<Item = &Vec<Name>> {
        let scopes = self.names.iter().enumerate().rev();
        scopes.filter_map(|(at, scope)| (!self.hidden.contains(&at)).then_some(scope))
    }

    /// Checks a column by the parts before its name, which are a table, a path of members or both.
    fn check_column(&self, path: &[String]) -> ControlFlow<Error> {
        // DataFusion tries the longest name of a table first.
        for length in (1..=path.len()).rev() {
            let name = path.get(..length).unwrap_or_default();
            if self.visible().flatten().any(|other| may_be(other, name)) {
                return self.check_reference(name);
            }
        }
        ControlFlow::Continue(())
    }

    /// Checks a reference to the table `name`.
    fn check_reference(&self, name: &[String]) -> ControlFlow<Error> {
        let matches = |scope: &Vec<Name>| -> Vec<Name> {
            let names = scope.iter().filter(|other| may_be(other, name));
            names.cloned().collect()
        };
        let innermost = self.visible().map(matches).find(|found| !found.is_empty());
        let found = innermost.unwrap_or_default();
        let [first, others @ ..] = found.as_slice() else {
            return ControlFlow::Continue(());
        };
        let exact = self.visible().flatten().filter(|other| *other == name);
        match others.iter().chain(exact).find(|other| *other != first) {
            Some(other) => ControlFlow::Break(refused(first, other)),
            None if name.len() > first.len() => ControlFlow::Break(too_long(name, first)),
            None => ControlFlow::Continue(()),
        }
    }
}

impl Visitor for Scopes {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        let is_select = matches!(query.body.as_ref(), SetExpr::Select(_));
        self.are_selects.push(is_select);
        ControlFlow::Continue(())
    }

    /// Follows the visit of the ORDER BY.
    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Error> {
        if self.are_selects.pop() == Some(true) {
            self.names.pop();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        let names = names_of(&select.from);
        for (at, name) in names.iter().enumerate() {
            let mut others = names.iter().take(at).filter(|other| *other != name);
            if let Some(other) = others.find(|other| may_be(other, name)) {
                return ControlFlow::Break(refused(other, name));
            }
        }
        self.names.push(names);
        for item in &select.projection {
            if let SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                _,
            ) = item
            {
                self.check_reference(&parts(name))?;
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<Error> {
        if self.are_selects.last() != Some(&true) {
            self.names.pop();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        if let TableFactor::Derived { lateral: false, .. } = factor {
            self.hidden.push(self.names.len().saturating_sub(1));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        if let TableFactor::Derived { lateral: false, .. } = factor {
            self.hidden.pop();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        let Expr::CompoundIdentifier(idents) = expr else {
            return ControlFlow::Continue(());
        };
        let mut name: Name = idents.iter().map(|ident| ident.value.clone()).collect();
        name.pop();
        self.check_column(&name)
    }
}

/// Whether DataFusion takes one name for the other: they have the same last parts.
fn may_be(one: &[String], other: &[String]) -> bool {
    one.ends_with(other) || other.ends_with(one)
}

fn names_of(from: &[TableWithJoins]) -> Vec<Name> {
    let mut names = Vec::new();
    for tables in from {
        add(tables, &mut names);
    }
    names
}

fn add(tables: &TableWithJoins, names: &mut Vec<Name>) {
    let joined = tables.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&tables.relation).chain(joined) {
        match factor {
            TableFactor::Table {
                name, alias: None, ..
            } => names.push(parts(name)),
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => add(table_with_joins, names),
            _ => names.extend(alias_of(factor).map(|alias| vec![alias.name.value.clone()])),
        }
    }
}

fn alias_of(factor: &TableFactor) -> Option<&TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        // The session refuses the other forms.
        _ => None,
    }
}

fn parts(name: &ObjectName) -> Name {
    let idents = name.0.iter().filter_map(ObjectNamePart::as_ident);
    idents.map(|ident| ident.value.clone()).collect()
}

fn too_long(name: &[String], table: &[String]) -> Error {
    let [name, table] = [name, table].map(|name| short(&name.join(".")));
    Error::invalid(format!(
        "the query has the table `{table}`, and no table `{name}`: write a member of a struct as column['member'], or \
         name the table in FROM with all of its parts"
    ))
}

fn refused(one: &[String], other: &[String]) -> Error {
    let long = if one.len() > other.len() { one } else { other };
    let alias = long.last().map_or("", String::as_str);
    let [one, other, long] = [one, other, long].map(|name| short(&name.join(".")));
    Error::invalid(format!(
        "the query could take a column of `{one}` for one of `{other}`: give the tables different names with AS, such as \
         `{long} AS {}2`, and use these names",
        short(alias)
    ))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn refusal(sql: &str) -> String {
        let statements = Parser::parse_sql(&GenericDialect {}, sql).unwrap();
        check(&statements[0]).map_or_else(|error| error.message().to_string(), |()| String::new())
    }

    #[test]
    fn tables_that_datafusion_would_confuse_are_refused() {
        for sql in [
            "SELECT 1 FROM t JOIN ns.t USING (x)",
            "SELECT 1 FROM ns.t, t",
            "SELECT 1 FROM (ns.t JOIN u USING (x)) JOIN t USING (x)",
            "SELECT 1 FROM ns.t JOIN u AS t USING (x)",
            "SELECT 1 FROM ns.t JOIN (SELECT 1 AS x) AS t USING (x)",
            "WITH t AS (SELECT 1 AS x) SELECT 1 FROM t JOIN ns.t USING (x)",
            "SELECT 1 FROM a.ns.t, ns.t",
            "SELECT 1 UNION SELECT 1 FROM ns.t, t",
        ] {
            assert!(refusal(sql).contains("with AS"), "{sql}");
        }
    }

    #[test]
    fn columns_that_datafusion_would_confuse_are_refused() {
        for sql in [
            "SELECT t.x FROM ns.t, other.t",
            "SELECT t.* FROM ns.t, other.t",
            "SELECT 1 FROM ns.t, other.t ORDER BY t.x",
            "SELECT 1 FROM ns.t JOIN other.t ON ns.t.x = t.x",
            "SELECT 1 FROM ns.t WHERE EXISTS (SELECT 1 FROM t WHERE t.x = ns.t.x)",
            "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM ns.t WHERE ns.t.x = t.x)",
            "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM (SELECT 1 FROM ns.t WHERE ns.t.x = t.x) AS d)",
        ] {
            assert!(refusal(sql).contains("with AS"), "{sql}");
        }
    }

    #[test]
    fn a_member_that_datafusion_would_take_for_a_table_is_refused() {
        for sql in [
            "SELECT a.t.x FROM items AS a JOIN t ON a.id = t.id",
            "SELECT s.t.x FROM t",
            "SELECT t.s.t.x FROM t",
            "SELECT t.t.x FROM t",
            "SELECT other.t.x FROM t",
        ] {
            assert!(refusal(sql).contains("column['member']"), "{sql}");
        }
    }

    #[test]
    fn tables_with_different_names_or_scopes_are_not_refused() {
        for sql in [
            "SELECT ns.t.x, other.t.x FROM ns.t, other.t WHERE ns.t.x = other.t.x",
            "SELECT t.x FROM ns.t",
            "SELECT t.x, b.x FROM t JOIN ns.t AS b USING (x)",
            "SELECT a.x, t.x FROM t JOIN t AS a USING (x)",
            "SELECT x FROM t WHERE x IN (SELECT x FROM ns.t)",
            "SELECT x FROM t WHERE EXISTS (SELECT 1 FROM ns.t AS b WHERE b.x = t.x)",
            "SELECT t.x FROM t UNION SELECT t.x FROM ns.t",
            "SELECT t.s.x, s.x.y FROM t",
            "SELECT ns.t.s.x FROM ns.t",
            "SELECT t.s.x FROM ns.t",
            "SELECT s.x FROM t, ns.t2",
            "SELECT x FROM (SELECT t.x FROM ns.t) AS a JOIN t USING (x)",
            "WITH a AS (SELECT t.x FROM ns.t) SELECT x FROM a JOIN t USING (x)",
        ] {
            assert_eq!(refusal(sql), "", "{sql}");
        }
    }
}
