//! Expressions that were checked lately: most clients send the same few again and again.

use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::Mutex;

use super::Expression;
use crate::error::Result;

/// Expressions that are remembered, and the bytes of the longest.
const MOST: usize = 1_000;
const LONGEST: usize = 1_000;

static KNOWN: LazyLock<Mutex<HashMap<String, Expression>>> = LazyLock::new(Mutex::default);

/// The expression of a text, which `check` makes when it is not known. What a text means does not
/// depend on any table.
pub fn get(sql: &str, check: impl FnOnce() -> Result<Expression>) -> Result<Expression> {
    if sql.len() > LONGEST {
        return check();
    }
    if let Some(known) = KNOWN.lock().get(sql) {
        return Ok(known.clone());
    }
    let checked = check()?;
    let mut known = KNOWN.lock();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(sql.to_string(), checked.clone());
    Ok(checked)
}
