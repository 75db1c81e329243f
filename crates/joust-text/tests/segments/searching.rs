//! What is skipped on the way to the best rows, scores, and limits.

use std::path::Path;
use std::sync::Arc;

use joust_text::Error;
use joust_text::analysis::{Analysis, Params};
use joust_text::query::{CombinedFields, Fuzziness, Limits, Match, Operator, Phrase, Query};
use joust_text::search::Plan;
use joust_text::segment::{Builder, Segment, merge};
use joust_text::view::{Part, View};

use super::{Random, analysis, plan, queries, same, search, segment, texts, view, words};

#[test]
fn nothing_that_belongs_to_the_best_is_skipped() {
    let analysis = analysis();
    let segments: Vec<_> = texts()
        .iter()
        .map(|rows| segment(&analysis, rows))
        .collect();
    for view in [
        view(&segments, |_| true),
        view(&segments, |row| row % 7 == 0),
    ] {
        for query in queries() {
            let everything = search(&view, &query, usize::MAX);
            for reach in [1, 10, 100] {
                let best = search(&view, &query, reach);
                same(&best, &everything[..reach.min(everything.len())]);
            }
        }
    }
}

#[test]
fn rows_of_equal_score_come_in_the_order_of_their_ids() {
    let analysis = analysis();
    let segment_of = |index: u64| {
        let rows = (0..500).map(|row| (index * 500 + row, "same words".to_string()));
        segment(&analysis, &rows.collect::<Vec<_>>())
    };
    // The lower ids are in the later segments, in the earlier ones, and in those between.
    for order in [[3, 2, 1, 0], [0, 1, 2, 3], [2, 0, 3, 1]] {
        let segments = order.map(segment_of);
        let view = view(&segments, |row| row >= 10);
        for reach in [1, 10, 700] {
            for query in ["words", "words same", "same words none"] {
                let found = search(&view, &words(query, Operator::Or), reach);
                let rows: Vec<u64> = found.iter().map(|hit| hit.row).collect();
                let expected: Vec<u64> = (10..10 + reach as u64).collect();
                assert_eq!(rows, expected, "{order:?} {query}");
            }
        }
    }
}

#[test]
fn scores_do_not_depend_on_segments_nor_on_dead_rows() {
    let analysis = analysis();
    let texts = texts();
    let visible = |row: u64| !row.is_multiple_of(3);
    let spread: Vec<_> = texts.iter().map(|rows| segment(&analysis, rows)).collect();
    let alive = texts.iter().flatten().filter(|(row, _)| visible(*row));
    let alone = segment(&analysis, &alive.cloned().collect::<Vec<_>>());
    let directory = tempfile::tempdir().unwrap();
    let keep: Vec<(&Segment, &dyn Fn(u64) -> bool)> = spread
        .iter()
        .map(|segment| (segment.as_ref(), &visible as &dyn Fn(u64) -> bool))
        .collect();
    let merged = merge(&keep, directory.path()).unwrap().unwrap();
    assert_eq!(merged.documents, u64::from(alone.documents()));
    let views = [
        view(&spread, visible),
        view(&[alone], |_| true),
        view(&[merged.open().unwrap()], |_| true),
    ];
    for query in queries() {
        let found = views.each_ref().map(|view| search(view, &query, 20));
        same(&found[0], &found[1]);
        same(&found[2], &found[1]);
    }
}

#[test]
fn a_phrase_does_not_span_the_texts_of_a_list() {
    let analysis = analysis();
    let mut builder = Builder::in_memory(&analysis, Path::new("none"), usize::MAX).unwrap();
    builder.add(1, ["red green", "blue"]).unwrap();
    builder.add(2, ["red", "green blue"]).unwrap();
    let segment = builder.finish().unwrap().unwrap().open().unwrap();
    let view = view(&[segment], |_| true);
    let found = search(&view, &phrase("green blue"), 10);
    assert_eq!(found.iter().map(|hit| hit.row).collect::<Vec<_>>(), [2]);
}

fn phrase(terms: &str) -> Query {
    Query::Phrase(Phrase {
        column: Some("x".into()),
        terms: terms.into(),
        slop: 0,
        granularity: None,
    })
}

#[test]
fn a_phrase_needs_positions() {
    let analysis = Arc::new(Analysis::new(&Params::default()).unwrap());
    let segment = segment(&analysis, &[(1, "a cat".to_string())]);
    let parts = vec![Arc::new(Part::whole(segment).unwrap())];
    let view = Arc::new(View::new(analysis, parts).unwrap());
    let error = plan(&view, &phrase("two words")).err().unwrap();
    assert!(error.to_string().contains("with_position"), "{error}");
    // One word is a word.
    assert_eq!(search(&view, &phrase("cats"), 10).len(), 1);
}

#[test]
fn words_that_stand_for_too_much_are_refused() {
    let analysis = analysis();
    let rows: Vec<_> = (0..3_000).map(|row| (row, format!("x{row}"))).collect();
    let view = view(&[segment(&analysis, &rows)], |_| true);
    let terms: Vec<String> = (0..3_000).map(|word| format!("x{word}")).collect();
    let many = words(&terms.join(" "), Operator::Or);
    let fuzzy = Query::DisjunctionMax(
        (0..30)
            .map(|word| {
                Query::Match(Match {
                    column: Some("x".into()),
                    fuzziness: Fuzziness::Edits(2),
                    max_expansions: 1_000,
                    ..Match::new(format!("x{word}00"))
                })
            })
            .collect(),
    );
    for query in [many, fuzzy] {
        let error = plan(&view, &query).err().unwrap();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        assert!(error.to_string().contains("2048 terms"), "{error}");
    }
}

