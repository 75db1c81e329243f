//! Replays the checked-in corpus. It contains every input that once made a target fail.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use joust_fuzz::{Texts, World, targets};

fn replay(target: &str, run: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        // Shown when the test fails: the last one is the failing input.
        eprintln!("{}", file.display());
        run(&fs::read(file).unwrap());
    }
}

#[test]
fn arrow_uploads_are_rejected_or_decoded_to_valid_arrays() {
    replay("ipc", targets::ipc);
}

#[test]
fn query_bodies_are_rejected_or_answered() {
    let world = World::new();
    replay("query", |data| targets::query(&world, data));
}

#[test]
fn conditions_do_not_reach_rows_that_a_row_filter_hides() {
    let world = World::new();
    replay("condition", |data| targets::condition(&world, data));
}

#[test]
fn statements_are_rejected_or_planned() {
    let world = World::new();
    replay("sql", |data| targets::sql(&world, data));
}

#[test]
fn text_queries_are_rejected_or_searched() {
    let texts = Texts::new();
    replay("text", |data| targets::text(&texts, data));
}
