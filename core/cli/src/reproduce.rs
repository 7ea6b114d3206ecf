//! Simulates the published rows that come with the command: the files of `examples/reproduce`.

use crate::args::ReproduceOptions;
use crate::output::{self, Status};
use crate::progress::Bar;
use gvl_lab::reproduce::{Figure, ReproducedRow, Reproduction};
use gvl_lab::value::Value;
use gvl_lab::{Error, Experiment};
use std::process::ExitCode;

/// A file of published rows.
struct Case {
    name: &'static str,
    text: &'static str,
    /// What is to be said of rows that nothing in the run explains.
    note: Option<&'static str>,
}

macro_rules! case {
    ($name:literal, $note:expr) => {
        Case {
            name: $name,
            text: include_str!(concat!("../../../examples/reproduce/", $name, ".toml")),
            note: $note,
        }
    };
}

const NO_SOLO: &str = "no figure of one request by itself was published: the page's shortest transaction \
                       stands for it, and only the order of the servers can be expected to come out";
const SLOWER: &str = "the published rows of one process use 85 to 89 % of the core that 1369 ms a request \
                      ask for; what took the rest is not stated";

const CASES: [Case; 9] = [
    case!("puma-rails-2026-io-24", None),
    case!("puma-rails-2026-cpu-24", None),
    case!("puma-rails-2026-io-120", None),
    case!("puma-rails-2026-io-development", None),
    case!("puma-locust-2026-io", None),
    case!("puma-locust-2026-cpu", Some(SLOWER)),
    case!("siege-2013", Some(NO_SOLO)),
    case!("siege-2013-failing", None),
    case!("impossible", None),
];

const NOT_SIMULATED: &str = include_str!("../../../examples/reproduce/not-simulated.toml");

/// Simulates all of them and prints the figures side by side.
pub fn all(options: &ReproduceOptions) -> ExitCode {
    let mut reproduced = Vec::with_capacity(CASES.len());
    for case in &CASES {
        match case.run(options) {
            Ok(reproduction) => reproduced.push(reproduction),
            Err(error) => return output::explain(case.name, &error).into(),
        }
    }
    let rest = not_simulated();
    let text = if options.json {
        Reproduction::json(&reproduced, &Value::List(rest))
    } else {
        tables(&reproduced, &rest)
    };
    let printed: Status = output::print(&text);
    printed.into()
}

impl Case {
    fn run(&self, options: &ReproduceOptions) -> Result<Reproduction, Error> {
        let experiment = Experiment::from_toml(self.text)?;
        let experiment = match options.seed {
            Some(seed) => experiment.seed(seed),
            None => experiment,
        };
        let bar = Bar::new(&experiment.name);
        let mut reproduced =
            Reproduction::run(&experiment, options.runs, &|done| bar.advance(done))?;
        let unexplained = |row: &&mut ReproducedRow| {
            row.cause.is_none() && row.figures.iter().any(Figure::is_far)
        };
        for row in reproduced.rows.iter_mut().filter(unexplained) {
            row.cause = self.note.map(str::to_owned);
        }
        Ok(reproduced)
    }
}

/// The rows of the file of what is not simulated: tables of what, published and why.
fn not_simulated() -> Vec<Value> {
    match Value::from_toml(NOT_SIMULATED).expect("the file comes with the command") {
        Value::Table(fields) => fields.into_iter().flat_map(|(_, rows)| list(rows)).collect(),
        _ => Vec::new(),
    }
}

fn list(rows: Value) -> Vec<Value> {
    if let Value::List(rows) = rows { rows } else { Vec::new() }
}

fn tables(reproduced: &[Reproduction], rest: &[Value]) -> String {
    let mut text = Reproduction::table(reproduced);
    text += "\nnot simulated:\n";
    for row in rest {
        let [what, published, why] = ["what", "published", "why"].map(|key| field(row, key));
        text += &format!("{what}: {published}; {why}\n");
    }
    text
}

fn field<'v>(row: &'v Value, key: &str) -> &'v str {
    let Value::Table(fields) = row else { return "" };
    match fields.iter().find(|(name, _)| name == key) {
        Some((_, Value::Text(text))) => text,
        _ => "",
    }
}
