//! Prepared statements: a bounded number, in memory.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use tonic::Status;

use crate::backend::{Scope, Statement};
use crate::ids;
use crate::parameters::one_row;

/// Prepared statements of one caller. Beyond that, its least recently used one is closed.
pub const MOST_OF_A_CALLER: usize = 256;
/// Prepared statements of all callers.
const MOST: usize = 4_096;
/// Bytes of the statements of one caller and their parameters. Beyond that, its least recently used ones are closed.
const MOST_BYTES_OF_A_CALLER: usize = 16 << 20;
/// Bytes of all statements and their parameters.
const MOST_BYTES: usize = 64 << 20;
/// A statement that was not used for this long is closed.
pub const IDLE: Duration = Duration::from_secs(3_600);

/// A prepared statement.
#[derive(Debug, Clone)]
pub struct Prepared {
    caller: String,
    pub sql: String,
    pub scope: Scope,
    /// The rows of parameters, if they are bound.
    pub parameters: Option<RecordBatch>,
    used: Instant,
}

impl Prepared {
    /// With all rows of parameters.
    pub fn statement(&self) -> Statement {
        Statement {
            sql: self.sql.clone(),
            parameters: self.parameters.clone(),
            ..Statement::default()
        }
    }

    /// With the row of parameters that a query has.
    pub fn query(&self) -> Result<Statement, Status> {
        let mut query = self.statement();
        query.parameters = query.parameters.map(one_row).transpose()?.flatten();
        Ok(query)
    }

    fn bytes(&self) -> usize {
        let parameters = self.parameters.as_ref();
        self.sql.len() + parameters.map_or(0, RecordBatch::get_array_memory_size)
    }
}

/// The prepared statements of a server, by handle.
#[derive(Default)]
pub struct PreparedStatements {
    all: Mutex<HashMap<String, Prepared>>,
}

impl PreparedStatements {
    /// Returns the handle.
    pub fn create(&self, caller: &str, sql: String, scope: Scope) -> Result<String, Status> {
        let mut all = self.all();
        all.retain(|_, prepared| prepared.used.elapsed() < IDLE);
        make_room(&mut all, caller, None, sql.len());
        let bytes: usize = all.values().map(Prepared::bytes).sum();
        if all.len() >= MOST || bytes + sql.len() > MOST_BYTES {
            return Err(full());
        }
        let handle = ids::new();
        let prepared = Prepared {
            caller: caller.to_string(),
            sql,
            scope,
            parameters: None,
            used: Instant::now(),
        };
        all.insert(handle.clone(), prepared);
        Ok(handle)
    }

    /// A caller's statement.
    pub fn get(&self, caller: &str, handle: &[u8]) -> Result<(String, Prepared), Status> {
        let handle = String::from_utf8_lossy(handle).into_owned();
        let mut all = self.all();
        let prepared = find(&mut all, caller, &handle)?;
        prepared.used = Instant::now();
        Ok((handle, prepared.clone()))
    }

    pub fn bind(&self, caller: &str, handle: &[u8], rows: RecordBatch) -> Result<(), Status> {
        let handle = String::from_utf8_lossy(handle);
        let mut all = self.all();
        let sql = find(&mut all, caller, &handle)?.sql.len();
        make_room(
            &mut all,
            caller,
            Some(&handle),
            sql + rows.get_array_memory_size(),
        );
        let others = all.iter().filter(|(name, _)| **name != handle);
        let bytes: usize = others.map(|(_, known)| known.bytes()).sum();
        if bytes + rows.get_array_memory_size() > MOST_BYTES {
            return Err(full());
        }
        let prepared = find(&mut all, caller, &handle)?;
        prepared.parameters = (rows.num_columns() > 0).then_some(rows);
        prepared.used = Instant::now();
        Ok(())
    }

