//! Clean-up of old versions, in agreement with other processes.

use joust_core::jobs::maintenance;
use joust_core::work::cancelled;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::promise::promise;
use crate::table::{Table, millis, version_number};
use crate::task::Task;

/// Removed versions, and the bytes of the files that only they referenced.
#[napi(object)]
pub struct CleanedUp {
    pub versions: f64,
    pub bytes: f64,
    /// Versions that are old enough and stay, because a read, write, tag, branch, clone or restore uses them.
    pub in_use: f64,
}

/// A planned clean-up with its candidates. Until it has run or is ended, it spares candidates that are pinned
/// meanwhile.
#[napi]
pub struct CleanUp {
    versions: Vec<f64>,
    inner: Option<maintenance::CleanUp>,
}

#[napi]
impl CleanUp {
    /// Versions that are old enough.
    #[napi(getter)]
    pub fn versions(&self) -> Vec<f64> {
        self.versions.clone()
    }

    /// Removes them, except those in `inUse`, which other processes use, and those in use here. Can be called once.
    #[napi(ts_return_type = "Promise<CleanedUp>")]
    pub fn run<'env>(
        &mut self,
        env: &'env Env,
        in_use: Vec<f64>,
        task: &Task,
    ) -> napi::Result<PromiseRaw<'env, CleanedUp>> {
        let clean_up = self.inner.take();
        let in_use = in_use.into_iter().map(version_number).collect();
        let work = async move {
            match clean_up {
                Some(clean_up) => clean_up.run(&in_use).await,
                None => Err(cancelled()),
            }
        };
        promise(env, task.guard(work), |done| CleanedUp {
            versions: done.versions as f64,
            bytes: done.bytes as f64,
            in_use: done.in_use as f64,
        })
    }

    /// Cancels the clean-up; no effect after it has run.
    #[napi]
    pub fn end(&mut self) {
        self.inner = None;
    }
}

/// The versions that this process allows another one to remove.
#[napi]
pub struct RemovalPermit {
    in_use: Vec<f64>,
    inner: Option<maintenance::RemovalPermit>,
}

#[napi]
impl RemovalPermit {
    /// Versions that must stay.
    #[napi(getter)]
    pub fn in_use(&self) -> Vec<f64> {
        self.in_use.clone()
    }

    /// Ends the agreement: the other process has finished.
    #[napi]
    pub fn end(&mut self) {
        self.inner = None;
    }
}

#[napi]
impl Table {
    /// Selects versions that were replaced longer than `age_ms` ago, and that are older than version `below` if it is
    /// set. Tagged versions, those from which branches start, and the newest are never selected.
    #[napi(ts_return_type = "Promise<CleanUp>")]
    pub fn plan_clean_up<'env>(
        &self,
        env: &'env Env,
        age_ms: f64,
        below: Option<f64>,
        task: &Task,
    ) -> napi::Result<PromiseRaw<'env, CleanUp>> {
        let table = self.inner.clone();
        let below = below.map(version_number);
        let work = async move { table.plan_clean_up(millis(age_ms), below).await };
        promise(env, task.guard(work), |planned| CleanUp {
            versions: planned.versions().iter().map(|one| *one as f64).collect(),
            inner: Some(planned),
        })
    }

    /// Allows another process to remove these versions, except those in use here. Until the result is ended, requests
    /// for one of the others fail here with code 17 (retry).
    #[napi(ts_return_type = "Promise<RemovalPermit>")]
    pub fn permit_removal<'env>(
        &self,
        env: &'env Env,
        versions: Vec<f64>,
    ) -> napi::Result<PromiseRaw<'env, RemovalPermit>> {
        let table = self.inner.clone();
        let versions: Vec<u64> = versions.into_iter().map(version_number).collect();
        let work = async move { Ok(table.permit_removal(&versions).await) };
        promise(env, work, |permit| RemovalPermit {
            in_use: permit.in_use().iter().map(|one| *one as f64).collect(),
            inner: Some(permit),
        })
    }
}
