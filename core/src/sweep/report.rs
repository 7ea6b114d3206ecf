//! What a sweep gave, and its views: a table, CSV, JSON.

use super::Axis;
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

/// What a line has beside its settings: the heading in tables, and in CSV.
const COLUMNS: [(&str, &str); 14] = [
    ("model", "model"),
    ("workers x threads", "size"),
    ("ok", "ok"),
    ("failed", "failed"),
    ("rps", "throughput_rps"),
    ("of ceiling", "of_ceiling"),
    ("bound by", "bound_by"),
    ("p50 ms", "p50_ms"),
    ("p95 ms", "p95_ms"),
    ("p99 ms", "p99_ms"),
    ("max ms", "max_ms"),
    ("GVL wait", "gvl_wait_share"),
    ("CPU", "cpu_share"),
    ("notes", "warnings"),
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
        let columns = COLUMNS.map(|(heading, _)| heading.to_owned());
        table.set_header(self.axes.iter().cloned().chain(columns));
        for line in self.lines(figure::number, figure::percent) {
            table.add_row(line);
        }
        for n in 0..self.axes.len() + COLUMNS.len() - 1 {
            let heading = n.checked_sub(self.axes.len()).map(|n| COLUMNS[n].0);
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

    /// Renders CSV: a record a point and model. Columns are the paths, then fixed ones.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let columns = COLUMNS.map(|(_, name)| name.to_owned());
        let header: Vec<_> = self.axes.iter().cloned().chain(columns).collect();
        let lines = self.lines(|x| x.to_string(), |x| x.to_string());
        for record in std::iter::once(header).chain(lines) {
            writer.write_record(&record).expect("memory takes records of one length");
        }
        let bytes = writer.into_inner().expect("memory takes all that is written");
        String::from_utf8(bytes).expect("text was written")
    }

    /// Renders the whole document as JSON; the text ends in a newline.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is plain data") + "\n"
    }

    fn lines(
        &self,
        number: impl Fn(f64) -> String,
        share: impl Fn(f64) -> String,
    ) -> Vec<Vec<String>> {
        let mut lines = Vec::new();
        let maybe = |x: Option<f64>| x.map(&number).unwrap_or_default();
        for point in &self.points {
            for row in &point.rows {
                let ceiling = row.ceiling().map(|ceiling| ceiling.rps);
                let of_ceiling = row.throughput_rps.zip(ceiling).map(|(rps, most)| rps / most);
                let latency = &row.latency_ms;
                let kinds: Vec<_> = row.warnings.iter().map(|warning| warning.kind).collect();
                let mut line = point.settings();
                line.extend([
                    row.model.clone(),
                    row.size(),
                    row.ok.to_string(),
                    row.failed.values().sum::<u64>().to_string(),
                    maybe(row.throughput_rps),
                    of_ceiling.map(&share).unwrap_or_default(),
                    row.bound_by.unwrap_or_default().to_owned(),
                    maybe(latency.p50),
                    maybe(latency.p95),
                    maybe(latency.p99),
                    maybe(latency.max),
                    row.gvl.wait_share.map(&share).unwrap_or_default(),
                    row.cpu_share.map(&share).unwrap_or_default(),
                    kinds.join("; "),
                ]);
                lines.push(line);
            }
            if let Some(error) = &point.error {
                let mut line = point.settings();
                line.resize(line.len() + COLUMNS.len() - 1, String::new());
                line.push(error.clone());
                lines.push(line);
            }
        }
        lines
    }
}

/// A setting without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    }
}
