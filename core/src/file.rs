//! Reads a document from a file: TOML or JSON by its name, 1 MiB at most.
//!
//! `experiment` and `machine` call it. Only a regular file is opened, and never more than the limit is
//! read, whatever its size says.

use crate::error::Error;
use crate::value::Value;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

const BYTES_MAX: u64 = 1024 * 1024;
const FILE_ALLOWED: &str = "a readable file of TOML or JSON";

type Parse = fn(&str) -> Result<Value, Error>;

impl Value {
    /// Reads a file named `*.toml` or `*.json`, of at most 1 MiB.
    ///
    /// # Errors
    /// A file that cannot be read, is too large or is not text; or where the text stops being TOML or
    /// JSON.
    pub(crate) fn from_path(path: &Path) -> Result<Self, Error> {
        let parse = parser(path)?;
        parse(&text_of(path)?)
    }
}

fn parser(path: &Path) -> Result<Parse, Error> {
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    match extension.as_deref() {
        Some("toml") => Ok(Value::from_toml),
        Some("json") => Ok(Value::from_json),
        Some(other) => {
            Err(refusal(path, format!("named *.{other}"), "a name that ends in .toml or .json"))
        }
        None => Err(refusal(path, "no extension", "a name that ends in .toml or .json")),
    }
}

fn text_of(path: &Path) -> Result<String, Error> {
    let unreadable = |e: std::io::Error| refusal(path, e, FILE_ALLOWED);
    let about = fs::metadata(path).map_err(unreadable)?;
    if about.is_dir() {
        return Err(refusal(path, "a directory", FILE_ALLOWED));
    }
    if !about.is_file() {
        return Err(refusal(path, "not a regular file", FILE_ALLOWED));
    }
    let too_large = |bytes: &str| refusal(path, bytes, format!("at most {BYTES_MAX} bytes"));
    if about.len() > BYTES_MAX {
        return Err(too_large(&format!("{} bytes", about.len())));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(too_large("more bytes than its size says"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let place = e.utf8_error().valid_up_to();
        refusal(path, format!("not UTF-8 at byte {place}"), FILE_ALLOWED)
    })
}

fn refusal(path: &Path, why: impl std::fmt::Display, expected: impl Into<String>) -> Error {
    Error::unreadable(path.display().to_string(), why, expected)
}
