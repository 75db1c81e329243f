//! The change feed of a table.

use joust_core::ipc::Format;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::promise::promise;
use crate::query::QueryAnswer;
use crate::running::guard;
use crate::table::{Table, millis, time, version_number};

/// Which changes of a table to read.
#[napi(object)]
pub struct ChangeOptions {
    /// Changes after this version; 0 reads all rows.
    pub from_version: f64,
    /// The newest version when absent.
    pub to_version: Option<f64>,
    /// All columns when absent.
    pub columns: Option<Vec<String>>,
    /// How long to wait for a version after `fromVersion`, ms.
    pub wait_millis: f64,
    /// Framing of the result.
    #[napi(ts_type = "'file' | 'stream'")]
    pub format: String,
    /// Only use a state that was checked after this time (ms since the epoch).
    pub min_timestamp_millis: Option<f64>,
    /// Do not read up to an older version, if this one exists.
    pub min_version: Option<f64>,
    /// Time that the request has left, ms; the engine stops its work then. No limit of its own when absent.
    pub timeout_ms: Option<f64>,
    /// A number that is unique among the running queries of this process; `cancelQuery` takes it.
    pub number: Option<f64>,
}

impl From<ChangeOptions> for joust_core::query::ChangeOptions {
    fn from(options: ChangeOptions) -> Self {
        Self {
            from: version_number(options.from_version),
            to: options.to_version.map(version_number),
            columns: options.columns,
            wait: millis(options.wait_millis),
            format: match options.format.as_str() {
                "file" => Format::File,
                _ => Format::Stream,
            },
            not_before: options.min_timestamp_millis.map(time),
            min_version: options.min_version.map(version_number),
            timeout: options.timeout_ms.map(millis),
        }
    }
}

#[napi]
impl Table {
    /// The rows that differ between two versions. The answer's version is the last one that it covers.
    #[napi(ts_return_type = "Promise<QueryAnswer>")]
    pub fn changes<'env>(
        &self,
        env: &'env Env,
        options: ChangeOptions,
    ) -> napi::Result<PromiseRaw<'env, QueryAnswer>> {
        let table = self.inner.clone();
        let number = options.number;
        let work = Box::pin(async move {
            let mut answer = table.changes(options.into()).await?;
            let first = answer.first().await?;
            Ok((first, answer))
        });
        promise(env, guard(number, work), QueryAnswer::from)
    }
}
