//! The third table, where a row has several workers: what each took, and how it fared.

use super::{NONE, failed, maybe, share};
use crate::measure::figure;
use crate::report::{Row, WorkerRow};
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

const HEADER: [&str; 11] = [
    "by worker",
    "ok/requests",
    "failed",
    "share",
    "rps",
    "p50 ms",
    "p99 ms",
    "GVL wait",
    "GVL hold",
    "CPU",
    "imbalance",
];

/// How many workers have a line of their own at each end, where there are more than twice as many.
const ENDS: usize = 4;

/// The table; `None` where no row has several workers.
pub(super) fn of(rows: &[Row]) -> Option<String> {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(HEADER);
    let clusters = rows.iter().filter(|row| !row.by_worker.is_empty());
    for row in clusters {
        table.add_row(whole(row));
        table.add_rows(lines(&row.by_worker));
    }
    if table.is_empty() {
        return None;
    }
    for n in 1..HEADER.len() {
        if let Some(column) = table.column_mut(n) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    Some(table.trim_fmt())
}

/// The line of all workers together.
fn whole(row: &Row) -> [String; HEADER.len()] {
    [
        row.title(),
        format!("{}/{}", row.ok, row.requests),
        failed(&row.failed),
        String::new(),
        maybe(row.throughput_rps),
        maybe(row.latency_ms.p50),
        maybe(row.latency_ms.p99),
        share(row.gvl.wait_share),
        share(row.gvl.hold_share),
        share(row.cpu_share),
        row.imbalance.map_or(NONE.to_owned(), figure::short),
    ]
}

/// The lines of the workers by number; of many, those that took most and fewest.
fn lines(workers: &[WorkerRow]) -> Vec<[String; HEADER.len()]> {
    if workers.len() <= 2 * ENDS {
        return workers.iter().map(line).collect();
    }
    let mut sorted: Vec<_> = workers.iter().collect();
    sorted.sort_by_key(|worker| std::cmp::Reverse(worker.requests));
    let (most, rest) = sorted.split_at(ENDS);
    let (between, fewest) = rest.split_at(rest.len() - ENDS);
    let mut gap = [const { String::new() }; HEADER.len()];
    gap[0] = format!("  {} between", figure::count(between.len() as u64, "worker"));
    let ends = |workers: &[&WorkerRow]| workers.iter().copied().map(line).collect::<Vec<_>>();
    [ends(most), vec![gap], ends(fewest)].concat()
}

fn line(worker: &WorkerRow) -> [String; HEADER.len()] {
    [
        name(worker),
        format!("{}/{}", worker.ok, worker.requests),
        failed(&worker.failed),
        share(worker.share),
        maybe(worker.throughput_rps),
        maybe(worker.latency_ms.p50),
        maybe(worker.latency_ms.p99),
        share(worker.gvl.wait_share),
        share(worker.gvl.hold_share),
        share(worker.cpu_share),
        String::new(),
    ]
}

fn name(worker: &WorkerRow) -> String {
    let lost = match worker.lost {
        0 => String::new(),
        n => format!(", lost {}", figure::count(n, "time")),
    };
    format!("  worker {}{lost}", worker.worker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{cluster, shape};
    use crate::report::view::samples::{four_workers, slow_io};

    #[test]
    fn each_worker_has_a_line_below_its_row() {
        let text = of(&[slow_io(), four_workers()]).unwrap();
        let lines: Vec<Vec<_>> =
            text.lines().map(|l| l.split('|').map(str::trim).collect()).collect();
        assert_eq!(lines.len(), 2 + 5, "{text}");
        assert_eq!(lines[2][1..5], ["puma 4x3", "118/120", "2", ""], "{text}");
        assert_eq!(lines[2][11], "2.03", "{text}");
        let first = ["worker 0", "61/61", "0", "51 %", "30.5", "310", "310", "50 %", "30 %"];
        assert_eq!(lines[3][1..10], first, "{text}");
        assert_eq!(lines[6][1..5], ["worker 3, lost 1 time", "7/9", "2", "8 %"], "{text}");
    }

    #[test]
    fn of_many_workers_the_ends_are_shown() {
        let answered: Vec<u32> = (0..32).map(|n| 100 + n).collect();
        let run = cluster(1000, &answered, 10);
        let text = of(&[Row::of("unicorn", &shape(32, 1), &[run], &[])]).unwrap();
        let lines: Vec<_> = text.lines().map(|l| l.split('|').nth(1).unwrap().trim()).collect();
        assert_eq!(lines[3..6], ["worker 31", "worker 30", "worker 29"], "{text}");
        assert_eq!(lines[7], "24 workers between", "{text}");
        assert_eq!((lines.len(), lines[11]), (12, "worker 0"), "{text}");
    }

    #[test]
    fn single_processes_have_no_such_table() {
        assert_eq!(of(&[slow_io()]), None);
    }
}
