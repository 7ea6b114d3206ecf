//! Why a row's figures are what they are, in a sentence.

use super::{ReproducedRow, Verdict};
use crate::Experiment;
use crate::load::Connections;
use crate::measure::figure::count;
use crate::measure::nearest_rank;
use crate::report::Row;

/// How much more than its part the busiest worker takes, before it is worth a word.
const UNEVEN: f64 = 1.05;

/// The warnings that are a cause.
const TELLING: [&str; 3] = ["impossible", "no success", "load limited"];

pub(super) fn of(row: &ReproducedRow, experiment: &Experiment, runs: &[&Row]) -> Option<String> {
    let told = |kind: &str| runs[0].warnings.iter().find(|warning| warning.kind == kind);
    if let Some(warning) = TELLING.into_iter().find_map(told) {
        return Some(format!("{}: {}", warning.kind, warning.text));
    }
    let spreads =
        row.figures.iter().any(|figure| figure.verdict == Verdict::InRange || figure.is_far());
    let imbalance = row.imbalance.filter(|_| spreads)?;
    match experiment.load.connections {
        Connections::New => (imbalance > UNEVEN).then(|| uneven_accepts(row, runs)),
        Connections::KeepAlive => Some(stuck_users(row, experiment)),
    }
}

/// The requests that the busiest worker took, in the mean and in one run of twenty.
fn busiest(runs: &[&Row]) -> (f64, f64) {
    let mut most: Vec<f64> = runs
        .iter()
        .filter_map(|row| row.by_worker.iter().map(|worker| worker.requests).max())
        .map(|n| n as f64)
        .collect();
    most.sort_by(f64::total_cmp);
    let mean = most.iter().sum::<f64>() / most.len().max(1) as f64;
    (mean, nearest_rank(&most, 0.95).unwrap_or_default())
}

fn uneven_accepts(row: &ReproducedRow, runs: &[&Row]) -> String {
    let (mean, late) = busiest(runs);
    format!(
        "uneven accepts over a short run: of {} the busiest of {} workers takes {mean:.1} in the mean and \
         {late} or more in one run of twenty, and the others wait for it",
        count(runs[0].requests, "request"),
        row.workers,
    )
}

fn stuck_users(row: &ReproducedRow, experiment: &Experiment) -> String {
    let users = experiment.load.users().map(|users| count(users.into(), "user"));
    format!(
        "users stick to the worker that accepted their connection, however many each of {} has: where one \
         has few of {} these are answered soon and often, and the others wait",
        count(row.workers.into(), "worker"),
        users.unwrap_or("all".to_owned()),
    )
}
