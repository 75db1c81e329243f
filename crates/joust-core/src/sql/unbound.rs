//! A query whose parameters have no values yet.

use std::ops::ControlFlow;

use arrow::datatypes::DataType;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement as Parsed;
use datafusion::sql::sqlparser::ast::{Statement as Ast, VisitMut};

use super::names::Names;

pub struct Unbound {
    parsed: Parsed,
    /// The number of parameters.
    pub count: usize,
}

impl Unbound {
    /// `ast`: the query with its placeholders.
    pub fn new(mut ast: Ast, count: usize) -> Self {
        let _: ControlFlow<()> = ast.visit(&mut Names::default());
        Self {
            parsed: Parsed::Statement(Box::new(ast)),
            count,
        }
    }

    /// The types of the parameters, as far as the query determines them. `context` has its tables.
    pub async fn parameter_types(&self, context: &SessionContext) -> Vec<Option<DataType>> {
        let mut types = vec![None; self.count];
        // A function may need the types of its arguments: the types of all parameters are then unknown.
        let planned = context.state().statement_to_plan(self.parsed.clone()).await;
        let determined = planned.and_then(|plan| plan.get_parameter_types());
        for (name, determined) in determined.unwrap_or_default() {
            let number = name
                .strip_prefix('$')
                .and_then(|name| name.parse::<usize>().ok());
            let place = number.and_then(|number| types.get_mut(number.wrapping_sub(1)));
            if let Some(place) = place {
                *place = determined;
            }
        }
        types
    }
}
