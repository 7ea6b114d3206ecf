//! The second table: the other percentiles, how busy the lock was, the queue, who answered.

use super::{NONE, maybe, share};
use crate::measure::figure;
use crate::report::{Latency, Row};
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

const HEADER: [&str; 8] =
    ["model", "mean ms", "p90 ms", "p95 ms", "p99.9 ms", "GVL hold", "queue", "answered by"];

/// How many processes are named; more are counted.
const NAMED_MAX: usize = 4;

pub(super) fn of(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(HEADER);
    for row in rows {
        let mut cells = vec![row.title()];
        cells.extend(latency(&row.latency_ms));
        cells.push(share(row.gvl.hold_share));
        cells.push(queue(row));
        cells.push(answered_by(row));
        table.add_row(cells);
        for endpoint in &row.endpoints {
            let mut cells = vec![format!("  {}", endpoint.name)];
            cells.extend(latency(&endpoint.latency_ms));
            cells.resize(HEADER.len(), String::new());
            table.add_row(cells);
        }
    }
    for n in 1..HEADER.len() - 1 {
        if let Some(column) = table.column_mut(n) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

fn latency(latency: &Latency) -> [String; 4] {
    [latency.mean, latency.p90, latency.p95, latency.p999].map(maybe)
}

/// Requests that waited for a thread: in the mean, and at most.
fn queue(row: &Row) -> String {
    format!("{}, max {}", figure::number(row.queue.depth_mean), row.queue.depth_max)
}

/// The processes and how many requests each answered.
fn answered_by(row: &Row) -> String {
    let named = row.processes.iter().take(NAMED_MAX);
    let mut words: Vec<_> = named.map(|(pid, n)| format!("pid {pid}: {n}")).collect();
    if row.processes.len() > NAMED_MAX {
        words.push(format!("{} more", row.processes.len() - NAMED_MAX));
    }
    if words.is_empty() { NONE.to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::samples::slow_io;

    #[test]
    fn it_shows_what_the_first_table_leaves_out() {
        let mut row = slow_io();
        row.processes = (1..=6).map(|pid| (pid, 10)).collect();
        let text = of(&[row]);
        assert!(text.contains("pid 4: 10, 2 more"), "{text}");
        assert_eq!(text.lines().count(), 5, "{text}");
    }
}
