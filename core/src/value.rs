//! A document as a tree, and a reader that collects every mistake with its path.
//!
//! TOML, JSON and a binding's keyword arguments all become a [`Value`]; `experiment`, `workload`,
//! `model` and `load` read it through [`Node`]. A read never fails at once: it notes a [`Mistake`]
//! and gives `None`, so that one pass over a document tells all that is wrong with it.

use crate::error::{Error, Mistake};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;

/// A parsed document. Tables keep the order of their keys.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// JSON's null; TOML has none.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction; may be NaN or infinite in TOML.
    Float(f64),
    /// A string.
    Text(String),
    /// A sequence.
    List(Vec<Value>),
    /// Keys and values, in the order written.
    Table(Vec<(String, Value)>),
}

impl Value {
    /// A text value.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A table of the given keys and values.
    pub fn table<K: Into<String>>(fields: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Table(fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Parses TOML.
    ///
    /// # Errors
    /// One mistake that says where the text stops being TOML.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(1, |s| text[..s.start].matches('\n').count() + 1);
            let why = e.message().lines().collect::<Vec<_>>().join(", ");
            Error::invalid(format!("line {line}"), quoted_line(text, line), format!("TOML ({why})"))
        })
    }

    /// Parses JSON.
    ///
    /// # Errors
    /// One mistake that says where the text stops being JSON.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|e| {
            let given = quoted_line(text, e.line());
            Error::invalid(format!("line {}", e.line()), given, format!("JSON ({e})"))
        })
    }

    /// The document as TOML; [`Value::from_toml`] reads back the same value.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a document is a table without nulls")
    }

    /// The document as JSON on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a tree of plain values serialises")
    }
}

fn quoted_line(text: &str, line: usize) -> String {
    format!("`{}`", text.lines().nth(line.saturating_sub(1)).unwrap_or("").trim())
}

/// Short form, as an error echoes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(n) => write!(f, "{n}"),
            Self::Float(x) => write!(f, "{x}"),
            Self::Text(s) => write!(f, "\"{s}\""),
            Self::List(items) => write!(f, "a list of {}", items.len()),
            Self::Table(fields) => {
                write!(f, "a table of {{")?;
                for (n, (key, _)) in fields.iter().take(6).enumerate() {
                    write!(f, "{}{key}", if n == 0 { "" } else { ", " })?;
                }
                write!(f, "}}")
            }
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => s.serialize_unit(),
            Self::Bool(b) => s.serialize_bool(*b),
            Self::Int(n) => s.serialize_i64(*n),
            Self::Float(x) => s.serialize_f64(*x),
            Self::Text(t) => s.serialize_str(t),
            Self::List(items) => {
                let mut seq = s.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Self::Table(fields) => {
                let mut map = s.serialize_map(Some(fields.len()))?;
                for (key, value) in fields {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Build;
        impl<'de> Visitor<'de> for Build {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
                Ok(Value::Bool(b))
            }
            fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
                Ok(Value::Int(n))
            }
            fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
                Ok(i64::try_from(n).map_or(Value::Float(n as f64), Value::Int))
            }
            fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
                Ok(Value::Float(x))
            }
            fn visit_str<E>(self, s: &str) -> Result<Value, E> {
                Ok(Value::text(s))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Value::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut fields: Vec<(String, Value)> = Vec::new();
                let mut keys = HashSet::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    if !keys.insert(key.clone()) {
                        return Err(serde::de::Error::custom(format!("duplicate key `{key}`")));
                    }
                    fields.push((key, value));
                }
                Ok(Value::Table(fields))
            }
        }
        d.deserialize_any(Build)
    }
}

/// A place in a document: its path, its value, and where mistakes are noted.
#[derive(Clone)]
pub struct Node<'v> {
    path: String,
    value: &'v Value,
    mistakes: &'v RefCell<Vec<Mistake>>,
}

impl<'v> Node<'v> {
    /// Reads a whole document: `read` gives `None` where something it needs was wrong.
    ///
    /// # Errors
    /// Every mistake noted on the way.
    pub fn read_all<T>(
        value: &Value,
        root: &str,
        read: impl FnOnce(&Node<'_>) -> Option<T>,
    ) -> Result<T, Error> {
        let mistakes = RefCell::new(Vec::new());
        let node = Node { path: root.to_owned(), value, mistakes: &mistakes };
        let read = read(&node);
        drop(node);
        match (read, mistakes.into_inner()) {
            (Some(t), mistakes) if mistakes.is_empty() => Ok(t),
            (None, mistakes) if mistakes.is_empty() => {
                unreachable!("a reader that gives nothing notes why")
            }
            (_, mistakes) => Err(Error::of_mistakes(mistakes)),
        }
    }

    /// The value at this place.
    pub fn value(&self) -> &'v Value {
        self.value
    }

    /// The path of this place, such as `workload.steps[1].io`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Notes that the value here is not allowed; gives `None` for the reader to return.
    pub fn refuse<T>(&self, expected: impl Into<String>) -> Option<T> {
        self.mistakes.borrow_mut().push(Mistake::new(self.path.clone(), self.value, expected));
        None
    }

    /// Notes a mistake about `given` rather than the whole value here.
    pub fn refuse_as<T>(&self, given: impl fmt::Display, expected: impl Into<String>) -> Option<T> {
        self.mistakes.borrow_mut().push(Mistake::new(self.path.clone(), given, expected));
        None
    }

