//! Bytes of the engine as JavaScript gets them.

use std::ptr;

use napi::bindgen_prelude::{Buffer, ToNapiValue};
use napi::{check_status, sys};

/// Up to here a copy costs less than memory of the engine that JavaScript uses, which has to be kept, and
/// given back by a call after it was collected: a twentieth of what a read of ten rows takes.
const SMALL: usize = 16 << 10;

/// A `Buffer` of its own for few bytes, and of the engine's memory for many.
pub struct Bytes(pub Vec<u8>);

impl ToNapiValue for Bytes {
    unsafe fn to_napi_value(env: sys::napi_env, bytes: Self) -> napi::Result<sys::napi_value> {
        if bytes.0.len() > SMALL {
            // SAFETY: as for this call.
            return unsafe { Buffer::to_napi_value(env, bytes.0.into()) };
        }
        let mut buffer = ptr::null_mut();
        // SAFETY: the bytes are there until the call returns, which has copied them by then.
        check_status!(unsafe {
            sys::napi_create_buffer_copy(
                env,
                bytes.0.len(),
                bytes.0.as_ptr().cast(),
                ptr::null_mut(),
                &raw mut buffer,
            )
        })?;
        Ok(buffer)
    }
}
