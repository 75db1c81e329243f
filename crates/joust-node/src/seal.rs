//! Signed texts: only the holder of a key can create them.
//!
//! Each change returns one, and Node's functions take several times as long for a MAC.

// Test builds register nothing with Node, so the compiler considers all of it unused.
#![cfg_attr(test, allow(dead_code))]

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use napi_derive::napi;
use sha2::Sha256;

/// Bytes of a truncated MAC.
const MAC: usize = 16;

/// Signs a text: base64url of a MAC (the first 16 bytes of HMAC-SHA256) and of the text. The text is not encrypted.
#[napi]
pub fn seal(key: &[u8], text: String) -> napi::Result<String> {
    let mac = mac(key, text.as_bytes())?.finalize().into_bytes();
    let mut sealed = Vec::with_capacity(MAC + text.len());
    sealed.extend_from_slice(&mac[..MAC]);
    sealed.extend_from_slice(text.as_bytes());
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

/// Verifies a signed text; returns the text, or null if the signature is invalid. Each text has exactly one valid form.
#[napi]
pub fn unseal(key: &[u8], sealed: String) -> napi::Result<Option<String>> {
    let Ok(mut bytes) = URL_SAFE_NO_PAD.decode(sealed) else {
        return Ok(None);
    };
    if bytes.len() <= MAC {
        return Ok(None);
    }
    let text = bytes.split_off(MAC);
    Ok(match mac(key, &text)?.verify_truncated_left(&bytes) {
        Ok(()) => String::from_utf8(text).ok(),
        Err(_) => None,
    })
}

fn mac(key: &[u8], text: &[u8]) -> napi::Result<Hmac<Sha256>> {
    let mac = Hmac::<Sha256>::new_from_slice(key);
    let mac = mac.map_err(|error| napi::Error::from_reason(error.to_string()))?;
    Ok(mac.chain_update(text))
}