    /// No effect if there is none.
    pub fn close(&self, caller: &str, handle: &[u8]) {
        let handle = String::from_utf8_lossy(handle);
        let mut all = self.all();
        if find(&mut all, caller, &handle).is_ok() {
            all.remove(handle.as_ref());
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Prepared>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the least recently used statements of a caller until a statement of `bytes` fits in its share, or until it is
/// the only one. `handle`: the statement, if it exists.
fn make_room(
    all: &mut HashMap<String, Prepared>,
    caller: &str,
    handle: Option<&str>,
    bytes: usize,
) {
    loop {
        let others = all.iter().filter(|(name, known)| {
            known.caller == caller && handle.is_none_or(|handle| handle != name.as_str())
        });
        let held: usize = others.clone().map(|(_, known)| known.bytes()).sum();
        let count = others.clone().count();
        if count < MOST_OF_A_CALLER && held + bytes <= MOST_BYTES_OF_A_CALLER {
            return;
        }
        let oldest = others.min_by_key(|(_, known)| known.used);
        let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
            return;
        };
        all.remove(&oldest);
    }
}

fn find<'a>(
    all: &'a mut HashMap<String, Prepared>,
    caller: &str,
    handle: &str,
) -> Result<&'a mut Prepared, Status> {
    let prepared = all.get_mut(handle);
    prepared
        .filter(|prepared| prepared.caller == caller)
        .ok_or_else(|| {
            Status::not_found(
                "there is no prepared statement of this handle: it was closed, not used for an hour, or prepared on \
                 another server; prepare it again",
            )
        })
}

fn full() -> Status {
    Status::resource_exhausted(
        "the server has too many prepared statements; close some, or try again later",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_belongs_to_its_caller() {
        let statements = PreparedStatements::default();
        let scope = Scope::default();
        let handle = statements
            .create("a", "SELECT 1".to_string(), scope)
            .unwrap();
        assert_eq!(
            statements.get("a", handle.as_bytes()).unwrap().1.sql,
            "SELECT 1"
        );
        assert!(statements.get("b", handle.as_bytes()).is_err());
        statements.close("b", handle.as_bytes());
        assert!(statements.get("a", handle.as_bytes()).is_ok());
        statements.close("a", handle.as_bytes());
        assert!(statements.get("a", handle.as_bytes()).is_err());
    }

    #[test]
    fn the_number_of_a_caller_is_bounded() {
        let statements = PreparedStatements::default();
        let create = |caller: &str| {
            let sql = "SELECT 1".to_string();
            statements.create(caller, sql, Scope::default()).unwrap()
        };
        let other = create("b");
        let handles: Vec<String> = (0..=MOST_OF_A_CALLER).map(|_| create("a")).collect();
        assert!(statements.get("a", handles[0].as_bytes()).is_err());
        assert!(statements.get("a", handles[1].as_bytes()).is_ok());
        assert!(statements.get("b", other.as_bytes()).is_ok());
    }

    #[test]
    fn the_size_of_all_is_bounded() {
        let statements = PreparedStatements::default();
        let long = "x".repeat(MOST_BYTES_OF_A_CALLER);
        let create =
            |caller: &str, sql: &str| statements.create(caller, sql.to_string(), Scope::default());
        let first = create("a", &long).unwrap();
        for caller in ["b", "c", "d"] {
            create(caller, &long).unwrap();
        }
        assert!(create("e", "SELECT 1").is_err());
        statements.close("a", first.as_bytes());
        assert!(create("e", "SELECT 1").is_ok());
    }

    #[test]
    fn the_size_of_a_caller_is_bounded() {
        let statements = PreparedStatements::default();
        let create =
            |caller: &str, sql: String| statements.create(caller, sql, Scope::default()).unwrap();
        let quarter = MOST_BYTES_OF_A_CALLER / 4;
        let handles: Vec<String> = (0..20).map(|_| create("a", "x".repeat(quarter))).collect();
        create("b", "SELECT 1".to_string());
        let open = |at: usize| statements.get("a", handles[at].as_bytes()).is_ok();
        assert!(!open(15));
        assert!((16..20).all(open));
        let values: arrow::array::ArrayRef =
            std::sync::Arc::new(arrow::array::Int64Array::from(vec![0; quarter / 8]));
        let rows = RecordBatch::try_from_iter([("n", values)]).unwrap();
        statements.bind("a", handles[19].as_bytes(), rows).unwrap();
        assert!(!open(16));
        assert!(open(18) && open(19));
    }
}
