//! A cache of upload schemas: clients that insert send the same one with each request.

use std::collections::VecDeque;

use arrow::buffer::Buffer;
use arrow::datatypes::{Schema, SchemaRef};
use parking_lot::Mutex;

use crate::error::Result;

/// The most cached schemas.
const MANY: usize = 16;
/// The most bytes of a message with a cached schema, and of the schema: a message may contain a text once that the
/// schema repeats often.
const LONGEST: usize = 64 << 10;
const LARGEST: usize = 256 << 10;

/// Schemas by the metadata of their messages, the most recently used in front.
pub(super) struct KnownSchemas(Mutex<Known>);

type Known = VecDeque<(Buffer, SchemaRef)>;

impl KnownSchemas {
    pub const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// The schema of a message, decoded unless its bytes are in the cache. Equal messages get the same allocation,
    /// which comparisons of schemas check first.
    pub fn get_or_read(
        &self,
        metadata: &Buffer,
        read: impl FnOnce() -> Result<SchemaRef>,
    ) -> Result<SchemaRef> {
        if let Some(known) = found(&mut self.0.lock(), metadata) {
            return Ok(known);
        }
        let schema = read()?;
        if metadata.len() > LONGEST || size(&schema) > LARGEST {
            return Ok(schema);
        }
        let mut known = self.0.lock();
        // Another thread may have decoded it meanwhile.
        Ok(found(&mut known, metadata).unwrap_or_else(|| {
            known.truncate(MANY - 1);
            known.push_front((metadata.clone(), schema.clone()));
            schema
        }))
    }
}

/// A cached schema, which moves to the front.
fn found(known: &mut Known, metadata: &Buffer) -> Option<SchemaRef> {
    let place = known.iter().position(|(of, _)| of == metadata)?;
    if place > 0 {
        let found = known.remove(place)?;
        known.push_front(found);
    }
    known.front().map(|(_, schema)| schema.clone())
}

/// Approximate bytes of the fields and of the metadata.
fn size(schema: &Schema) -> usize {
    let metadata = schema.metadata().iter();
    let metadata = metadata.map(|(key, value)| key.len() + value.len());
    schema.fields().size() + metadata.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field};

    use super::*;
    use crate::error::Error;

    fn schema(name: &str) -> Result<SchemaRef> {
        let field = Field::new(name, DataType::Int32, true);
        Ok(Arc::new(Schema::new(vec![field])))
    }

    fn message(text: &str) -> Buffer {
        Buffer::from(text.as_bytes())
    }

    #[test]
    fn equal_messages_are_read_once() {
        let known = KnownSchemas::new();
        let first = known.get_or_read(&message("a"), || schema("a")).unwrap();
        let other = known.get_or_read(&message("b"), || schema("b")).unwrap();
        let again = known
            .get_or_read(&message("a"), || panic!("it was read before"))
            .unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(other.field(0).name(), "b");
    }

    fn keeps(known: &KnownSchemas, text: &str) -> bool {
        found(&mut known.0.lock(), &message(text)).is_some()
    }

    #[test]
    fn the_least_recently_used_schema_is_evicted_and_large_ones_are_not_cached() {
        let known = KnownSchemas::new();
        let names: Vec<String> = (0..MANY).map(|n| n.to_string()).collect();
        for name in &names {
            known.get_or_read(&message(name), || schema(name)).unwrap();
        }
        known.get_or_read(&message("0"), || schema("0")).unwrap();
        known.get_or_read(&message("x"), || schema("x")).unwrap();
        assert!(keeps(&known, "0"));
        assert!(!keeps(&known, "1"));
        let long = "x".repeat(LONGEST + 1);
        known.get_or_read(&message(&long), || schema("x")).unwrap();
        assert!(!keeps(&known, &long));
        let name = "x".repeat(LARGEST);
        known
            .get_or_read(&message("large"), || schema(&name))
            .unwrap();
        assert!(!keeps(&known, "large"));
        assert_eq!(known.0.lock().len(), MANY);
    }

    #[test]
    fn an_unreadable_schema_is_not_cached() {
        let known = KnownSchemas::new();
        let refused = known.get_or_read(&message("a"), || Err(Error::invalid("broken")));
        assert!(refused.is_err());
        assert!(!keeps(&known, "a"));
    }
}
