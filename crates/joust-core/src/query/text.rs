//! Text queries for Lance's native full-text index.

use joust_text::query::{CombinedFields, Fuzziness, Granularity, Match, Operator, Phrase, Query};
use lance_index::scalar::FullTextSearchQuery;
use lance_index::scalar::inverted::DocumentGranularity;
use lance_index::scalar::inverted::query as native;

use crate::error::{Error, Result};

/// Converts a query to Lance's form.
pub fn native(query: &Query, limit: u64) -> Result<FullTextSearchQuery> {
    let limit = i64::try_from(limit).ok().filter(|limit| *limit < i64::MAX);
    Ok(FullTextSearchQuery::new_query(convert(query)?).limit(limit))
}

fn convert(query: &Query) -> Result<native::FtsQuery> {
    let all = |queries: &[Query]| queries.iter().map(convert).collect::<Result<Vec<_>>>();
    Ok(match query {
        Query::Match(query) => matching(query).into(),
        Query::Phrase(query) => phrase(query).into(),
        Query::Boost {
            positive,
            negative,
            negative_boost,
        } => native::BoostQuery::new(
            convert(positive)?,
            convert(negative)?,
            Some(*negative_boost),
        )
        .into(),
        Query::DisjunctionMax(queries) => disjunction_max(queries)?,
        Query::CombinedFields(query) => combined_fields(query)?.into(),
        Query::Boolean {
            must,
            should,
            must_not,
        } => native::FtsQuery::Boolean(native::BooleanQuery {
            must: all(must)?,
            should: all(should)?,
            must_not: all(must_not)?,
        }),
    })
}

fn matching(query: &Match) -> native::MatchQuery {
    native::MatchQuery {
        column: query.column.clone(),
        terms: query.terms.clone(),
        boost: query.boost,
        fuzziness: match query.fuzziness {
            Fuzziness::Exact => Some(0),
            Fuzziness::Auto => None,
            Fuzziness::Edits(edits) => Some(u32::from(edits)),
        },
        max_expansions: query.max_expansions,
        operator: operator(query.operator),
        prefix_length: query.prefix_length as u32,
        document_granularity: query.granularity.map(granularity),
    }
}

fn phrase(query: &Phrase) -> native::PhraseQuery {
    native::PhraseQuery {
        column: query.column.clone(),
        terms: query.terms.clone(),
        slop: query.slop,
        document_granularity: query.granularity.map(granularity),
    }
}

/// Lance supports a disjunction over columns for words only.
fn disjunction_max(queries: &[Query]) -> Result<native::FtsQuery> {
    let match_queries = queries.iter().map(|query| match query {
        Query::Match(query) => Ok(matching(query)),
        _ => Err(Error::invalid(
            "a phrase over several columns needs an FTS index on each; name one column",
        )),
    });
    let match_queries = match_queries.collect::<Result<_>>()?;
    Ok(native::MultiMatchQuery { match_queries }.into())
}

fn combined_fields(query: &CombinedFields) -> Result<native::CombinedFieldsQuery> {
    let combined =
        native::CombinedFieldsQuery::try_new(query.terms.clone(), query.columns.clone())?;
    let combined = match &query.boost {
        Some(boosts) => combined.try_with_boosts(boosts.clone())?,
        None => combined,
    };
    Ok(combined.with_operator(operator(query.operator)))
}

fn operator(operator: Operator) -> native::Operator {
    match operator {
        Operator::And => native::Operator::And,
        Operator::Or => native::Operator::Or,
    }
}

fn granularity(granularity: Granularity) -> DocumentGranularity {
    match granularity {
        Granularity::Row => DocumentGranularity::Row,
        Granularity::ListElement => DocumentGranularity::ListElement,
    }
}
