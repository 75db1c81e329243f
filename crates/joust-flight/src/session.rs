//! Session options. The server stores no session: the client sends the schema that it chose in a cookie.

use std::collections::HashMap;

use bytes::Bytes;
use prost::Message;
use tonic::Status;
use tonic::metadata::{MetadataMap, MetadataValue};

use crate::metadata::CATALOG;
use crate::status::{internal, invalid};

const COOKIE: &str = "joust_schema";
/// Bytes of a schema's name.
const MOST: usize = 1_024;

/// The messages of Flight that arrow-flight does not have.
#[derive(Clone, PartialEq, Message)]
pub struct SessionOptions {
    #[prost(map = "string, message", tag = "1")]
    pub options: HashMap<String, OptionValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct OptionValue {
    #[prost(oneof = "Value", tags = "1, 2, 3, 4")]
    pub value: Option<Value>,
}

/// The values of options; a list of strings is no value of any option here.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(sfixed64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Double(f64),
}

#[derive(Clone, PartialEq, Message)]
pub struct SetResult {
    #[prost(map = "string, message", tag = "1")]
    pub errors: HashMap<String, SetError>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct SetError {
    /// 1: the name, 2: the value is invalid.
    #[prost(int32, tag = "1")]
    pub value: i32,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct CloseResult {
    /// 1: closed.
    #[prost(int32, tag = "1")]
    pub status: i32,
}

const INVALID_NAME: i32 = 1;
const INVALID_VALUE: i32 = 2;
const CLOSED: i32 = 1;

/// The result of an action, and the cookie to set.
pub type Changed = (Bytes, Option<Cookie>);
pub type Cookie = MetadataValue<tonic::metadata::Ascii>;

/// `SetSessionOptions`: the catalog can only be joust's; the schema is the namespace of unqualified names.
pub fn set(body: &[u8]) -> Result<Changed, Status> {
    let request = SessionOptions::decode(body)
        .map_err(|_| invalid("the body must be a SetSessionOptionsRequest"))?;
    let mut result = SetResult::default();
    let mut cookie = None;
    for (name, option) in request.options {
        let fault = match (name.as_str(), option.value) {
            ("catalog", Some(Value::Text(catalog))) if catalog == CATALOG => None,
            ("schema", Some(Value::Text(schema))) if schema.len() <= MOST => {
                cookie = Some(set_cookie(&schema)?);
                None
            }
            ("catalog" | "schema", _) => Some(INVALID_VALUE),
            _ => Some(INVALID_NAME),
        };
        if let Some(value) = fault {
            result.errors.insert(name, SetError { value });
        }
    }
    Ok((result.encode_to_vec().into(), cookie))
}

/// `GetSessionOptions`
pub fn get(schema: &str) -> Bytes {
    let text = |value: &str| OptionValue {
        value: Some(Value::Text(value.to_string())),
    };
    let options = HashMap::from([
        ("catalog".to_string(), text(CATALOG)),
        ("schema".to_string(), text(schema)),
    ]);
    SessionOptions { options }.encode_to_vec().into()
}

/// `CloseSession`
pub fn close() -> Result<Changed, Status> {
    let result = CloseResult { status: CLOSED };
    Ok((result.encode_to_vec().into(), Some(set_cookie("")?)))
}

fn set_cookie(schema: &str) -> Result<Cookie, Status> {
    let cookie = format!("{COOKIE}={}", encode(schema));
    MetadataValue::try_from(cookie).map_err(internal)
}

/// The namespace of the session.
pub fn namespace(headers: &MetadataMap) -> Option<String> {
    let cookies = headers.get_all("cookie").iter();
    let cookies = cookies.filter_map(|line| line.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';'));
    pairs.find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then(|| decode(value.trim_matches('"')))?
    })
}

/// Percent-encodes what a cookie cannot hold.
fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'$' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_holds_any_name() {
        let mut headers = MetadataMap::new();
        assert_eq!(namespace(&headers), None);
        let set = set_cookie("a$b \"ü\";=%").unwrap();
        headers.insert(
            "cookie",
            format!("x=1; {}", set.to_str().unwrap()).parse().unwrap(),
        );
        assert_eq!(namespace(&headers).as_deref(), Some("a$b \"ü\";=%"));
        headers.insert("cookie", "joust_schema=%F".parse().unwrap());
        assert_eq!(namespace(&headers), None);
    }

    #[test]
    fn unknown_options_are_reported() {
        let text = |value: &str| OptionValue {
            value: Some(Value::Text(value.to_string())),
        };
        let request = SessionOptions {
            options: HashMap::from([
                ("schema".to_string(), text("a")),
                ("catalog".to_string(), text("other")),
                ("timezone".to_string(), text("UTC")),
            ]),
        };
        let (body, cookie) = set(&request.encode_to_vec()).unwrap();
        let errors = SetResult::decode(body).unwrap().errors;
        assert_eq!(errors["catalog"].value, INVALID_VALUE);
        assert_eq!(errors["timezone"].value, INVALID_NAME);
        assert_eq!(errors.len(), 2);
        assert_eq!(cookie.unwrap().to_str().unwrap(), "joust_schema=a");
    }
}
