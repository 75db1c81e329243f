//! Limits of a query, checked in its parsed form.
//!
//! - Planning time grows with the number of tables, and a CTE is planned again at every use. So everything in a FROM
//!   counts, and a CTE counts at every use with all that it reads.
//! - A text or list that combines several others is as long as all of them, and each enclosing SELECT multiplies the
//!   growth: `concat(c, c, …)` over a few levels requests any amount of memory, and a failed allocation aborts the
//!   process. [`Walk`] computes the growth of each column of a SELECT. The largest one of every SELECT is multiplied
//!   with that of its subqueries and CTEs; the product has a limit.
//! - Only functions and types that are known to be harmless are allowed, by the same [`Walk`].

use std::collections::VecDeque;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, Visit, Visitor,
};

use super::ignored::{
    counts_duplicates, ignored_clause, ignored_in_select, ignored_option, shares_columns_of_right,
};
use crate::error::{Error, Result};
use crate::names::short;
use crate::schema::expression::{MAX_GROWTH, Place, Walk};

/// Tables, subqueries and CTEs in FROMs.
const MAX_RELATIONS: usize = 32;
/// Nested and sibling queries of any form.
const MAX_QUERIES: usize = 64;
/// Operands in all columns of a query, which are in memory together.
const MAX_OPERANDS: u64 = 500;

