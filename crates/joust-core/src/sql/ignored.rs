//! Parts of a query that DataFusion parses and does not evaluate, or evaluates wrongly. joust refuses them.

use datafusion::sql::sqlparser::ast::{
    GroupByExpr, JoinConstraint, JoinOperator, Query, Select, SetExpr, SetOperator, SetQuantifier,
    TableFactor, TableWithJoins,
};

/// A clause of a query that DataFusion ignores.
pub fn ignored_clause(query: &Query) -> Option<&'static str> {
    [
        (!query.locks.is_empty(), "FOR UPDATE or FOR SHARE"),
        (
            query.for_clause.is_some(),
            "FOR XML, FOR JSON or FOR BROWSE",
        ),
        (query.settings.is_some(), "SETTINGS"),
        (query.format_clause.is_some(), "FORMAT"),
    ]
    .into_iter()
    .find_map(|(is_there, name)| is_there.then_some(name))
}

/// The same for a table in a FROM.
pub fn ignored_option(factor: &TableFactor) -> Option<&'static str> {
    let TableFactor::Table {
        with_hints,
        version,
        with_ordinality,
        partitions,
        json_path,
        sample,
        index_hints,
        ..
    } = factor
    else {
        return None;
    };
    [
        (sample.is_some(), "TABLESAMPLE"),
        (version.is_some(), "this way to name a version"),
        (!partitions.is_empty(), "PARTITION behind a table"),
        (*with_ordinality, "WITH ORDINALITY"),
        (json_path.is_some(), "a path behind a table"),
        (
            !with_hints.is_empty() || !index_hints.is_empty(),
            "a hint for the planner",
        ),
    ]
    .into_iter()
    .find_map(|(is_there, name)| is_there.then_some(name))
}

/// The same for a SELECT.
pub fn ignored_in_select(select: &Select) -> Option<&'static str> {
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = &select.group_by;
    [
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (
            !modifiers.is_empty(),
            "WITH ROLLUP, WITH CUBE or WITH TOTALS behind GROUP BY",
        ),
        (select.select_modifiers.is_some(), "a modifier of SELECT"),
        (select.value_table_mode.is_some(), "AS VALUE or AS STRUCT"),
    ]
    .into_iter()
    .find_map(|(is_there, name)| is_there.then_some(name))
}

/// Whether a FROM has a RIGHT or FULL join with USING or NATURAL. DataFusion takes the shared column from the left table
/// only.
pub fn shares_columns_of_right(from: &[TableWithJoins]) -> bool {
    let mut open: Vec<&TableWithJoins> = from.iter().collect();
    while let Some(tables) = open.pop() {
        for join in &tables.joins {
            if let JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint) = &join.join_operator
                && matches!(
                    constraint,
                    JoinConstraint::Using(_) | JoinConstraint::Natural
                )
            {
                return true;
            }
        }
        let joined = tables.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&tables.relation).chain(joined) {
            if let TableFactor::NestedJoin {
                table_with_joins, ..
            } = factor
            {
                open.push(table_with_joins);
            }
        }
    }
    false
}

/// Whether a query has INTERSECT ALL or EXCEPT ALL. DataFusion does not count equal rows: its result has too many or too
/// few.
pub fn counts_duplicates(body: &SetExpr) -> bool {
    // A stack, because the operations of a chain are nested.
    let mut open = vec![body];
    while let Some(body) = open.pop() {
        let SetExpr::SetOperation {
            op,
            set_quantifier,
            left,
            right,
        } = body
        else {
            continue;
        };
        let all = matches!(
            set_quantifier,
            SetQuantifier::All | SetQuantifier::AllByName
        );
        if all && !matches!(op, SetOperator::Union) {
            return true;
        }
        open.extend([left.as_ref(), right.as_ref()]);
    }
    false
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::Statement;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn intersect_all_and_except_all_count_duplicates() {
        let counts = |sql: &str| match &Parser::parse_sql(&GenericDialect, sql).unwrap()[..] {
            [Statement::Query(query)] => counts_duplicates(&query.body),
            _ => panic!("{sql}"),
        };
        for sql in [
            "SELECT 1 INTERSECT ALL SELECT 2",
            "SELECT 1 EXCEPT ALL SELECT 2",
            "SELECT 1 UNION SELECT 2 EXCEPT ALL SELECT 3 UNION ALL SELECT 4",
        ] {
            assert!(counts(sql), "{sql}");
        }
        for sql in [
            "SELECT 1 UNION ALL SELECT 2",
            "SELECT 1 INTERSECT SELECT 2 EXCEPT SELECT 3",
            "SELECT 1 EXCEPT DISTINCT SELECT 2",
        ] {
            assert!(!counts(sql), "{sql}");
        }
    }
}