#[test]
fn expansions_are_the_nearest_and_the_most_frequent() {
    let analysis = analysis();
    let mut rows = vec![(0, "falcon".to_string()), (1, "falcom".to_string())];
    rows.extend((2..12).map(|row| (row, "falkon".to_string())));
    let view = view(&[segment(&analysis, &rows)], |_| true);
    let fuzzy = |max_expansions| {
        Query::Match(Match {
            column: Some("x".into()),
            fuzziness: Fuzziness::Auto,
            max_expansions,
            ..Match::new("falcon")
        })
    };
    let rows = |query| -> Vec<u64> {
        search(&view, &query, 100)
            .iter()
            .map(|hit| hit.row)
            .collect()
    };
    assert_eq!(rows(fuzzy(0)), [0]);
    assert_eq!(rows(fuzzy(2)), [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    // The word itself is best, though the others have more rows or fewer.
    assert_eq!(rows(fuzzy(50))[0], 0);
    assert_eq!(rows(fuzzy(50)).len(), 12);
}

#[test]
fn an_interrupted_search_ends() {
    let analysis = analysis();
    let segments: Vec<_> = texts()
        .iter()
        .map(|rows| segment(&analysis, rows))
        .collect();
    let view = view(&segments, |_| true);
    let plan = plan(&view, &words("w0 w1", Operator::Or)).unwrap();
    let ended = plan.search(10, None, &|| true);
    assert!(matches!(ended, Err(Error::Interrupted)));
}

#[test]
fn combined_columns_are_scored_as_one_text() {
    let analysis = analysis();
    let mut random = Random(5);
    let rows: Vec<(String, String)> = (0..2_000)
        .map(|_| (random.text(10), random.text(20)))
        .collect();
    let column = |text: &dyn Fn(&(String, String)) -> String| {
        let texts: Vec<(u64, String)> = rows
            .iter()
            .enumerate()
            .map(|(row, texts)| (row as u64, text(texts)))
            .collect();
        let halves = texts.chunks(1_200).map(|half| segment(&analysis, half));
        view(&halves.collect::<Vec<_>>(), |row| row % 5 != 0)
    };
    let columns = vec![
        ("a".to_string(), column(&|(a, _)| a.clone())),
        ("b".to_string(), column(&|(_, b)| b.clone())),
    ];
    let whole = column(&|(a, b)| format!("{a} {b}"));
    for operator in [Operator::And, Operator::Or] {
        let combined = Query::CombinedFields(CombinedFields {
            terms: "w1 w2 w30".into(),
            columns: vec!["a".into(), "b".into()],
            boost: None,
            operator,
        });
        let plan = Plan::new(&combined, columns.clone(), Limits::default(), &|| false).unwrap();
        let found = plan.search(50, None, &|| false).unwrap();
        let expected = search(&whole, &words("w1 w2 w30", operator), 50);
        assert!(!expected.is_empty());
        same(&found, &expected);
        let even: Vec<_> = columns
            .iter()
            .map(|(_, view)| view.restrict(|row| row % 2 == 0))
            .collect();
        let found = plan.search(5_000, Some(&even), &|| false).unwrap();
        let mut expected = search(&whole, &words("w1 w2 w30", operator), 5_000);
        expected.retain(|hit| hit.row % 2 == 0);
        same(&found, &expected);
        // It measures the texts of all rows, however rare the words are.
        assert!(plan.work().unwrap() >= 2 * 1_600);
    }
}

#[test]
fn combined_columns_with_texts_in_different_rows_have_scores_above_zero() {
    let analysis = analysis();
    let column = |texts: &[&str], first: u64| {
        let rows: Vec<_> = texts.iter().map(ToString::to_string).collect();
        let rows: Vec<_> = (first..).zip(rows).collect();
        view(&[segment(&analysis, &rows)], |_| true)
    };
    let columns = vec![
        (
            "a".to_string(),
            column(&["apple", "apple apple apple", "apple rare"], 0),
        ),
        ("b".to_string(), column(&["apple", "apple", "rare"], 3)),
    ];
    let scores = |words: &str| -> Vec<(u64, f32)> {
        let combined = Query::CombinedFields(CombinedFields {
            terms: words.into(),
            columns: vec!["a".into(), "b".into()],
            boost: None,
            operator: Operator::Or,
        });
        let plan = Plan::new(&combined, columns.clone(), Limits::default(), &|| false).unwrap();
        let hits = plan.search(10, None, &|| false).unwrap();
        hits.iter().map(|hit| (hit.row, hit.score)).collect()
    };
    let apples = scores("apple");
    assert_eq!(apples.len(), 5);
    assert!(apples.iter().all(|(_, score)| *score > 0.0), "{apples:?}");
    assert_eq!(apples[0].0, 1);
    // A second word adds to the score of a row.
    let of_row_2 = |words| {
        let found = scores(words);
        let own = found.iter().find(|(row, _)| *row == 2);
        own.map_or(0.0, |(_, score)| *score)
    };
    assert!(of_row_2("apple rare") > of_row_2("rare"));
}
