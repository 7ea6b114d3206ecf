//! One thing that is varied: a place in an experiment, and its values.

use crate::error::Error;
use crate::value::Value;

/// The most values of an axis.
const VALUES_MAX: usize = 10_000;

const ALLOWED: &str = "a path and values, such as model.threads=1..16, model.workers=1,2,4, \
     load.open.rate=100..1000:100 or workload.steps[0].cpu=1ms,2ms";

/// A place in an experiment, and the values that it takes.
///
/// ```
/// use gvl_lab::sweep::Axis;
///
/// let threads = Axis::parse("model.threads=1..4,8")?;
/// assert_eq!((threads.path(), threads.values().len()), ("model.threads", 5));
/// assert!(Axis::parse("model.threads=").is_err());
/// # Ok::<(), gvl_lab::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    path: String,
    segments: Vec<Segment>,
    values: Vec<Value>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq)]
enum Segment {
    Key(String),
    /// The items of a list from 0.
    Item(usize),
}

impl Axis {
    /// Makes an axis of a path, such as `model.threads`, and 1 to 10,000 values.
    ///
    /// `model.KEY` is that key of every model; `model[0].KEY` of the first one.
    ///
    /// # Errors
    /// A path that is none, or too few or too many values.
    pub fn new(
        path: impl Into<String>,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Self, Error> {
        let path = path.into();
        let values: Vec<Value> = values.into_iter().take(VALUES_MAX + 1).collect();
        if values.is_empty() || values.len() > VALUES_MAX {
            let given = format!("{} values of {path}", values.len());
            return Err(Error::invalid("set", given, format!("1 to {VALUES_MAX} values")));
        }
        let segments = segments(&path).ok_or_else(|| Error::invalid("set", &path, ALLOWED))?;
        Ok(Self { path, segments, values })
    }

    /// Reads an axis as the command takes it: `PATH=VALUES`, values separated by commas; `A..B` are
    /// the whole numbers from A to B, both included, and `A..B:S` every S-th of them.
    ///
    /// # Errors
    /// Text that is no axis.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mistake = || Error::invalid("set", text, ALLOWED);
        let (path, values) = text.split_once('=').ok_or_else(mistake)?;
        let mut all = Vec::new();
        for item in values.split(',').map(str::trim) {
            match range(item) {
                Some(range) => all.extend(range.take(VALUES_MAX + 1)),
                None if item.is_empty() || item.contains("..") => return Err(mistake()),
                None => all.push(scalar(item)),
            }
        }
        Self::new(path.trim(), all)
    }

    /// Gives the path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Gives the values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Puts a value at the path of a document.
    pub(super) fn set(&self, document: &mut Value, value: &Value) -> Result<(), Error> {
        let expected = "a place that the experiment has";
        match put(document, &self.segments, value) {
            true => Ok(()),
            false => Err(Error::invalid("set", &self.path, expected)),
        }
    }
}

/// Puts a value at a place; false where there is no such place.
fn put(at: &mut Value, path: &[Segment], value: &Value) -> bool {
    let Some((first, rest)) = path.split_first() else {
        *at = value.clone();
        return true;
    };
    match (at, first) {
        (Value::Table(fields), Segment::Key(key)) => {
            if let Some((_, below)) = fields.iter_mut().find(|(name, _)| name == key) {
                return put(below, rest, value);
            }
            // What is left out, such as a default.
            let mut below = Value::Table(Vec::new());
            let is_put = put(&mut below, rest, value);
            fields.push((key.clone(), below));
            is_put
        }
        (Value::List(items), Segment::Item(n)) => {
            items.get_mut(*n).is_some_and(|item| put_in_item(item, rest, value))
        }
        (Value::List(items), Segment::Key(_)) => {
            items.iter_mut().all(|item| put_in_item(item, path, value))
        }
        _ => false,
    }
}

