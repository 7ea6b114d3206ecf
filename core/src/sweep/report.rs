//! What a sweep gave, and its views: a table, CSV, JSON.

use super::Axis;
use super::columns::{COLUMNS, ERROR, of_ceiling, warnings};
use crate::error::Error;
use crate::measure::figure;
use crate::report::{Machine, Report, Row};
use crate::value::Value;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

/// Holds what a sweep gave.
#[derive(Debug, Clone, Serialize)]
pub struct SweepReport {
    /// The experiment that was varied.
    pub experiment: Value,
    /// The engine that ran it.
    pub engine: String,
    /// The seed of its chance, unless that was varied.
    pub seed: u64,
    /// The machine, unless that was varied.
    pub machine: Machine,
    /// What was varied: paths.
    pub axes: Vec<String>,
    /// One for each combination, in the order of the grid.
    pub points: Vec<PointReport>,
}

/// Holds what one point of a sweep gave.
#[derive(Debug, Clone, Serialize)]
pub struct PointReport {
    /// The settings, by path.
    pub set: Value,
    /// One row for each model; none where the run failed.
    pub rows: Vec<Row>,
    /// Why the run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a line of the table has beside its settings.
const HEADINGS: [&str; 14] = [
    "model",
    "workers x threads",
    "ok",
    "failed",
    "rps",
    "of ceiling",
    "bound by",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "max ms",
    "GVL wait",
    "CPU",
    "notes",
];

impl PointReport {
    pub(super) fn of(axes: &[Axis], settings: &[Value], result: Result<Report, Error>) -> Self {
        let set = axes.iter().zip(settings).map(|(axis, value)| (axis.path(), value.clone()));
        let (rows, error) = match result {
            Ok(report) => (report.rows, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Self { set: Value::table(set), rows, error }
    }

    /// Its error, in the line that has no row.
    pub(super) fn error_of(&self, row: Option<&Row>) -> Option<&str> {
        self.error.as_deref().filter(|_| row.is_none())
    }

    /// The setting in the place `n`.
    #[cfg(feature = "parquet")]
    pub(super) fn setting(&self, n: usize) -> Option<&Value> {
        let Value::Table(fields) = &self.set else { return None };
        fields.get(n).map(|(_, value)| value)
    }

    fn settings(&self) -> Vec<String> {
        let Value::Table(fields) = &self.set else { return Vec::new() };
        fields.iter().map(|(_, value)| plain(value)).collect()
    }
}

impl SweepReport {
    /// Tells whether any row of any point has a figure above its ceiling.
    pub fn is_impossible(&self) -> bool {
        self.points.iter().flat_map(|point| &point.rows).any(Row::is_impossible)
    }

    /// Tells whether every point ran, and every row has a successful request.
    pub fn has_success(&self) -> bool {
        let fine = |point: &PointReport| {
            point.error.is_none() && point.rows.iter().all(|row| row.has_success())
        };
        self.points.iter().all(fine)
    }

    /// Renders a table in Markdown, a line a point and model; the text ends in a newline.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN);
        let headings = HEADINGS.map(str::to_owned);
        table.set_header(self.axes.iter().cloned().chain(headings));
        for (point, row) in self.lines() {
            let cells = row.map_or_else(|| cells_of_error(point), cells);
            table.add_row(point.settings().into_iter().chain(cells));
        }
        for n in 0..self.axes.len() + HEADINGS.len() - 1 {
            let heading = n.checked_sub(self.axes.len()).map(|n| HEADINGS[n]);
            if let (Some(column), false) =
                (table.column_mut(n), matches!(heading, Some("model" | "bound by")))
            {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let cores = match self.axes.iter().any(|axis| axis == "machine.cores") {
            true => String::new(),
            false => format!(", {} cores", self.machine.cores),
        };
        let points = figure::count(self.points.len() as u64, "point");
        format!("({} engine{cores}; {points})\n\n{}\n", self.engine, table.trim_fmt())
    }

    /// Renders CSV: a record a point and model. Columns are the paths, then fixed ones, of which new
    /// ones come at the end; a point that failed has its error in the last.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let fixed = COLUMNS.iter().map(|column| column.name).chain([ERROR]);
        let header = self.axes.iter().cloned().chain(fixed.map(str::to_owned)).collect();
        let records = self.lines().map(|(point, row)| {
            let figures = COLUMNS.iter().map(|column| column.of(row).plain());
            let error = point.error_of(row).unwrap_or_default().to_owned();
            point.settings().into_iter().chain(figures).chain([error]).collect()
        });
        for record in std::iter::once::<Vec<String>>(header).chain(records) {
            writer.write_record(&record).expect("memory takes records of one length");
        }
        let bytes = writer.into_inner().expect("memory takes all that is written");
        String::from_utf8(bytes).expect("text was written")
    }

    /// Renders the whole document as JSON; the text ends in a newline.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is plain data") + "\n"
    }

    /// The points and their rows; none for a point that failed.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&PointReport, Option<&Row>)> {
        self.points.iter().flat_map(|point| {
            let failed = point.error.is_some().then_some((point, None));
            point.rows.iter().map(move |row| (point, Some(row))).chain(failed)
        })
    }
}

/// The cells of a row in the table.
fn cells(row: &Row) -> Vec<String> {
    let maybe = |x: Option<f64>| x.map(figure::number).unwrap_or_default();
    let share = |x: Option<f64>| x.map(figure::percent).unwrap_or_default();
    let latency = &row.latency_ms;
    vec![
        row.model.clone(),
        row.size(),
        row.ok.to_string(),
        row.failed.values().sum::<u64>().to_string(),
        maybe(row.throughput_rps),
        share(of_ceiling(row)),
        row.bound_by.unwrap_or_default().to_owned(),
        maybe(latency.p50),
        maybe(latency.p95),
        maybe(latency.p99),
        maybe(latency.max),
        share(row.gvl.wait_share),
        share(row.cpu_share),
        warnings(row),
    ]
}

/// Those of a point that failed: its error among the notes.
fn cells_of_error(point: &PointReport) -> Vec<String> {
    let mut cells = vec![String::new(); HEADINGS.len()];
    cells[HEADINGS.len() - 1] = point.error.clone().unwrap_or_default();
    cells
}

/// A setting without quotes.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    }
}
