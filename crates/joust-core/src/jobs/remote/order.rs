//! What a job asks of workers, and what they hand back.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};

/// What workers need for one round of a job.
#[derive(Debug, Clone, Serialize)]
pub struct Order {
    /// Which module of `joust_worker` does the tasks.
    pub kind: &'static str,
    /// Path or URI of the table, or of the branch.
    pub location: String,
    /// The version to read.
    pub version: u64,
    /// The most tasks at the same time; `None`: as many as there are workers.
    pub concurrency: Option<usize>,
    pub tasks: Vec<Task>,
    /// Further members: an object, which the kind defines.
    #[serde(flatten)]
    pub details: Value,
    /// The stage in the progress of the job.
    #[serde(skip)]
    pub stage: &'static str,
    /// The Python function that the tasks call, as its client sent it; `None`: they call none.
    #[serde(skip)]
    pub function: Option<Vec<u8>>,
}

/// A part of the work of an order.
#[derive(Debug, Clone, Serialize)]
pub struct Task {
    /// Names what the job needs: another result has another key. Unique in an order.
    pub key: String,
    /// Its share of the progress, such as a number of rows.
    pub units: u64,
    /// Further members: an object, which the kind defines.
    #[serde(flatten)]
    pub details: Value,
}

/// What a worker hands over for a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Part {
    /// The key of the task.
    pub key: String,
    /// An object, which the kind defines.
    pub result: Value,
}

impl Order {
    /// All but the function.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|error| Error::internal("the order could not be written", error))
    }

    #[must_use]
    pub fn find(&self, key: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.key == key)
    }
}

impl Part {
    /// Code 13 for another text.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| invalid(&error))
    }

    /// The result as its kind defines it. Code 13 for another one.
    pub fn read<R: DeserializeOwned>(&self) -> Result<R> {
        R::deserialize(&self.result).map_err(|error| invalid(&error))
    }
}

fn invalid(error: &serde_json::Error) -> Error {
    Error::invalid(format!("the part of a worker is invalid: {error}"))
}

/// The members of an order or a task.
pub fn details(members: &impl Serialize) -> Result<Value> {
    serde_json::to_value(members)
        .map_err(|error| Error::internal("the order could not be written", error))
}

/// The key of a task: a hash of what determines its result, the same on every server.
pub fn key_of(determining: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    determining.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
