//! Engine errors in JavaScript: an `Error` with `name` "EngineError", the error code in `code`, and in `internal` the
//! details for the server's log only.

use joust_core::Error;
use napi::bindgen_prelude::{JsObjectValue, ToNapiValue, Unknown};
use napi::{Env, Status};

/// The JavaScript error for `error`, in the form that a binding returns.
pub fn js_error(env: &Env, error: &Error) -> napi::Error {
    build(env, error).unwrap_or_else(|failure| failure)
}

fn build(env: &Env, error: &Error) -> napi::Result<napi::Error> {
    let plain = napi::Error::new(Status::GenericFailure, error.message());
    let mut object = env.create_error(plain)?;
    object.set_named_property("name", "EngineError")?;
    object.set_named_property("code", error.code() as u32)?;
    if let Some(cause) = error.cause() {
        object.set_named_property("internal", cause)?;
    }
    // SAFETY: the object was made above, by this environment, on its thread.
    let unknown = unsafe {
        Unknown::from_raw_unchecked(env.raw(), ToNapiValue::to_napi_value(env.raw(), object)?)
    };
    Ok(unknown.into())
}
