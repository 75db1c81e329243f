//! Temporary credentials for clients that read tables themselves.

use std::collections::HashMap;
use std::time::UNIX_EPOCH;

use joust_core::storage::vended::{Scope, Vended, Vending, vend};
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::promise::promise;
use crate::table::millis;

/// Whose credentials to make.
#[napi(object)]
pub struct VendingOptions {
    /// Of the table's object store.
    pub storage_options: HashMap<String, String>,
    /// The ARN of the role that STS assumes.
    pub role: String,
    /// The address of STS; that of AWS when absent.
    pub endpoint: Option<String>,
    /// The name of the session in the log of the store.
    pub session: String,
    pub lifetime_ms: f64,
    /// Locations below which the credentials may also create objects; default: none.
    pub writable: Option<Vec<String>>,
}

/// Temporary credentials of S3.
#[napi(object)]
pub struct VendedCredentials {
    pub access_key_id: String,
    pub secret_access_key: String,
    pub session_token: String,
    /// Milliseconds since the epoch.
    pub expires_at_millis: f64,
}

impl From<Vended> for VendedCredentials {
    fn from(vended: Vended) -> Self {
        let since = vended.expires_at.duration_since(UNIX_EPOCH);
        Self {
            access_key_id: vended.access_key_id,
            secret_access_key: vended.secret_access_key,
            session_token: vended.session_token,
            expires_at_millis: since.unwrap_or_default().as_millis() as f64,
        }
    }
}

/// Makes credentials that read the files below locations: of a table, and of the tables whose files it reads. They write
/// only below the locations that the options name.
// Test builds register nothing with Node, so the compiler considers it unused.
#[cfg_attr(test, allow(dead_code))]
#[napi(ts_return_type = "Promise<VendedCredentials>")]
pub fn vend_credentials(
    env: &Env,
    locations: Vec<String>,
    options: VendingOptions,
) -> napi::Result<PromiseRaw<'_, VendedCredentials>> {
    let vending = Vending {
        role: options.role,
        endpoint: options.endpoint,
        session: options.session,
        lifetime: millis(options.lifetime_ms),
    };
    let scope = Scope {
        readable: locations,
        writable: options.writable.unwrap_or_default(),
    };
    let stored = options.storage_options;
    let work = async move { vend(&scope, &stored, vending).await };
    promise(env, work, VendedCredentials::from)
}
