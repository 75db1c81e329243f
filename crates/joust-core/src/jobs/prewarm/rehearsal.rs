//! The first queries of a table, asked by nobody.
//!
//! They pay for what no cache holds: pages of the program itself, threads that start, what libraries make
//! at their first use; and columns that are not kept have their files opened.

use std::sync::Arc;

use futures::FutureExt;
use lance::Dataset;
use serde_json::json;

use crate::ipc::Format;
use crate::query::QueryOptions;
use crate::schema::vector_column::vector_element;
use crate::table::Table;

/// Columns that are asked of each kind; more would teach nothing new.
const COLUMNS: usize = 4;
const ROWS: u64 = 10;

impl Table {
    /// What fails here fails for who asks in earnest, and is told then.
    /// `texts`: columns that have a text index.
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
            };
            let body = body.to_string();
            let query = self.query(body.as_bytes(), options).boxed();
            if let Ok(mut answer) = query.await {
                let _ = answer.first().await;
            }
        }
    }
}
