//! The table of ratios, from the medians that criterion wrote.

use std::fmt::Write;
use std::path::Path;
use std::time::SystemTime;

/// One comparison. `ours` and `peer` name benchmarks, as group and id.
struct Row {
    ours: (&'static str, &'static str),
    peer: &'static str,
    /// What `ours` is compared with: so many times the peer, and another benchmark on top.
    factor: f64,
    plus: Option<&'static str>,
    wanted: f64,
}

const fn row(group: &'static str, ours: &'static str, peer: &'static str, wanted: f64) -> Row {
    Row { ours: (group, ours), peer, factor: 1.0, plus: None, wanted }
}

const ROWS: [Row; 13] = [
    row("acquire", "ours, accounting off", "FairMutex", 1.5),
    Row {
        factor: 1.5,
        plus: Some("two clock readings"),
        ..row("acquire", "ours, accounting on", "FairMutex", 1.0)
    },
    row("handoff", "ours, accounting off, two cores", "park and unpark, two cores", 1.2),
    row("handoff", "ours, accounting on, two cores", "park and unpark, two cores", 1.2),
    row("handoff", "ours, accounting off, one core", "park and unpark, one core", 1.2),
    row("handoff", "ours, accounting on, one core", "park and unpark, one core", 1.2),
    row("spawn", "ours", "tokio", 0.33),
    row("spawn", "ours", "rayon", 1.0),
    row("spawn", "ours", "threadpool", 1.0),
    row("event loop", "ours, accounting off", "tokio, block_on", 1.3),
    row("event loop", "ours, accounting off", "tokio, own thread", 1.3),
    row("event loop", "ours, accounting on", "tokio, block_on", 1.3),
    row("event loop", "ours, accounting on", "tokio, own thread", 1.3),
];

/// Markdown: a line for each row whose benchmarks ran since `began`.
pub fn print(results: &Path, began: SystemTime) -> String {
    let mut table = "| what | ours | ns | peer | ns | ours / peer | wanted |\n".to_owned();
    table += "|---|---|---:|---|---:|---:|---|\n";
    for row in &ROWS {
        let median = |id| median(results, row.ours.0, id, began);
        let extra = row.plus.map_or(Some(0.0), median);
        let (Some(ours), Some(peer), Some(extra)) = (median(row.ours.1), median(row.peer), extra)
        else {
            continue;
        };
        let peer_ns = peer * row.factor + extra;
        let ratio = ours / peer_ns;
        let verdict = if ratio <= row.wanted { "" } else { ", missed" };
        let name = match row.plus {
            Some(plus) => format!("{} x {} + {plus}", row.factor, row.peer),
            None => row.peer.to_owned(),
        };
        let (group, id) = row.ours;
        writeln!(
            table,
            "| {group} | {id} | {ours:.1} | {name} | {peer_ns:.1} | {ratio:.2} | at most {}{verdict} |",
            row.wanted,
        )
        .expect("a string takes any text");
    }
    table
}

/// The median of one benchmark in nanoseconds an iteration, if it ran since `began`.
fn median(results: &Path, group: &str, id: &str, began: SystemTime) -> Option<f64> {
    let file = results.join(group).join(id).join("new/estimates.json");
    if file.metadata().ok()?.modified().ok()? < began {
        return None;
    }
    let estimates: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}