    /// Turns an error of a value's own parser into a mistake here.
    pub fn note<T>(&self, parsed: Result<T, Mistake>) -> Option<T> {
        parsed
            .map_err(|m| {
                let m = Mistake::new(self.path.clone(), m.given, m.expected);
                self.mistakes.borrow_mut().push(m);
            })
            .ok()
    }

    /// The text here.
    pub fn text(&self, expected: &str) -> Option<&'v str> {
        match self.value {
            Value::Text(t) => Some(t),
            _ => self.refuse(expected),
        }
    }

    /// A text here without control characters, at most `max` characters.
    pub fn name(&self, max: usize) -> Option<&'v str> {
        let expected = format!("text of 1 to {max} characters");
        match self.value {
            Value::Text(t)
                if !t.is_empty()
                    && t.chars().count() <= max
                    && !t.chars().any(char::is_control) =>
            {
                Some(t)
            }
            _ => self.refuse(expected),
        }
    }

    /// The whole number here, within `range`.
    pub fn int(&self, range: RangeInclusive<i64>) -> Option<i64> {
        match self.value {
            Value::Int(n) if range.contains(n) => Some(*n),
            _ => self.refuse(format!("a whole number in {}..={}", range.start(), range.end())),
        }
    }

    /// The number here (whole or not), within `range`, never NaN.
    pub fn float(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let x = match self.value {
            Value::Int(n) => *n as f64,
            Value::Float(x) => *x,
            _ => f64::NAN,
        };
        if range.contains(&x) {
            return Some(x);
        }
        self.refuse(format!("a number in {}..={}", range.start(), range.end()))
    }

    /// The list here.
    pub fn list(&self, expected: &str) -> Option<Vec<Node<'v>>> {
        match self.value {
            Value::List(items) => Some(
                items.iter().enumerate().map(|(n, v)| self.below(format!("[{n}]"), v)).collect(),
            ),
            _ => self.refuse(expected),
        }
    }

    /// The fields of the table here; a key that is not in `known` is a mistake.
    pub fn table(&self, known: &[&str]) -> Option<Fields<'v>> {
        let fields = self.open_table("a table")?;
        for (key, node) in fields.iter() {
            if !known.contains(&key) {
                node.refuse_as::<()>("this key", format!("one of {}", known.join(", ")));
            }
        }
        Some(fields)
    }

    /// The fields of the table here, whatever their keys.
    pub fn open_table(&self, expected: &str) -> Option<Fields<'v>> {
        match self.value {
            Value::Table(fields) => Some(Fields {
                fields: fields
                    .iter()
                    .map(|(key, v)| {
                        let dot = if self.path.is_empty() { "" } else { "." };
                        (key.as_str(), self.below(format!("{dot}{key}"), v))
                    })
                    .collect(),
                at: self.clone(),
            }),
            _ => self.refuse(expected),
        }
    }

    fn below(&self, suffix: String, value: &'v Value) -> Node<'v> {
        Node { path: format!("{}{suffix}", self.path), value, mistakes: self.mistakes }
    }
}

/// The fields of one table.
pub struct Fields<'v> {
    fields: Vec<(&'v str, Node<'v>)>,
    at: Node<'v>,
}

impl<'v> Fields<'v> {
    /// The field `key`, where it stands.
    pub fn get(&self, key: &str) -> Option<&Node<'v>> {
        self.fields.iter().find(|(k, _)| *k == key).map(|(_, node)| node)
    }

    /// The field `key`, which must stand; `expected` says what belongs there.
    pub fn need(&self, key: &str, expected: &str) -> Option<&Node<'v>> {
        self.get(key).or_else(|| {
            let dot = if self.at.path.is_empty() { "" } else { "." };
            let path = format!("{}{dot}{key}", self.at.path);
            self.at.mistakes.borrow_mut().push(Mistake::new(path, "nothing", expected));
            None
        })
    }

    /// The fields in the order written.
    pub fn iter(&self) -> impl Iterator<Item = (&'v str, &Node<'v>)> {
        self.fields.iter().map(|(key, node)| (*key, node))
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The table itself.
    pub fn node(&self) -> &Node<'v> {
        &self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_told_with_its_path() {
        let value = Value::from_toml("a = 0\nb = { c = 'x', d = 1 }").unwrap();
        let error = Node::read_all(&value, "", |root| {
            let fields = root.table(&["a", "b"])?;
            let a = fields.need("a", "a number")?.int(1..=9);
            let b = fields.need("b", "a table")?.table(&["c"])?;
            let c = b.need("c", "a number")?.float(0.0..=1.0);
            Some((a?, c?))
        })
        .unwrap_err();
        let text = error.to_string();
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "a: 0 is not allowed, expected a whole number in 1..=9",
                "b.d: this key is not allowed, expected one of c",
                "b.c: \"x\" is not allowed, expected a number in 0..=1",
            ]
        );
    }

    #[test]
    fn toml_and_json_make_the_same_value() {
        let toml = Value::from_toml("a = [1, 2.5]\n[t]\nk = true\n").unwrap();
        let json = Value::from_json(r#"{"a": [1, 2.5], "t": {"k": true}}"#).unwrap();
        assert_eq!(toml, json);
        assert_eq!(Value::from_toml(&toml.to_toml()).unwrap(), toml);
    }

    #[test]
    fn text_that_is_no_toml_is_one_line_of_error() {
        let error = Value::from_toml("a = 1\nb = = 2").unwrap_err().to_string();
        assert!(error.starts_with("line 2: `b = = 2` is not allowed, expected TOML"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}
