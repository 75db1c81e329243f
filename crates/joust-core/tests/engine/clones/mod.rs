//! Shallow clones read the files of their source, whatever happens to both.

#![allow(clippy::unwrap_used)]

mod independent;
mod indexes;
mod lineage;
mod tags;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, FixedSizeListArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Float32Type, Int64Type};
use joust_core::ipc::Format;
use joust_core::query::QueryOptions;
use joust_core::table::{CloneSource, ReadOptions};
use joust_core::{Code, Result, Table, WorkContext, ipc};
use serde_json::{Value, json};

use crate::place::Place;
use crate::sent::upload;

/// Rows with an id, a text with words of its own and of all rows, and a vector.
fn rows(ids: std::ops::Range<i64>) -> ipc::UploadReader {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(ids.clone()));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        ids.clone().map(|id| format!("apple number{id}")),
    ));
    let vectors = ids.map(|id| Some([Some(id as f32), Some(1.0)]));
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2);
    let batch = RecordBatch::try_from_iter([
        ("id", numbers),
        ("text", texts),
        ("vector", Arc::new(vectors) as ArrayRef),
    ]);
    upload(&batch.unwrap())
}

/// A source of three versions with 30, 60 and 50 rows.
async fn source(place: &Place) -> Table {
    let table = place.table("source");
    table.create(rows(0..30), false).await.unwrap();
    table.append(rows(30..60)).await.unwrap();
    table.delete("id < 10").await.unwrap();
    table
}

/// A shallow clone of a state, with a tag as the server makes it.
async fn cloned(place: &Place, name: &str, of: &Table, state: CloneSource) -> Table {
    let tag = tag_of(name);
    of.tag_for_clone(state, &tag).await.unwrap();
    let clone = place.table(name);
    clone.clone_shallow(of, &tag).await.unwrap();
    clone
}

fn tag_of(clone: &str) -> String {
    format!("joust-clone-{clone}")
}

fn at(version: u64) -> CloneSource {
    CloneSource {
        version: Some(version),
        tag: None,
    }
}

/// All files below a directory, relative to it.
fn files(directory: &Path) -> BTreeSet<PathBuf> {
    fn add(directory: &Path, base: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => add(&path, base, found),
                false => drop(found.insert(path.strip_prefix(base).unwrap().to_path_buf())),
            }
        }
    }
    let mut found = BTreeSet::new();
    add(directory, directory, &mut found);
    found
}

/// The ids of the rows of a query, in their order.
async fn query(table: &Table, query: Value) -> Vec<i64> {
    let options = QueryOptions {
        id: vec!["t".into()],
        format: Format::File,
        not_before: None,
        min_version: None,
        timeout: None,
    };
    let body = serde_json::to_vec(&query).unwrap();
    let mut answer = table.query(&body, options).await.unwrap();
    let mut bytes = answer.first().await.unwrap();
    while let Some(part) = answer.next().await.unwrap() {
        bytes.extend(part);
    }
    let reader = arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None);
    let batches = reader.unwrap().map(std::result::Result::unwrap);
    batches
        .flat_map(|batch| {
            let ids = batch.column_by_name("id").unwrap();
            ids.as_primitive::<Int64Type>().values().to_vec()
        })
        .collect()
}

/// The ids of all rows, as another server reads them.
async fn ids(place: &Place, name: &str) -> Vec<i64> {
    let table = place.beside().table(name);
    let mut ids = query(&table, json!({ "k": 1_000, "columns": ["id"] })).await;
    ids.sort_unstable();
    ids
}

fn code<T: std::fmt::Debug>(outcome: Result<T>) -> Code {
    outcome.unwrap_err().code()
}

async fn clean_up(table: &Table) {
    table.clean_up(Duration::ZERO, None).await.unwrap();
}

async fn count(table: &Table) -> u64 {
    let newest = ReadOptions::default();
    table.count_rows(None, newest).await.unwrap()
}

async fn index(table: &Table, column: &str, kind: &str) {
    let spec = json!({ "column": column, "index_type": kind, "num_partitions": 2 }).to_string();
    let work = WorkContext::default();
    table.create_index(&spec, &work).await.unwrap();
}

/// A search for a word, of all rows that have it.
fn text(word: &str) -> Value {
    let words = json!({ "string_query": { "query": word } });
    json!({ "full_text_query": words, "k": 1_000, "columns": ["id"] })
}
