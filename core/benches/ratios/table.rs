//! The table of ratios, from the medians that criterion wrote.

use std::fmt::Write;
use std::path::{Path, PathBuf};
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

/// Shown for what it tells, without a bound.
const NO_BOUND: f64 = f64::INFINITY;

const ROWS: [Row; 13] = [
    row("acquire", "ours, accounting off", "FairMutex", 1.5),
    Row {
        factor: 1.5,
        plus: Some("two clock readings"),
        ..row("acquire", "ours, accounting on", "FairMutex", 1.0)
    },
    row("handoff", "ours, accounting off, two cores", "park and unpark, two cores", 1.2),
    row("handoff", "ours, accounting on, two cores", "park and unpark, two cores", 1.2),
    row("handoff", "ours, accounting off, one core", "park and unpark, one core", NO_BOUND),
    row("handoff", "ours, accounting on, one core", "park and unpark, one core", NO_BOUND),
    row("spawn", "ours", "tokio", 0.33),
    row("spawn", "ours", "rayon", 1.0),
    row("spawn", "ours", "threadpool", NO_BOUND),
    row("event loop", "ours, accounting off", "tokio, block_on", 1.3),
    row("event loop", "ours, accounting off", "tokio, own thread", 1.3),
    row("event loop", "ours, accounting on", "tokio, block_on", 1.3),
    row("event loop", "ours, accounting on", "tokio, own thread", 1.3),
];

/// Markdown: a line for each row whose benchmarks ran since `began`. Times are those of the round
/// that has the median ratio.
pub fn print(rounds: &[PathBuf], began: SystemTime) -> String {
    let mut table = "| what | ours | ns | peer | ns | ours / peer | rounds | wanted |\n".to_owned();
    table += "|---|---|---:|---|---:|---:|---|---|\n";
    for row in &ROWS {
        let mut pairs: Vec<_> = rounds.iter().filter_map(|r| row.pair(r, began)).collect();
        pairs.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        let (Some(least), Some(most)) = (pairs.first(), pairs.last()) else { continue };
        let median = &pairs[pairs.len() / 2];
        let name = match row.plus {
            Some(plus) => format!("{} x {} + {plus}", row.factor, row.peer),
            None => row.peer.to_owned(),
        };
        let missed = if median.ratio() <= row.wanted { "" } else { ", missed" };
        let wanted = match row.wanted {
            NO_BOUND => "-".to_owned(),
            most => format!("at most {most}{missed}"),
        };
        writeln!(
            table,
            "| {} | {} | {:.1} | {name} | {:.1} | {:.2} | {:.2} to {:.2} | {wanted} |",
            row.ours.0,
            row.ours.1,
            median.ours,
            median.peer,
            median.ratio(),
            least.ratio(),
            most.ratio(),
        )
        .expect("a string takes any text");
    }
    table
}

/// Nanoseconds, of one round.
struct Pair {
    ours: f64,
    peer: f64,
}

impl Pair {
    fn ratio(&self) -> f64 {
        self.ours / self.peer
    }
}

impl Row {
    fn pair(&self, round: &Path, began: SystemTime) -> Option<Pair> {
        let median = |id| median(round, self.ours.0, id, began);
        let plus = self.plus.map_or(Some(0.0), median)?;
        Some(Pair { ours: median(self.ours.1)?, peer: median(self.peer)? * self.factor + plus })
    }
}

/// The median of one benchmark in nanoseconds an iteration, if it ran since `began`.
fn median(round: &Path, group: &str, id: &str, began: SystemTime) -> Option<f64> {
    let file = round.join(group).join(id).join("new/estimates.json");
    if file.metadata().ok()?.modified().ok()? < began {
        return None;
    }
    let estimates: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}
