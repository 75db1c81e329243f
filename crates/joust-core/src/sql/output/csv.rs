//! Rows as CSV (RFC 4180) with a header. Null is an empty field; an empty text is `""`.

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

use super::cell::Cell;
use crate::error::Result;
use crate::ipc::Encode;

pub struct Csv {
    out: String,
}

impl Csv {
    pub fn new(schema: &Schema) -> Self {
        let mut csv = Self { out: String::new() };
        for (at, field) in schema.fields().iter().enumerate() {
            csv.field(at, field.name());
        }
        csv.out.push_str("\r\n");
        csv
    }

    fn field(&mut self, at: usize, text: &str) {
        if at > 0 {
            self.out.push(',');
        }
        if text.is_empty() || text.contains([',', '"', '\r', '\n']) {
            self.out.push('"');
            self.out.push_str(&text.replace('"', "\"\""));
            self.out.push('"');
        } else {
            self.out.push_str(text);
        }
    }
}

impl Encode for Csv {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter();
        let cells: Vec<Cell<'_>> = columns
            .map(|column| Cell::new(column))
            .collect::<Result<_>>()?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for (at, cell) in cells.iter().enumerate() {
                if cell.is_null(row) {
                    if at > 0 {
                        self.out.push(',');
                    }
                    continue;
                }
                text.clear();
                cell.plain(row, &mut text)?;
                self.field(at, &text);
            }
            self.out.push_str("\r\n");
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn pending(&mut self) -> usize {
        self.out.len()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out).into_bytes()
    }
}
