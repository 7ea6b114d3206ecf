//! Reads an experiment from a file.

use super::spec::Experiment;
use crate::error::Error;
use crate::value::Value;
use std::path::Path;

impl Experiment {
    /// Reads a file named `*.toml` or `*.json`, of at most 1 MiB.
    ///
    /// # Errors
    /// A file that cannot be read, is too large or is not text; or every mistake in the document.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_value(&Value::from_path(path.as_ref())?)
    }
}
