//! Clean-up of old versions, which other processes may need.

use joust_core::jobs::maintenance;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::promise::{cancelled, promise};
use crate::table::{Table, millis, version_number};
use crate::task::Task;

/// Versions that were removed, and the bytes of the files that only they named.
#[napi(object)]
pub struct CleanedUp {
    pub versions: f64,
    pub bytes: f64,
    /// Versions that are old enough and stay, because somebody reads them or makes something of them.
    pub in_use: f64,
}

/// A clean-up that knows what it would like to remove. Until it has run or is ended, it notices who makes
/// something of these versions, and spares them.
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

    /// Removes them, but for those that are `kept` because other processes need them, and for those that
    /// somebody needs here. Once.
    #[napi(ts_return_type = "Promise<CleanedUp>")]
    pub fn run<'env>(
        &mut self,
        env: &'env Env,
        kept: Vec<f64>,
        task: &Task,
    ) -> napi::Result<PromiseRaw<'env, CleanedUp>> {
        let clean_up = self.inner.take();
        let kept = kept.into_iter().map(version_number).collect();
        let work = async move {
            match clean_up {
                Some(clean_up) => clean_up.run(&kept).await,
                None => Err(cancelled()),
            }
        };
        promise(env, task.guard(work), |done| CleanedUp {
            versions: done.versions as f64,
            bytes: done.bytes as f64,
            in_use: done.in_use as f64,
        })
    }

    /// Removes nothing; harmless when it has run.
    #[napi]
    pub fn end(&mut self) {
        self.inner = None;
    }
}

/// Versions that another process removes, as far as nobody needs them here.
#[napi]
pub struct GivenUp {
    kept: Vec<f64>,
    inner: Option<maintenance::GivenUp>,
}

#[napi]
impl GivenUp {
    /// Versions that have to stay.
    #[napi(getter)]
    pub fn kept(&self) -> Vec<f64> {
        self.kept.clone()
    }

    /// The other process has removed what it wanted to.
    #[napi]
    pub fn end(&mut self) {
        self.inner = None;
    }
}

#[napi]
impl Table {
    /// Looks for versions that others took the place of longer than `age_ms` ago, and that are older than
    /// version `below` where that is given; tagged ones, those that branches start from, and the newest are
    /// none of them.
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

    /// Lets another process remove these versions, but for those that somebody needs here. Until the answer is
    /// ended, who asks here for one of the others is told to come again (code 17).
    #[napi(ts_return_type = "Promise<GivenUp>")]
    pub fn give_up<'env>(
        &self,
        env: &'env Env,
        versions: Vec<f64>,
    ) -> napi::Result<PromiseRaw<'env, GivenUp>> {
        let table = self.inner.clone();
        let versions: Vec<u64> = versions.into_iter().map(version_number).collect();
        let work = async move { Ok(table.give_up(&versions).await) };
        promise(env, work, |given_up| GivenUp {
            kept: given_up.kept().iter().map(|one| *one as f64).collect(),
            inner: Some(given_up),
        })
    }
}
