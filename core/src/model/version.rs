//! Versions of interpreters and servers, as text: `"4.0.5"`.
//!
//! The models read theirs here and find their lock by it.

use crate::error::Mistake;
use crate::gvl::Gvl;
use crate::value::Node;
use std::ops::RangeInclusive;

/// The longest version, in bytes.
const LENGTH_MAX: usize = 20;

/// Reads a CRuby version whose lock is known.
pub(super) fn ruby(node: &Node<'_>) -> Option<String> {
    read(node, "a CRuby version as text, such as \"4.0.5\"", |text| Gvl::of_ruby(text).map(|_| ()))
}

/// Reads a CPython version whose lock is known.
pub(super) fn python(node: &Node<'_>) -> Option<String> {
    read(node, "a CPython version as text, such as \"3.13\"", |text| {
        Gvl::of_python(text).map(|_| ())
    })
}

/// The name of a server's newest code, which is later than all its numbers.
pub(super) const MAIN: &str = "main";

/// Reads a server's version: one of two or three numbers whose first is among `majors`, or
/// [`MAIN`] where `allowed` has it.
pub(super) fn server(
    node: &Node<'_>,
    majors: RangeInclusive<u32>,
    allowed: &str,
) -> Option<String> {
    read(node, allowed, |text| match numbers(text).as_deref() {
        Some([major, _] | [major, _, _]) if majors.contains(major) => Ok(()),
        None if text == MAIN && allowed.contains(MAIN) => Ok(()),
        _ => Err(Mistake::new("version", format!("\"{text}\""), allowed)),
    })
}

/// Whether a checked version is `least` or later; numbers that are left out count as nought.
pub(super) fn from(version: &str, least: [u32; 3]) -> bool {
    let Some(given) = numbers(version) else {
        return version == MAIN;
    };
    let place = |n: usize| given.get(n).copied().unwrap_or(0);
    [place(0), place(1), place(2)] >= least
}

/// A label's words for a version: none for the default, so that a label says what tells rows
/// apart. `before` is the space and the name in front of the version.
pub(super) fn suffix(before: &str, version: &str, default: &str) -> String {
    if version == default { String::new() } else { format!("{before}{version}") }
}

fn read(
    node: &Node<'_>,
    allowed: &str,
    check: impl FnOnce(&str) -> Result<(), Mistake>,
) -> Option<String> {
    let text = node.text(allowed)?;
    if text.len() > LENGTH_MAX {
        return node.refuse(allowed);
    }
    node.note(check(text))?;
    Some(text.to_owned())
}

fn numbers(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}
