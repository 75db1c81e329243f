//! Bytes of the engine in JavaScript.

use std::ptr;

use napi::bindgen_prelude::{Buffer, ToNapiValue};
use napi::{check_status, sys};

/// Up to this size a copy is cheaper than sharing the engine's memory, which needs a finalizer call after garbage
/// collection: a twentieth of the duration of a read of ten rows.
const SMALL: usize = 16 << 10;

/// A JavaScript `Buffer`: a copy of few bytes, the engine's memory for many.
pub struct Bytes(pub Vec<u8>);

impl ToNapiValue for Bytes {
    unsafe fn to_napi_value(env: sys::napi_env, bytes: Self) -> napi::Result<sys::napi_value> {
        if bytes.0.len() > SMALL {
            // SAFETY: as for this call.
            return unsafe { Buffer::to_napi_value(env, bytes.0.into()) };
        }
        let mut buffer = ptr::null_mut();
        // SAFETY: the bytes are valid until the call returns, which copies them.
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
