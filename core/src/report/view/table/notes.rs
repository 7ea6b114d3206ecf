//! The warnings of all rows, numbered, each written once.

use crate::report::Row;
use std::fmt;

/// The notes of a table; shows as the lines below it.
pub(super) struct Notes(Vec<Note>);

struct Note {
    text: String,
    /// Each row it is about: its place and its title.
    rows: Vec<(usize, String)>,
}

impl Notes {
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut notes: Vec<Note> = Vec::new();
        for (n, row) in rows.iter().enumerate() {
            for warning in &row.warnings {
                let text = format!("{}: {}", warning.kind, warning.text);
                let about = (n, row.title());
                match notes.iter_mut().find(|note| note.text == text) {
                    Some(note) => note.rows.push(about),
                    None => notes.push(Note { text, rows: vec![about] }),
                }
            }
        }
        Self(notes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers of the notes about the row in place `n`.
    pub(super) fn of_row(&self, n: usize) -> String {
        let about = |note: &Note| note.rows.iter().any(|(row, _)| *row == n);
        let numbers = (1..).zip(&self.0).filter(|(_, note)| about(note));
        numbers.map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, note) in self.0.iter().enumerate() {
            // An empty line ends a table in Markdown.
            let gap = if n == 0 { "\n" } else { "" };
            let titles: Vec<_> = note.rows.iter().map(|(_, title)| title.as_str()).collect();
            writeln!(f, "{gap}{}. {}: {}", n + 1, titles.join(", "), note.text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::samples::{all_failed, slow_io};

    #[test]
    fn a_warning_of_two_rows_is_written_once() {
        let mut other = all_failed();
        other.model = "unicorn".to_owned();
        let notes = Notes::of(&[all_failed(), slow_io(), other]);
        let text = notes.to_string();
        assert_eq!(text.matches("no success").count(), 1, "{text}");
        assert!(text.starts_with("\n1. webrick 0x1, unicorn 0x1: no success: 0 ok, 320 failed"));
        assert_eq!([0, 1, 2].map(|n| notes.of_row(n)), ["1", "2 3 4", "1"]);
    }
}
