//! A cache of checked expressions: most clients repeat the same few.

use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::Mutex;

use super::Expression;
use crate::error::Result;

/// The most cached expressions, and the most bytes of one.
const MOST: usize = 1_000;
const LONGEST: usize = 1_000;

static KNOWN: LazyLock<Mutex<HashMap<String, Expression>>> = LazyLock::new(Mutex::default);

/// The expression of a text; `check` creates it if it is not cached. The result does not depend on any table.
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
