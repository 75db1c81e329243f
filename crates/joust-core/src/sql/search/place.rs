//! Checks the places of the searches in a statement, and names their relations.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{ObjectName, Statement, TableFactor, VisitMut, VisitorMut};

use super::{Searches, number};
use crate::error::{Error, Result};
use crate::sql::names::named;

impl Searches {
    /// Checks that each is a table in a FROM, and gives it an alias. Does nothing if they need values that are not
    /// known.
    pub fn place(&mut self, query: &mut Statement) -> Result<()> {
        if self.is_open || self.all.is_empty() {
            return Ok(());
        }
        match self.name_in(query)? == self.all.len() {
            true => Ok(()),
            false => Err(misplaced()),
        }
    }

    /// Gives an alias to each that is a table in a part of a statement. Returns their number.
    pub fn name_in(&mut self, part: &mut impl VisitMut) -> Result<usize> {
        let mut placed = 0;
        let visited = part.visit(&mut Places {
            searches: self,
            placed: &mut placed,
        });
        match visited {
            ControlFlow::Break(error) => Err(*error),
            ControlFlow::Continue(()) => Ok(placed),
        }
    }
}

/// The error of a search that is no table in a FROM.
pub fn misplaced() -> Error {
    Error::invalid(
        "a search is a table: SELECT ... FROM vector_search(...), text_search(...) or \
         hybrid_search(...)",
    )
}

struct Places<'a> {
    searches: &'a mut Searches,
    placed: &'a mut usize,
}

impl VisitorMut for Places<'_> {
    type Break = Box<Error>;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Box<Error>> {
        if is_named_join(factor) {
            return refuse("a search in parentheses has its alias inside of them");
        }
        let TableFactor::Table { name, alias, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let Some(search) = search_of(name).and_then(|number| self.searches.all.get_mut(number))
        else {
            return ControlFlow::Continue(());
        };
        *self.placed += 1;
        let alias = alias.get_or_insert_with(|| named(search.function.name()));
        if !alias.columns.is_empty() {
            return refuse("the alias of a search has no list of columns; name them in the SELECT");
        }
        search.alias.clone_from(&alias.name.value);
        ControlFlow::Continue(())
    }
}

/// The number of the search whose place a name is.
pub fn search_of(name: &ObjectName) -> Option<usize> {
    match name.0.as_slice() {
        [part] => part.as_ident().and_then(|ident| number(&ident.value)),
        _ => None,
    }
}

/// Whether it is a search in parentheses with an alias, which would hide the search's.
fn is_named_join(factor: &TableFactor) -> bool {
    let TableFactor::NestedJoin {
        table_with_joins,
        alias: Some(_),
    } = factor
    else {
        return false;
    };
    let joined = table_with_joins.joins.iter().map(|join| &join.relation);
    let mut inside = std::iter::once(&table_with_joins.relation).chain(joined);
    inside.any(
        |factor| matches!(factor, TableFactor::Table { name, .. } if search_of(name).is_some()),
    )
}

fn refuse(message: &str) -> ControlFlow<Box<Error>> {
    ControlFlow::Break(Box::new(Error::invalid(message)))
}
