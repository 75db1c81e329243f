//! No text makes the parser take long.

use proptest::prelude::*;

use super::whole;

/// The start of a form, a bracket or an operand, after which the parser has to continue.
const OPENERS: &[&str] = &[
    "(",
    "[",
    "cast(",
    "CAST((",
    "not(",
    "not ",
    "case(",
    "case when ",
    "ceil(",
    "floor(",
    "position(",
    "substring(",
    "overlay(",
    "trim(",
    "extract(",
    "convert(",
    "interval ",
    "interval(",
    "interval case ",
    "array[",
    "case[",
    "exists(",
    "a.",
    "a.a[",
    "a.f(",
    "f(a => ",
    "f(a value ",
    "f(not value ",
    "f(case value ",
    "x in ((",
    "x = any(",
    "a[",
    "f(",
    "upper(",
    "current_date(",
    "localtime(",
    "struct(",
    "map(",
    "ARRAY<",
    "x in (",
    "x not in (",
    "- ",
    "~",
    "struct<a ",
    "try_cast(",
    "x between ",
    "1 + ",
    "a and not ",
    "date ",
    "a.cast(",
    "interval - ",
    "interval not ",
    "{a:",
    "tuple(",
    "nullable(",
    "case x when ",
    "case - x and ",
    "not (a) - ",
    "not x, ",
    "a = not ",
    "case x - ",
    "x::",
    "x collate ",
    "end - ",
    "then ",
    "is not ",
    "like not ",
    "floor - ",
    "array - ",
    "map - ",
    "position - ",
    "all(",
    "any(",
    "trim(both ",
    "values(",
    "row(",
    "lambda x : ",
    "x -> ",
];

/// A text with its closing brackets, without which the parser would not run.
fn closed(text: &str) -> String {
    let mut closers = Vec::new();
    for letter in text.chars() {
        match letter {
            '(' => closers.push(')'),
            '[' => closers.push(']'),
            '{' => closers.push('}'),
            ')' | ']' | '}' => drop(closers.pop()),
            _ => {}
        }
    }
    let closers = closers.iter().rev();
    text.chars().chain(closers.copied()).collect()
}

fn is_quick(text: &str) {
    let began = std::time::Instant::now();
    let _ = whole(text);
    let took = began.elapsed();
    // Unoptimized, and beside other tests. Exponential work would take years.
    assert!(took.as_millis() < 2_000, "{text}: {took:?}");
}

#[test]
fn the_parser_reads_nested_openers_in_bounded_time() {
    for first in OPENERS {
        for second in OPENERS {
            for end in ["x", "x y z", ""] {
                let nested = format!("{first}{second}").repeat(22);
                is_quick(&closed(&format!("{nested}{end}")));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_parser_reads_any_mixture_in_bounded_time(
        parts in prop::collection::vec(
            prop_oneof![
                8 => prop::sample::select(OPENERS),
                1 => prop::sample::select(vec![")", "]", " and ", " end ", ", ", " - ", "x", " or "]),
            ],
            0..80,
        ),
    ) {
        is_quick(&closed(&parts.concat()));
    }
}
