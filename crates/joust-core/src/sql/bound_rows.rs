//! Several rows of parameters of one statement.
//!
//! The body of a request is JSON and passes through the server. The rows stay here meanwhile, under a key that only
//! their holder knows.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use parking_lot::Mutex;
use serde_json::json;
use uuid::Uuid;

use super::change;
use super::parameters::Given;
use crate::error::{Error, Result};

static HELD: Mutex<Option<HashMap<Uuid, RecordBatch>>> = Mutex::new(None);

/// Rows of parameters, until this is dropped.
pub struct BoundRows {
    key: Uuid,
    names: Vec<String>,
}

impl BoundRows {
    /// Column *i* is `$i`, and `$name`.
    pub fn hold(rows: &RecordBatch) -> Result<Self> {
        let fields = rows.schema_ref().fields().iter();
        let names: Vec<String> = fields.clone().map(|field| field.name().clone()).collect();
        let numbered = fields
            .enumerate()
            .map(|(at, field)| Field::new(format!("${}", at + 1), field.data_type().clone(), true));
        let schema = Schema::new(numbered.collect::<Vec<_>>());
        let rows = RecordBatch::try_new(schema.into(), rows.columns().to_vec())?;
        let key = Uuid::new_v4();
        HELD.lock().get_or_insert_default().insert(key, rows);
        Ok(Self { key, names })
    }

    /// The body of a request for a statement: JSON `{query, rows, names}`.
    pub fn request_body(&self, query: &str) -> Vec<u8> {
        let body = json!({ "query": query, "rows": self.key.to_string(), "names": self.names });
        body.to_string().into_bytes()
    }
}

impl Drop for BoundRows {
    fn drop(&mut self) {
        if let Some(held) = HELD.lock().as_mut() {
            held.remove(&self.key);
        }
    }
}

/// The rows of a key, with the columns `$1`, `$2`, ….
pub(super) fn find(key: &str) -> Result<RecordBatch> {
    let found = Uuid::parse_str(key).ok().and_then(|key| {
        let held = HELD.lock();
        held.as_ref()?.get(&key).cloned()
    });
    found.ok_or_else(|| Error::invalid("`rows` are not the rows of a running statement"))
}

/// Whether one execution of a statement takes several rows of parameters: it is an `INSERT INTO t VALUES` of one row. A
/// statement that cannot be read takes none; its execution reports why.
pub fn takes_rows(query: &str) -> bool {
    let changing = change::read(query, Given::Open);
    let open = changing.ok().flatten().and_then(|changing| changing.open);
    open.is_some_and(|open| open.takes_rows())
}
