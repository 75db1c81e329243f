//! Rows as JSON objects.

use std::collections::HashSet;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

use super::cell::{Cell, json_text};
use super::{MAX_JSON_BYTES, MAX_JSON_ROWS, too_large};
use crate::error::{Error, Result};
use crate::ipc::Encode;
use crate::names::short;

/// Writes rows in sequence.
struct Rows {
    /// The columns' names as JSON.
    names: Vec<String>,
    out: String,
}

impl Rows {
    /// Rejects duplicate names, because an object has each name once.
    fn new(schema: &Schema) -> Result<Self> {
        let mut seen = HashSet::new();
        for field in schema.fields() {
            if !seen.insert(field.name()) {
                return Err(Error::invalid(format!(
                    "the query gives two columns `{}`, and an object of JSON can have one: name them with \
                     AS, or ask for Arrow",
                    short(field.name())
                )));
            }
        }
        let fields = schema.fields().iter();
        Ok(Self {
            names: fields.map(|field| json_text(field.name())).collect(),
            out: String::new(),
        })
    }

    fn row(&mut self, cells: &[Cell<'_>], row: usize) -> Result<()> {
        self.out.push('{');
        for (at, (name, cell)) in self.names.iter().zip(cells).enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.out.push_str(name);
            self.out.push(':');
            cell.json(row, &mut self.out)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out).into_bytes()
    }
}

fn cells(batch: &RecordBatch) -> Result<Vec<Cell<'_>>> {
    let columns = batch.columns().iter();
    columns.map(|column| Cell::new(column)).collect()
}

/// `{"columns": [{"name", "type"}], "rows": [{}, …]}`, of bounded size.
pub struct Document {
    rows: Rows,
    count: u64,
}

impl Document {
    pub fn new(schema: &Schema) -> Result<Self> {
        let mut rows = Rows::new(schema)?;
        rows.out.push_str("{\"columns\":[");
        for (at, field) in schema.fields().iter().enumerate() {
            if at > 0 {
                rows.out.push(',');
            }
            rows.out.push_str("{\"name\":");
            rows.out.push_str(&rows.names[at]);
            rows.out.push_str(",\"type\":");
            rows.out
                .push_str(&json_text(&field.data_type().to_string()));
            rows.out.push('}');
        }
        rows.out.push_str("],\"rows\":[");
        Ok(Self { rows, count: 0 })
    }
}

impl Encode for Document {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let cells = cells(batch)?;
        for row in 0..batch.num_rows() {
            if self.count > 0 {
                self.rows.out.push(',');
            }
            self.rows.row(&cells, row)?;
            self.count += 1;
            if self.count > MAX_JSON_ROWS || self.rows.out.len() > MAX_JSON_BYTES {
                return Err(too_large());
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.rows.out.push_str("]}");
        Ok(())
    }

    fn pending(&mut self) -> usize {
        self.rows.out.len()
    }

    fn take(&mut self) -> Vec<u8> {
        self.rows.take()
    }
}

/// One object per line.
pub struct Lines(Rows);

impl Lines {
    pub fn new(schema: &Schema) -> Result<Self> {
        Rows::new(schema).map(Self)
    }
}

impl Encode for Lines {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let cells = cells(batch)?;
        for row in 0..batch.num_rows() {
            self.0.row(&cells, row)?;
            self.0.out.push('\n');
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn pending(&mut self) -> usize {
        self.0.out.len()
    }

    fn take(&mut self) -> Vec<u8> {
        self.0.take()
    }
}
