//! What a report is of, in two lines: the experiment's name, and the engine, machine and load.

use crate::report::Report;
use crate::value::Value;

/// The two lines, without an end of line.
pub(super) fn of(report: &Report) -> String {
    let name = name(report);
    let cores = report.machine.cores;
    let s = if cores == 1 { "" } else { "s" };
    let quota = field(&report.experiment, "machine").and_then(|machine| field(machine, "quota"));
    let quota = quota.map_or(String::new(), |quota| format!(", quota {quota}"));
    let load = field(&report.experiment, "load").map_or(String::new(), |load| {
        let Value::Table(fields) = load else { return String::new() };
        fields.iter().map(|(key, value)| format!("; {key}{}", words(value))).collect()
    });
    format!(
        "{name}\n({} engine, {cores} core{s}{quota}, seed {}{load})",
        report.engine, report.seed
    )
}

/// The name of the experiment, as far as it has one.
pub(super) fn name(report: &Report) -> &str {
    match field(&report.experiment, "name") {
        Some(Value::Text(name)) => name,
        _ => "experiment",
    }
}

/// A table as `: users 24, duration 1.8s`, text and numbers as `: new`.
fn words(value: &Value) -> String {
    match value {
        Value::Table(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{key} {}", plain(value))).collect();
            format!(": {}", fields.join(", "))
        }
        other => format!(": {}", plain(other)),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    }
}

fn field<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    let Value::Table(fields) = value else { return None };
    fields.iter().find(|(k, _)| k == key).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::samples::report;

    #[test]
    fn it_tells_name_engine_and_load() {
        let mut report = report(vec![]);
        report.machine.cores = 2;
        let closed = Value::table([("users", Value::Int(24)), ("duration", Value::text("2s"))]);
        report.experiment = Value::table([
            ("name", Value::text("io")),
            ("load", Value::table([("closed", closed), ("connections", Value::text("new"))])),
        ]);
        assert_eq!(
            of(&report),
            "io\n(real engine, 2 cores, seed 1; closed: users 24, duration 2s; connections: new)"
        );
        let machine = Value::table([("quota", Value::Float(1.5))]);
        report.experiment = Value::table([("machine", machine)]);
        assert_eq!(of(&report), "experiment\n(real engine, 2 cores, quota 1.5, seed 1)");
    }
}