/// Rejects a query that could take too long to plan or need too much memory.
pub fn check(query: &Statement) -> Result<()> {
    let mut limits = Limits {
        frames: vec![Frame::default()],
        ..Limits::default()
    };
    match query.visit(&mut limits) {
        ControlFlow::Break(error) => Err(*error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

#[derive(Default)]
struct Limits {
    /// The open queries, the innermost last.
    frames: Vec<Frame>,
    /// CTEs in scope and the relations that each reads.
    ctes: Vec<(String, usize)>,
    operands: u64,
    queries: usize,
}

struct Frame {
    /// Names of the CTEs whose queries follow.
    announced: VecDeque<String>,
    /// CTEs that were in scope before.
    outer_ctes: usize,
    relations: usize,
    /// Open expressions.
    depth: usize,
    /// The largest growth of an expression, and the growth of the subqueries.
    own: u64,
    inner: u64,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            announced: VecDeque::new(),
            outer_ctes: 0,
            relations: 0,
            depth: 0,
            own: 1,
            inner: 1,
        }
    }
}

type Checked = ControlFlow<Box<Error>>;

fn refuse(message: impl Into<String>) -> Checked {
    ControlFlow::Break(Box::new(Error::invalid(message)))
}

impl Limits {
    fn frame(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn add_relations(&mut self, count: usize) -> Checked {
        let frame = self.frame();
        frame.relations += count;
        if frame.relations > MAX_RELATIONS {
            return refuse(format!(
                "the query reads more than {MAX_RELATIONS} tables, counting subqueries and what each \
                 WITH reads wherever it is named"
            ));
        }
        ControlFlow::Continue(())
    }

    /// A top-level expression.
    fn expression(&mut self, expr: &Expr) -> Result<()> {
        let mut walk = Walk::new(Place::View);
        walk.expression(expr)?;
        let frame = self.frame();
        frame.own = frame.own.max(walk.growth);
        self.operands += walk.operands;
        if self.operands > MAX_OPERANDS {
            return Err(Error::invalid(format!(
                "the query puts more than {MAX_OPERANDS} values together with ||, concat and the like; \
                 split it into several queries"
            )));
        }
        Ok(())
    }
}

impl Visitor for Limits {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &Query) -> Checked {
        if !query.pipe_operators.is_empty() {
            return refuse("the query has a pipe (`|>`); write it with subqueries or WITH");
        }
        if let Some(clause) = ignored_clause(query) {
            return refuse(format!("{clause} is not available; leave it out"));
        }
        if counts_duplicates(&query.body) {
            return refuse(
                "INTERSECT ALL and EXCEPT ALL are not available; leave ALL out, or number equal rows with \
                 row_number() in both queries first",
            );
        }
        self.queries += 1;
        if self.queries > MAX_QUERIES {
            return refuse(format!(
                "the query has more than {MAX_QUERIES} subqueries; split it into several queries"
            ));
        }
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        self.frames.push(Frame {
            announced: ctes.map(|cte| cte.alias.name.value.clone()).collect(),
            outer_ctes: self.ctes.len(),
            ..Frame::default()
        });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> Checked {
        let Some(done) = self.frames.pop() else {
            return ControlFlow::Continue(());
        };
        self.ctes.truncate(done.outer_ctes);
        let growth = done.own.saturating_mul(done.inner);
        let frame = self.frame();
        frame.inner = frame.inner.saturating_mul(growth);
        if frame.inner > MAX_GROWTH {
            return refuse(format!(
                "the query and its subqueries together could make a text or list more than {MAX_GROWTH} \
                 times as long; put fewer columns together with ||, concat, replace and the like, or \
                 split it into several queries"
            ));
        }
        match frame.announced.pop_front() {
            Some(name) => {
                self.ctes.push((name, done.relations));
                ControlFlow::Continue(())
            }
            None => self.add_relations(done.relations),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> Checked {
        if let Some(clause) = ignored_in_select(select) {
            return refuse(format!(
                "{clause} is not available; use WHERE, or GROUP BY ROLLUP (...) and CUBE (...)"
            ));
        }
        if shares_columns_of_right(&select.from) {
            return refuse(
                "RIGHT JOIN and FULL JOIN are not available with USING or NATURAL; write ON t.a = u.a, and \
                 coalesce(t.a, u.a) for the shared column",
            );
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Checked {
        match factor {
            TableFactor::Table {
                name,
                args: Some(_),
                ..
            }
            | TableFactor::Function { name, .. } => refuse(format!(
                "the table function `{}` is not available",
                short(&name.to_string())
            )),
            TableFactor::TableFunction { .. } => refuse("TABLE(…) is not available"),
            // Counted by name.
            TableFactor::Table { .. } => match ignored_option(factor) {
                Some(option) => refuse(format!("{option} is not available; leave it out")),
                None => ControlFlow::Continue(()),
            },
            _ => self.add_relations(1),
        }
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> Checked {
        let name = match relation.0.as_slice() {
            [part] => part.as_ident().map(|name| name.value.as_str()),
            _ => None,
        };
        let cte = self
            .ctes
            .iter()
            .rev()
            .find(|(cte, _)| Some(cte.as_str()) == name);
        let inside = cte.map_or(0, |(_, relations)| *relations);
        self.add_relations(inside.max(1))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Checked {
        self.frame().depth += 1;
        if self.frame().depth > 1 {
            return ControlFlow::Continue(());
        }
        match self.expression(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }

    fn post_visit_expr(&mut self, _: &Expr) -> Checked {
        let frame = self.frame();
        frame.depth = frame.depth.saturating_sub(1);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::jobs::view_refresh::tables;

    /// The error of a rejected query; empty if it is accepted.
    fn refusal(sql: &str) -> String {
        tables(sql)
            .err()
            .map(|error| error.message().to_string())
            .unwrap_or_default()
    }

    fn nested(item: &str, levels: usize) -> String {
        (0..levels).fold("SELECT name AS c FROM t".to_string(), |inner, _| {
            format!("SELECT {item} AS c FROM ({inner})")
        })
    }

    #[test]
    fn values_that_grow_by_levels_are_refused() {
        let wide = format!("concat({})", ["c"; 400].join(", "));
        for item in [
            "concat(c, c)",
            "c || c",
            "concat_ws(c, '', '', '')",
            "array_to_string(make_array(c, c), c)",
            "make_array(c, c)",
            "[c, c]",
            "array_concat(c, c)",
            "\"list_cat\"(c, c)",
            "named_struct('a', c, 'b', c)",
            "struct(c, c)",
            "overlay(c placing c from 1 for 0)",
            wide.as_str(),
        ] {
            let found = refusal(&nested(item, 8));
            assert!(
                found.contains("times as long") || found.contains("together"),
                "{item}: {found}"
            );
        }
        let ctes: Vec<String> = (0..8)
            .map(|n| format!("w{} AS (SELECT c || c AS c FROM w{n})", n + 1))
            .collect();
        let ctes = format!(
            "WITH w0 AS (SELECT name AS c FROM t), {} SELECT c FROM w8",
            ctes.join(", ")
        );
        assert!(refusal(&ctes).contains("times as long"));
        assert!(refusal("SELECT array_agg(c) OVER () AS x FROM t").contains("OVER"));
        assert!(
            refusal("SELECT array_transform(c, x -> c) AS x FROM t").contains("array_transform")
        );
    }

    #[test]
    fn usual_texts_and_lists_are_fine() {
        let columns: Vec<String> = (0..30)
            .map(|n| format!("a || ' ' || b || ', ' || c AS x{n}"))
            .collect();
        let floats = ["-0.5"; 1_000].join(", ");
        for sql in [
            format!("SELECT {} FROM t", columns.join(", ")),
            nested("c || ' and so on'", 8),
            nested("concat(upper(c), c)", 5),
            nested("coalesce(c, 1) + round(c, 2)", 8),
            format!("SELECT array_distance(v, [{floats}]) AS d FROM t"),
            "SELECT concat_ws(' ', a, b, c) AS x, concat_ws(',', a, b) AS y FROM t".to_string(),
            "SELECT string_agg(a || b, ', ') AS x FROM t GROUP BY c".to_string(),
            ["SELECT a || b AS x FROM t"; 16].join(" UNION ALL "),
        ] {
            assert_eq!(refusal(&sql), "", "{}", &sql[..40]);
        }
    }

    #[test]
    fn everything_that_is_read_counts() {
        let derived: Vec<String> = (0..60).map(|n| format!("(TABLE t) a{n}")).collect();
        let unnested: Vec<String> = (0..60).map(|n| format!("unnest([1]) a{n}")).collect();
        let doubled: Vec<String> = (0..10)
            .map(|n| format!("w{} AS (SELECT a.x FROM w{n} a, w{n} b)", n + 1))
            .collect();
        for sql in [
            format!("SELECT 1 AS one FROM {}", unnested.join(", ")),
            format!(
                "WITH w0 AS (SELECT x FROM t), {} SELECT x FROM w10",
                doubled.join(", ")
            ),
        ] {
            assert!(refusal(&sql).contains("tables"), "{}", &sql[..60]);
        }
        // Either a limit or the parser rejects it.
        assert_ne!(
            refusal(&format!("SELECT 1 AS one FROM {}", derived.join(", "))),
            ""
        );
        let subqueries = ["EXISTS (VALUE (1))"; 200].join(", ");
        assert!(refusal(&format!("SELECT {subqueries}")).contains("64 subqueries"));
        assert!(refusal("SELECT a FROM t |> SELECT a").contains("pipe"));
        assert_eq!(
            refusal("WITH w AS (SELECT x FROM t, u) SELECT a.x FROM w a JOIN w b ON a.x = b.x"),
            ""
        );
    }
}
