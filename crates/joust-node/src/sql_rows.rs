//! Statements without an encoding of their rows.

use joust_core::sql::{Description, Rows};
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::engine::Engine;
use crate::promise::promise;
use crate::running::guard;
use crate::sql::{SqlColumn, SqlOptions, SqlTarget, core_columns};
use crate::table::millis;

/// The rows of a statement that runs. Dropping them cancels the work.
#[napi]
pub struct SqlRows {
    pub(crate) inner: Option<Rows>,
}

#[napi]
impl SqlRows {
    /// Cancels the work; no effect after the rows were taken.
    #[napi]
    pub fn cancel(&mut self) {
        self.inner = None;
    }
}

/// The columns of a statement's result, and the types of its parameters.
#[napi]
pub struct SqlDescription {
    pub(crate) inner: Description,
}

#[napi]
impl SqlDescription {
    /// The names of the columns.
    #[napi(getter)]
    pub fn columns(&self) -> Vec<String> {
        let fields = self.inner.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }
}

#[napi]
impl Engine {
    /// Runs a statement, for the Flight SQL server. `body` and `options`: as for `sql`, without its format.
    #[napi(ts_return_type = "Promise<SqlRows>")]
    pub fn sql_rows<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: SqlOptions,
    ) -> napi::Result<PromiseRaw<'env, SqlRows>> {
        let engine = self.inner.clone();
        let body = body.to_vec();
        let number = options.number;
        let work = Box::pin(async move {
            let timeout = options.timeout_ms.map(millis);
            let (sources, listing) = options.into_core()?;
            engine.sql_rows(&body, sources, listing, timeout).await
        });
        promise(env, guard(number, work), |rows| SqlRows {
            inner: Some(rows),
        })
    }

    /// The result of a statement that the server ran, as for `sqlResult`.
    #[napi(ts_return_type = "Promise<SqlRows>")]
    pub fn sql_result_rows<'env>(
        &self,
        env: &'env Env,
        columns: Vec<SqlColumn>,
    ) -> napi::Result<PromiseRaw<'env, SqlRows>> {
        let engine = self.inner.clone();
        let work = async move { engine.sql_result_rows(core_columns(columns)).await };
        promise(env, Box::pin(work), |rows| SqlRows { inner: Some(rows) })
    }

    /// The types of the parameters of a statement that changes the rows of `target`. Nothing runs.
    #[napi(ts_return_type = "Promise<SqlDescription>")]
    pub fn describe_sql_change<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: SqlOptions,
        target: SqlTarget,
    ) -> napi::Result<PromiseRaw<'env, SqlDescription>> {
        let engine = self.inner.clone();
        let body = body.to_vec();
        let number = options.number;
        let work = Box::pin(async move {
            let fresh = options.fresh();
            let (sources, listing) = options.into_core()?;
            let table = (target.location, target.storage_options.unwrap_or_default());
            engine
                .describe_sql_change(&body, sources, listing, table, fresh)
                .await
        });
        promise(env, guard(number, work), |inner| SqlDescription { inner })
    }

    /// Plans a query and does not run it.
    #[napi(ts_return_type = "Promise<SqlDescription>")]
    pub fn describe_sql<'env>(
        &self,
        env: &'env Env,
        body: &[u8],
        options: SqlOptions,
    ) -> napi::Result<PromiseRaw<'env, SqlDescription>> {
        let engine = self.inner.clone();
        let body = body.to_vec();
        let number = options.number;
        let work = Box::pin(async move {
            let timeout = options.timeout_ms.map(millis);
            let (sources, listing) = options.into_core()?;
            engine.describe_sql(&body, sources, listing, timeout).await
        });
        promise(env, guard(number, work), |inner| SqlDescription { inner })
    }
}
