//! A snapshot as text: the threads as `ps -efL` has them, then the memory.

use super::Snapshot;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use std::fmt;
use std::time::Duration;

/// What stands where there is no figure.
const NONE: &str = "-";

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", threads(self))?;
        writeln!(f)?;
        writeln!(f, "{}", memory(self))
    }
}

fn threads(snapshot: &Snapshot) -> Table {
    let mut table = table(&["ROLE", "PID", "PPID", "LWP", "C", "NLWP", "S", "TIME", "NAME"]);
    for process in &snapshot.processes {
        for thread in &process.threads {
            table.add_row([
                process.role.to_string(),
                process.pid.to_string(),
                process.ppid.to_string(),
                thread.tid.to_string(),
                percent(thread.cpu_share),
                process.nlwp.to_string(),
                thread.state.to_string(),
                time(thread.cpu),
                thread.name.clone(),
            ]);
        }
    }
    align(table, &[1, 2, 3, 4, 5, 7])
}

/// Resident memory of several processes does not add up: what they share counts in each.
fn memory(snapshot: &Snapshot) -> Table {
    let mut table = table(&["ROLE", "PID", "RSS MiB", "PSS MiB", "SHARED MiB", "PRIVATE MiB"]);
    for process in &snapshot.processes {
        let mib = |bytes: fn(&super::Memory) -> u64| {
            process.memory.as_ref().map_or(NONE.to_owned(), |memory| in_mib(bytes(memory)))
        };
        table.add_row([
            process.role.to_string(),
            process.pid.to_string(),
            mib(|memory| memory.rss_bytes),
            mib(|memory| memory.pss_bytes),
            mib(|memory| memory.shared_bytes),
            mib(|memory| memory.private_bytes),
        ]);
    }
    if snapshot.processes.len() > 1 {
        let private = snapshot.processes.iter().filter_map(|p| Some(p.memory?.private_bytes));
        table.add_row([
            "all".to_owned(),
            String::new(),
            NONE.to_owned(),
            in_mib(snapshot.pss_bytes()),
            NONE.to_owned(),
            in_mib(private.sum()),
        ]);
    }
    align(table, &[1, 2, 3, 4, 5])
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(header);
    table
}

fn align(mut table: Table, numbers: &[usize]) -> Table {
    for column in numbers {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A share as the C column of `ps` has it, in percent of one processor.
fn percent(share: Option<f64>) -> String {
    share.map_or(NONE.to_owned(), |share| format!("{:.0}", share * 100.0))
}

/// Minutes, seconds and hundredths.
fn time(cpu: Duration) -> String {
    let hundredths = cpu.as_millis() / 10;
    format!("{}:{:02}.{:02}", hundredths / 6000, hundredths / 100 % 60, hundredths % 100)
}

fn in_mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}
