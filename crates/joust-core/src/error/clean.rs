//! Messages of Lance, DataFusion and Arrow are written for their developers: with source positions, variant names,
//! statements and dumps. Clients get one short sentence of them.

/// A message without source positions (`, /x/y.rs:1:2`) and without the prefixes that name an
/// error's variant.
pub(super) fn clean(message: &str) -> String {
    let text = without_positions(message.trim());
    // A dump may span several lines.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = without_statement(&text).to_string();
    for prefix in PREFIXES {
        text = text.replace(prefix, "");
    }
    // DataFusion asks its users to file a bug; joust's users should not do so.
    let text = without_dump(&text)
        .split(" This issue was likely caused by")
        .next();
    let text = text.unwrap_or_default().trim().trim_end_matches('.');
    match text {
        "" => "the request does not fit the table; the server's log says why".to_string(),
        _ => shorten(text),
    }
}

/// Names of error variants, which each layer of the engine prepends to its text.
const PREFIXES: &[&str] = &[
    "Error applying filter expression to batch: ",
    "LanceError(Arrow): ",
    "LanceError(IO): ",
    "LanceError(Schema): ",
    "LanceError(Index): ",
    "LanceError(Invalid user input): ",
    "Invalid user input: ",
    "Invalid argument error: ",
    "Query Execution error: ",
    "Execution error: ",
    "Schema error: ",
    "SQL error: ",
    "Arrow error: ",
    "Cast error: ",
    "Compute error: ",
    "Parser error: ",
    "Error during planning: ",
    "Optimizer rule 'simplify_expressions' failed caused by ",
    "This feature is not implemented: ",
    "External error: ",
    "Internal error: ",
];

/// Source positions end the text of one layer of the engine: `…, /x/y.rs:12:34`.
fn without_positions(text: &str) -> String {
    // A longer text repeats the client's input.
    const MOST: usize = 4_000;
    let end = text
        .char_indices()
        .nth(MOST)
        .map_or(text.len(), |(at, _)| at);
    let mut kept = String::with_capacity(end);
    for part in text[..end].split_inclusive(", ") {
        let (word, rest) = part
            .split_once([' ', '\n'])
            .unwrap_or((part.trim_end_matches(", "), ""));
        let is_position = word
            .split_once(".rs:")
            .is_some_and(|(_, place)| place.starts_with(|c: char| c.is_ascii_digit()));
        if is_position {
            kept.truncate(kept.trim_end_matches([',', ' ']).len());
            if !rest.is_empty() {
                kept.push(' ');
                kept.push_str(rest);
            }
        } else {
            kept.push_str(part);
        }
    }
    kept
}

/// Truncates a line, which may contain any client input.
fn shorten(text: &str) -> String {
    const MOST: usize = 500;
    let mut line = text.to_string();
    if let Some((end, _)) = line.char_indices().nth(MOST) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// The parser's message, without the statement that Lance built for parsing.
fn without_statement(text: &str) -> &str {
    match text.split_once("(sql parser error: ") {
        Some((_, found)) => found.strip_suffix(')').unwrap_or(found),
        None => text,
    }
}

/// The text before a debug dump of a Rust value: `Name(Name { field: …`.
fn without_dump(text: &str) -> &str {
    let Some(brace) = text.find(" { ") else {
        return text;
    };
    let name = text[..brace]
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || "_([".contains(c)))
        .map_or(0, |at| at + 1);
    let is_type = text[name..brace]
        .trim_start_matches(['(', '['])
        .starts_with(|c: char| c.is_ascii_uppercase());
    match is_type {
        true => text[..name].trim_end_matches([' ', ':', ',', ';', '=', '(', '[']),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_positions_and_variant_names_are_removed() {
        assert_eq!(
            clean(
                "Invalid user input: k must be positive, /build/lance-14.0.2/src/dataset/scanner.rs:2334:24"
            ),
            "k must be positive"
        );
        assert_eq!(
            clean(
                "LanceError(Arrow): Invalid argument error: bad cast, src/a.rs:1:2, src/b.rs:3:4"
            ),
            "bad cast"
        );
    }

    #[test]
    fn statements_and_dumps_are_removed() {
        assert_eq!(
            clean(
                "Error parsing statement: SELECT 1 FROM t WHERE (n =) (sql parser error: Expected: an expression, found: ))"
            ),
            "Expected: an expression, found: )"
        );
        assert_eq!(
            clean("Can't plan AggregateFunction(AggregateFunction { func: Inner { a: 1 } })"),
            "Can't plan"
        );
        assert_eq!(clean("expected { found }"), "expected { found }");
        assert_eq!(
            clean(
                "LanceError(Schema): Duplicate field name \"a\" in schema:\nSchema {\n    fields: [\n        Field {\n"
            ),
            "Duplicate field name \"a\" in schema"
        );
        assert_eq!(
            clean("can't cast column: LanceError(Arrow): Cast error: no number: [Field { id: 1 }]"),
            "can't cast column: no number"
        );
    }

    #[test]
    fn a_message_that_is_a_dump_and_nothing_else_is_replaced() {
        let message = clean("Schema error: Schema { fields: [Field { name: \"a\" }] }");
        assert!(message.contains("does not fit"), "{message}");
    }

    #[test]
    fn a_message_is_one_short_line() {
        assert_eq!(
            clean("regex parse error:\n    (\n    ^"),
            "regex parse error: ( ^"
        );
        assert_eq!(clean(&"é".repeat(1_000)).chars().count(), 501);
    }

    #[test]
    fn messages_without_positions_are_unchanged() {
        assert_eq!(clean("path = '/a/b', c"), "path = '/a/b', c");
    }
}
