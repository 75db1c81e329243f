//! Schemas that uploads had of late: clients that insert send the same one with each request.

use std::collections::VecDeque;

use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use parking_lot::Mutex;

use crate::error::Result;

/// Schemas that are kept.
const MANY: usize = 16;
/// Bytes of a message whose schema is kept.
const LONGEST: usize = 64 << 10;

/// Schemas by the metadata of their messages, those that were asked for last in front.
pub(super) struct KnownSchemas(Mutex<VecDeque<(Buffer, SchemaRef)>>);

impl KnownSchemas {
    pub const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// The schema of a message, read unless its bytes are those of one that is kept. Equal messages
    /// get the same allocation, which comparisons of schemas look at first.
    pub fn get_or_read(
        &self,
        metadata: &Buffer,
        read: impl FnOnce() -> Result<SchemaRef>,
    ) -> Result<SchemaRef> {
        if let Some(known) = self.get(metadata) {
            return Ok(known);
        }
        let schema = read()?;
        if metadata.len() <= LONGEST {
            let mut known = self.0.lock();
            known.truncate(MANY - 1);
            known.push_front((metadata.clone(), schema.clone()));
        }
        Ok(schema)
    }

    fn get(&self, metadata: &Buffer) -> Option<SchemaRef> {
        let mut known = self.0.lock();
        let place = known.iter().position(|(of, _)| of == metadata)?;
        if place > 0 {
            let found = known.remove(place)?;
            known.push_front(found);
        }
        known.front().map(|(_, schema)| schema.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};

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

    #[test]
    fn those_that_nobody_asks_for_go_first_and_long_ones_are_not_kept() {
        let known = KnownSchemas::new();
        let names: Vec<String> = (0..MANY).map(|n| n.to_string()).collect();
        for name in &names {
            known.get_or_read(&message(name), || schema(name)).unwrap();
        }
        known.get_or_read(&message("0"), || schema("0")).unwrap();
        known.get_or_read(&message("x"), || schema("x")).unwrap();
        assert!(known.get(&message("0")).is_some());
        assert!(known.get(&message("1")).is_none());
        let long = message(&"x".repeat(LONGEST + 1));
        known.get_or_read(&long, || schema("x")).unwrap();
        assert!(known.get(&long).is_none());
        assert_eq!(known.0.lock().len(), MANY);
    }

    #[test]
    fn what_cannot_be_read_is_not_kept() {
        let known = KnownSchemas::new();
        let refused = known.get_or_read(&message("a"), || Err(Error::invalid("broken")));
        assert!(refused.is_err());
        assert!(known.get(&message("a")).is_none());
    }
}