/// An item of a list: a model's keys are below the name of its kind, which comes first.
fn put_in_item(item: &mut Value, path: &[Segment], value: &Value) -> bool {
    if let (Value::Table(fields), Some(Segment::Key(key))) = (&mut *item, path.first())
        && fields.iter().all(|(name, _)| name != key)
        && let Some((_, kind @ Value::Table(_))) = fields.first_mut()
    {
        return put(kind, path, value);
    }
    put(item, path, value)
}

fn segments(path: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    for part in path.split('.') {
        let (key, mut items) = part.split_at(part.find('[').unwrap_or(part.len()));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if key.is_empty() || !key.chars().all(is_name) {
            return None;
        }
        segments.push(Segment::Key(key.to_owned()));
        while !items.is_empty() {
            let (item, rest) = items.strip_prefix('[')?.split_once(']')?;
            segments.push(Segment::Item(item.parse().ok()?));
            items = rest;
        }
    }
    Some(segments)
}

fn range(item: &str) -> Option<impl Iterator<Item = Value> + use<>> {
    let (from, to) = item.split_once("..")?;
    let (to, step) = to.split_once(':').unwrap_or((to, "1"));
    let (from, to): (i64, i64) = (from.parse().ok()?, to.parse().ok()?);
    let step: usize = step.parse().ok().filter(|step| *step > 0)?;
    (from <= to).then(|| (from..=to).step_by(step).map(Value::Int))
}

/// A number, true or false, or else text.
fn scalar(item: &str) -> Value {
    if let Ok(n) = item.parse() {
        return Value::Int(n);
    }
    match (item, item.parse()) {
        ("true", _) => Value::Bool(true),
        ("false", _) => Value::Bool(false),
        (_, Ok(x)) => Value::Float(x),
        _ => Value::text(item),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, path: &str, values: &str) {
        let axis = Axis::parse(text).unwrap();
        assert_eq!(axis.path(), path);
        assert_eq!(Value::List(axis.values).to_json(), values, "{text}");
    }

    #[test]
    fn an_axis_is_a_path_and_values() {
        check("model.threads=1..4", "model.threads", "[1,2,3,4]");
        check("a[0].b = 1, 2,4", "a[0].b", "[1,2,4]");
        check("load.open.rate=100..300:100,0.5", "load.open.rate", "[100,200,300,0.5]");
        check("model.version=7.0.4,8.0.2", "model.version", "[\"7.0.4\",\"8.0.2\"]");
        check("x=true,1ms,exp(2ms)", "x", "[true,\"1ms\",\"exp(2ms)\"]");
    }

    #[test]
    fn what_is_no_axis_is_refused() {
        for text in
            ["", "a", "=1", "a=", "a=1,,2", "a=4..1", "a=1..", "a=1..9:0", "a..b=1", "a[x]=1"]
        {
            let error = Axis::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("set: "), "{error}");
        }
        assert!(Axis::parse("a=1..20000").unwrap_err().to_string().contains("1 to 10000 values"));
    }

    #[test]
    fn a_value_goes_where_the_path_says() {
        let text = "model = [{ puma = { threads = 5 }, published = { x = 1 } }, { pool = {} }]\n\
                    [load]\nclosed = { users = 3 }\n";
        let after = |axis: &str| {
            let mut document = Value::from_toml(text).unwrap();
            let axis = Axis::parse(axis).unwrap();
            axis.set(&mut document, &axis.values()[0]).map(|()| document.to_json())
        };
        let all = after("model.threads=7").unwrap();
        assert!(
            all.contains(r#"{"puma":{"threads":7},"published":{"x":1}},{"pool":{"threads":7}}"#)
        );
        let one = after("model[1].threads=7").unwrap();
        assert!(
            one.contains(r#"{"puma":{"threads":5}"#) && one.contains(r#"{"pool":{"threads":7}}"#)
        );
        assert!(after("load.closed.users=9").unwrap().contains(r#""users":9"#));
        assert!(after("machine.cores=9").unwrap().contains(r#""machine":{"cores":9}"#));
        assert!(after("model[2].threads=7").is_err());
        assert!(after("load.closed.users.x=7").is_err());
    }
}
