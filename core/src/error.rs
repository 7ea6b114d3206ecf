//! The one error of the library for bad input and failed runs, and the grammar of its messages.
//!
//! Every room builds it; bindings and the command turn it into exceptions and exit statuses.
//! A message is always `where: what was given is not allowed, expected what is allowed`,
//! lower case, without a full stop, one line for each mistake.

use std::fmt;

/// What went wrong with an experiment: its input (all mistakes at once) or its run.
///
/// ```
/// let error = gvl_lab::Experiment::from_toml("name = 5").unwrap_err();
/// assert!(error.is_invalid());
/// assert!(error.to_string().starts_with("name: 5 is not allowed, expected "));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    kind: ErrorKind,
    mistakes: Vec<Mistake>,
}

/// The kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input cannot be used: nothing was run.
    Invalid,
    /// A file could not be read or is not text.
    Unreadable,
    /// The input was fine, and the run failed.
    Failed,
}

/// One mistake: where it is, what stood there, what is allowed there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The path of the field, such as `model[0].puma.threads`.
    pub field: String,
    /// What was given, as written.
    pub given: String,
    /// What is allowed.
    pub expected: String,
}

/// The longest echo of what was given, in characters; a message stays one readable line.
const GIVEN_MAX: usize = 60;

/// The longest path and the longest list of what is allowed, in characters. Both may have words
/// of the input in them: keys, names, a parser's message.
const FIELD_MAX: usize = 1000;
const EXPECTED_MAX: usize = 1000;

impl Error {
    /// An input mistake in one field.
    pub fn invalid(
        field: impl Into<String>,
        given: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self::of_mistakes(vec![Mistake::new(field, given, expected)])
    }

    /// All mistakes of one input; there must be at least one.
    pub fn of_mistakes(mistakes: Vec<Mistake>) -> Self {
        assert!(!mistakes.is_empty(), "an error names at least one mistake");
        Self { kind: ErrorKind::Invalid, mistakes }
    }

    /// A file that cannot be read: `name` is the file, `why` the cause.
    pub fn unreadable(
        name: impl Into<String>,
        why: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self { kind: ErrorKind::Unreadable, mistakes: vec![Mistake::new(name, why, expected)] }
    }

    /// A run that failed: `what` failed, `why` is the cause, `expected` what would have served.
    pub fn failed(
        what: impl Into<String>,
        why: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        let mut mistake = Mistake::new(what, "", expected);
        // A cause is told in full, unlike what was given.
        mistake.given = one_line(&why.to_string(), EXPECTED_MAX);
        Self { kind: ErrorKind::Failed, mistakes: vec![mistake] }
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the input was at fault (bad values or an unreadable file).
    pub fn is_invalid(&self) -> bool {
        matches!(self.kind, ErrorKind::Invalid | ErrorKind::Unreadable)
    }

    /// The mistakes, in the order of the input.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }
}

impl Mistake {
    /// A mistake. Each part is shortened where it is very long, and kept on one line.
    pub fn new(
        field: impl Into<String>,
        given: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            field: one_line(&field.into(), FIELD_MAX),
            given: one_line(&given.to_string(), GIVEN_MAX),
            expected: one_line(&expected.into(), EXPECTED_MAX),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is not allowed, expected {}", self.field, self.given, self.expected)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bad_value = self.kind == ErrorKind::Invalid;
        for (n, mistake) in self.mistakes.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            if bad_value {
                write!(f, "{mistake}")?;
            } else {
                write!(f, "{}: {}, expected {}", mistake.field, mistake.given, mistake.expected)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

fn one_line(text: &str, max: usize) -> String {
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == max {
            out.push_str("...");
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_field_value_and_what_is_allowed() {
        let error = Error::invalid("model[0].puma.threads", 0, "1..=1024");
        assert_eq!(error.to_string(), "model[0].puma.threads: 0 is not allowed, expected 1..=1024");
    }

    #[test]
    fn what_was_given_is_kept_short_and_on_one_line() {
        let error = Error::invalid("na\nme", "a\nb".repeat(100), "te\nxt");
        assert!(error.to_string().len() < 140);
        assert_eq!(error.to_string().lines().count(), 1);
    }
}
