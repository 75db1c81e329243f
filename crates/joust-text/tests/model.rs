//! Searches compared with a plain computation of what they must find.

#![allow(clippy::unwrap_used)]

mod corpus;

use corpus::{Corpus, Table, brute_force};
use joust_text::query::{Fuzziness, Limits, Match, Operator, Phrase, Query};
use joust_text::search::Plan;
use proptest::prelude::*;

fn word() -> impl Strategy<Value = String> {
    // A small vocabulary, unevenly used, with words that are near one another.
    prop_oneof![
        4 => prop::sample::select(vec!["ant", "bee", "cat"]),
        2 => prop::sample::select(vec!["act", "ants", "bees", "cart", "dove"]),
        1 => prop::sample::select(vec!["elephant", "elephants", "falcon", "falkon"]),
    ]
    .prop_map(str::to_string)
}

fn text() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        1 => Just(None),
        20 => prop::collection::vec(word(), 0..60).prop_map(|words| Some(words.join(" "))),
        1 => prop::collection::vec(word(), 200..400).prop_map(|words| Some(words.join(" "))),
    ]
}

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 1..4).prop_map(|words| words.join(" "))
}

fn leaf() -> impl Strategy<Value = Query> {
    let fuzziness = prop_oneof![
        4 => Just(Fuzziness::Exact),
        1 => Just(Fuzziness::Auto),
        1 => Just(Fuzziness::Edits(1)),
        1 => Just(Fuzziness::Edits(2)),
    ];
    let column = prop::sample::select(vec!["x".to_string(), "y".to_string()]);
    let operator = prop::sample::select(vec![Operator::Or, Operator::And]);
    let matching = (
        column.clone(),
        words(),
        fuzziness,
        operator,
        0..3_usize,
        0..3_u8,
    )
        .prop_map(
            |(column, terms, fuzziness, operator, prefix_length, boost)| {
                Query::Match(Match {
                    column: Some(column),
                    fuzziness,
                    operator,
                    prefix_length,
                    boost: f32::from(boost) * 0.5 + 0.5,
                    ..Match::new(terms)
                })
            },
        );
    let phrase = (column, words()).prop_map(|(column, terms)| {
        Query::Phrase(Phrase {
            column: Some(column),
            terms,
            slop: 0,
            granularity: None,
        })
    });
    prop_oneof![4 => matching, 1 => phrase]
}

fn query() -> impl Strategy<Value = Query> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        let some = |least| prop::collection::vec(inner.clone(), least..3);
        prop_oneof![
            some(1).prop_map(Query::DisjunctionMax),
            (some(0), some(0), some(0)).prop_filter_map(
                "a boolean query needs what can be found",
                |(must, should, must_not)| {
                    let found = !must.is_empty() || !should.is_empty();
                    found.then_some(Query::Boolean {
                        must,
                        should,
                        must_not,
                    })
                }
            ),
            (inner.clone(), inner.clone(), 0..3_u8).prop_map(|(positive, negative, factor)| {
                Query::Boost {
                    positive: Box::new(positive),
                    negative: Box::new(negative),
                    negative_boost: f32::from(factor) * 0.25,
                }
            }),
        ]
    })
}

fn corpus() -> impl Strategy<Value = Corpus> {
    let row = (text(), text(), any::<bool>(), 0..4_usize);
    prop::collection::vec(row, 1..120).prop_map(|rows| Corpus { rows })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Rows, order and scores, whatever the segments, with and without a filter.
    #[test]
    fn a_search_finds_what_a_plain_computation_finds(
        corpus in corpus(),
        queries in prop::collection::vec(query(), 1..6),
        reach in 1..40_usize,
        modulus in 1..4_u64,
    ) {
        let table = Table::build(&corpus);
        for query in &queries {
            let expected = brute_force(&corpus, query);
            let plan = Plan::new(query, table.columns(), Limits::default(), &|| false).unwrap();
            for filter in [None, Some(modulus)] {
                let expected: Vec<_> = expected
                    .iter()
                    .filter(|hit| filter.is_none_or(|modulus| hit.row % modulus == 0))
                    .collect();
                let restrictions = filter.map(|modulus| table.restrict(|row| row % modulus == 0));
                let found = plan.search(reach, restrictions.as_deref(), &|| false).unwrap();
                prop_assert_eq!(found.len(), expected.len().min(reach), "{:?}", query);
                for (rank, (hit, wanted)) in found.iter().zip(&expected).enumerate() {
                    prop_assert!(
                        close(hit.score, wanted.score),
                        "rank {rank}: {hit:?} is not {wanted:?} for {query:?}"
                    );
                    // Rows whose scores differ only by rounding may change places.
                    let own = expected.iter().find(|other| other.row == hit.row);
                    prop_assert!(
                        own.is_some_and(|own| close(own.score, hit.score)),
                        "rank {rank}: {hit:?} is no such row for {query:?}"
                    );
                }
                let mut rows: Vec<u64> = found.iter().map(|hit| hit.row).collect();
                rows.sort_unstable();
                rows.dedup();
                prop_assert_eq!(rows.len(), found.len(), "a row was found twice");
            }
        }
    }
}

fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-4 * a.abs().max(b.abs()).max(1e-2)
}
