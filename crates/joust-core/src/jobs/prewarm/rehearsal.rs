//! Rehearsal: typical first queries of a table, without a client.
//!
//! They cover the cost that no cache avoids: page faults of the program, thread starts, and lazy initialization in
//! libraries. They also open the files of columns that are not cached.

use std::sync::Arc;

use futures::FutureExt;
use lance::Dataset;
use serde_json::json;

use crate::ipc::Format;
use crate::query::QueryOptions;
use crate::schema::vector_column::vector_element;
use crate::table::Table;

/// Columns per kind; more would have no additional effect.
const COLUMNS: usize = 4;
const ROWS: u64 = 10;

impl Table {
    /// Failures are ignored: a client's query reports them. `texts`: columns with a text index.
    pub(super) async fn rehearse(&self, dataset: &Arc<Dataset>, texts: &[String]) {
        let vectors = dataset.schema().fields.iter().filter_map(|field| {
            let (_, dimension) = vector_element(&field.data_type())?;
            let vector = vec![1; dimension];
            Some(json!({ "vector": vector, "vector_column": field.name, "k": ROWS }))
        });
        let mut bodies: Vec<_> = vectors.take(COLUMNS).collect();
        for column in texts.iter().take(COLUMNS) {
            let query = json!({ "columns": [column], "query": "a" });
            bodies.push(json!({ "full_text_query": query, "k": ROWS }));
        }
        for body in bodies {
            let options = QueryOptions {
                id: Vec::new(),
                format: Format::File,
                not_before: None,
                min_version: None,
                timeout: None,
            };
            let body = body.to_string();
            let query = self.query(body.as_bytes(), options).boxed();
            if let Ok(mut answer) = query.await {
                let _ = answer.first().await;
            }
        }
    }
}
