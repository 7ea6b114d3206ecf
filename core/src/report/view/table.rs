//! `table`: one line a row, its endpoints below it, then the details and workers, then what was
//! doubted.
//!
//! The lines are a table in Markdown too, so that they can be pasted into an issue.

mod clients;
mod details;
mod notes;
mod processes;
mod workers;

use self::notes::Notes;
use super::heading;
use crate::measure::figure;
use crate::report::{EndpointRow, Latency, Report, Row};
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use std::collections::BTreeMap;

/// What stands where there is no figure.
const NONE: &str = "-";

/// A mean wait for the lock below this, in ms, is the cost of taking it.
const WAIT_MIN_MS: f64 = 0.01;

/// The columns; `published` and `notes` only stand where a row fills them.
const HEADER: [&str; 13] = [
    "model",
    "workers x threads",
    "ok/requests",
    "failed",
    "rps",
    "ceiling",
    "of it",
    "bound by",
    "p50 ms",
    "p99 ms",
    "max ms",
    "GVL wait",
    "CPU",
];

pub(super) fn render(report: &Report) -> String {
    let notes = Notes::of(&report.rows);
    let has_published = report.rows.iter().any(|row| !row.published.is_empty());
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    let mut header = HEADER.to_vec();
    header.extend(has_published.then_some("published"));
    header.extend((!notes.is_empty()).then_some("notes"));
    let columns = header.len();
    table.set_header(header);
    for (n, row) in report.rows.iter().enumerate() {
        let mut cells = of_row(row);
        cells.extend(has_published.then(|| published(row)));
        cells.push(notes.of_row(n));
        cells.truncate(columns);
        table.add_row(cells);
        for endpoint in &row.endpoints {
            let mut cells = of_endpoint(endpoint);
            cells.resize(columns, String::new());
            table.add_row(cells);
        }
    }
    for n in (1..HEADER.len()).filter(|n| HEADER[*n] != "bound by") {
        if let Some(column) = table.column_mut(n) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let heading = heading::of(report);
    let tables: Vec<_> = [table.trim_fmt(), details::of(&report.rows)]
        .into_iter()
        .chain(workers::of(&report.rows))
        .collect();
    let (warm_up, processes) = (warm_up(&report.rows), processes::of(&report.rows));
    let clients = clients::of(&report.rows);
    format!("{heading}\n\n{}\n{warm_up}{clients}{notes}{processes}", tables.join("\n\n"))
}

/// What was left out of each row, a line of each; nothing where that was not asked for.
fn warm_up(rows: &[Row]) -> String {
    let mut lines = String::new();
    for (row, left_out) in rows.iter().filter_map(|row| Some((row, row.warm_up?))) {
        let gap = if lines.is_empty() { "\n" } else { "" };
        let time = figure::number(left_out.time_ms);
        let requests = figure::count(left_out.requests, "request");
        let share = share(left_out.share);
        lines += &format!("{gap}warm-up of {}: {time} ms, {requests} ({share})\n", row.title());
    }
    lines
}

fn of_row(row: &Row) -> Vec<String> {
    let ceiling = row.ceiling().map(|ceiling| ceiling.rps);
    let of_it = row.throughput_rps.zip(ceiling).map(|(rps, ceiling)| rps / ceiling);
    let mut cells = vec![
        row.model.clone(),
        row.size(),
        format!("{}/{}", row.ok, row.requests),
        failed(&row.failed),
        throughput(row),
        maybe(ceiling),
        share(of_it),
        row.bound_by.unwrap_or(NONE).to_owned(),
    ];
    cells.extend(latency(&row.latency_ms));
    cells.extend([share(row.gvl.wait_share), share(row.cpu_share)]);
    cells
}

fn of_endpoint(endpoint: &EndpointRow) -> Vec<String> {
    let mut cells = vec![
        format!("  {}", endpoint.name),
        String::new(),
        format!("{}/{}", endpoint.ok, endpoint.requests),
        failed(&endpoint.failed),
        maybe(endpoint.throughput_rps),
        String::new(),
        String::new(),
        String::new(),
    ];
    cells.extend(latency(&endpoint.latency_ms));
    let wait = endpoint.gvl_wait_ms_mean.filter(|ms| *ms >= WAIT_MIN_MS);
    cells.push(wait.map_or(String::new(), |ms| format!("{} ms", figure::number(ms))));
    cells
}

/// The throughput, with half the width of its interval where there is one.
fn throughput(row: &Row) -> String {
    let rps = maybe(row.throughput_rps);
    match row.interval.map(|interval| interval.throughput_rps) {
        Some(bounds) => format!("{rps} ±{}", brief((bounds.high - bounds.low) / 2.0)),
        None => rps,
    }
}

fn latency(latency: &Latency) -> [String; 3] {
    [latency.p50, latency.p99, latency.max].map(maybe)
}

/// What others measured, and how far the row is from it where it has the same figure.
fn published(row: &Row) -> String {
    let lines: Vec<_> =
        row.published.iter().map(|(key, theirs)| beside(row, key, *theirs)).collect();
    lines.join("; ")
}

fn beside(row: &Row, key: &str, theirs: f64) -> String {
    let text = format!("{key} {}", figure::number(theirs));
    match measured(row, key).filter(|_| theirs != 0.0) {
        Some(ours) => {
            let apart = (ours / theirs - 1.0) * 100.0;
            format!("{text}, here {} ({apart:+.1} %)", figure::number(ours))
        }
        None => text,
    }
}

/// The row's own figure for a published key.
fn measured(row: &Row, key: &str) -> Option<f64> {
    let latency = &row.latency_ms;
    match key {
        "avg_ms" | "mean_ms" => latency.mean,
        "median_ms" | "p50_ms" => latency.p50,
        "p90_ms" => latency.p90,
        "p95_ms" => latency.p95,
        "p99_ms" => latency.p99,
        "p999_ms" => latency.p999,
        "max_ms" => latency.max,
        "requests" => Some(row.requests as f64),
        key if key.ends_with("_rps") => row.throughput_rps,
        _ => None,
    }
}

fn failed(failed: &BTreeMap<String, u64>) -> String {
    failed.values().sum::<u64>().to_string()
}

fn maybe(x: Option<f64>) -> String {
    x.map_or(NONE.to_owned(), figure::number)
}

fn share(x: Option<f64>) -> String {
    x.map_or(NONE.to_owned(), figure::percent)
}

/// A width to two digits: more would be noise.
fn brief(x: f64) -> String {
    let digits = if x >= 10.0 {
        0
    } else if x >= 1.0 {
        1
    } else {
        2
    };
    format!("{x:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::WarmUpRow;
    use crate::report::view::samples::{all_failed, report, slow_io};

    /// The cells of the line whose first cell is `start`.
    fn line<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
        let mut lines = text.lines().map(|line| line.trim_matches('|').split('|').map(str::trim));
        let found = lines.find_map(|mut cells| (cells.next()? == start).then_some(cells));
        found.unwrap_or_else(|| panic!("no {start} in {text}")).collect()
    }

    #[test]
    fn a_row_its_endpoints_and_what_was_published() {
        let text = render(&report(vec![slow_io()]));
        let row = ["0x5", "110/114", "4", "11 ±0.00", "25", "44 %", "gvl"];
        assert_eq!(line(&text, "puma")[..7], row, "{text}");
        assert!(text.contains("throughput_rps 12, here 11 (-8.3 %)"), "{text}");
        assert_eq!(line(&text, "io")[1..4], ["100/104", "4", "10"], "{text}");
        assert!(text.contains("|   io "), "endpoints stand in a little: {text}");
    }

    #[test]
    fn a_failed_run_shows_no_throughput() {
        let text = render(&report(vec![all_failed()]));
        assert_eq!(line(&text, "webrick")[..4], ["0x1", "0/320", "320", "-"], "{text}");
    }

    #[test]
    fn a_warm_up_is_a_line_below() {
        let mut row = all_failed();
        assert!(!render(&report(vec![row.clone()])).contains("warm-up"));
        let warm_up = WarmUpRow { time_ms: 1234.0, share: Some(0.123), requests: 1, settled: true };
        row.warm_up = Some(warm_up);
        let text = render(&report(vec![row]));
        assert!(text.contains("\nwarm-up of webrick 0x1: 1234 ms, 1 request (12 %)\n"), "{text}");
    }
}
