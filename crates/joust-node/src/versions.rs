//! The versions of this engine.

// Only Node calls it.
#![cfg_attr(test, allow(dead_code))]

use napi_derive::napi;

/// The components of the addon.
#[napi(object)]
pub struct Versions {
    /// Version of joust that the addon was compiled from.
    pub engine: String,
    /// Its version of lance.
    pub lance: String,
    /// Its cloud stores: `aws`, `azure`, `gcp`.
    pub stores: Vec<String>,
}

/// The versions of this addon.
#[napi]
pub fn versions() -> Versions {
    Versions {
        engine: env!("CARGO_PKG_VERSION").to_owned(),
        lance: joust_core::lance_version(),
        stores: joust_core::storage::root::stores()
            .into_iter()
            .map(str::to_owned)
            .collect(),
    }
}
