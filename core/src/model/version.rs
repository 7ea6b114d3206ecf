//! Versions of interpreters and servers, as text: `"4.0.5"`.
//!
//! The models read theirs here and find their lock by it.

use crate::error::Mistake;
use crate::gvl::Gvl;
use crate::value::Node;

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

/// Reads a Puma version.
pub(super) fn puma(node: &Node<'_>) -> Option<String> {
    const ALLOWED: &str = "a Puma version from 5.0 to 8.x as text, such as \"8.0.2\"";
    read(node, ALLOWED, |text| match numbers(text).as_deref() {
        Some([5..=8, _] | [5..=8, _, _]) => Ok(()),
        _ => Err(Mistake::new("version", format!("\"{text}\""), ALLOWED)),
    })
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
