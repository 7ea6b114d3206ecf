//! What a sweep's CSV and Parquet have of each row: one list, a name and a figure each.
//!
//! New columns go to the end, so that who reads by place goes on reading.

use crate::report::{Bounds, Row};

/// What stands in a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Count(Option<u64>),
    Figure(Option<f64>),
}

/// A column, its name and what it has of a row.
pub(super) struct Column {
    pub(super) name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Text(fn(&Row) -> String),
    Count(fn(&Row) -> Option<u64>),
    Figure(fn(&Row) -> Option<f64>),
}

/// The columns between those of the settings and the error of a point that failed.
pub(super) const COLUMNS: &[Column] = &[
    text("model", |row| row.model.clone()),
    text("size", Row::size),
    count("ok", |row| Some(row.ok)),
    count("failed", |row| Some(row.failed.values().sum())),
    figure("throughput_rps", |row| row.throughput_rps),
    figure("of_ceiling", of_ceiling),
    text("bound_by", |row| row.bound_by.unwrap_or_default().to_owned()),
    figure("p50_ms", |row| row.latency_ms.p50),
    figure("p95_ms", |row| row.latency_ms.p95),
    figure("p99_ms", |row| row.latency_ms.p99),
    figure("max_ms", |row| row.latency_ms.max),
    figure("gvl_wait_share", |row| row.gvl.wait_share),
    figure("cpu_share", |row| row.cpu_share),
    text("warnings", warnings),
    count("workers", |row| Some(row.workers.into())),
    count("threads", |row| Some(row.threads.into())),
    count("slots", |row| row.slots),
    count("requests", |row| Some(row.requests)),
    count("unfinished", |row| Some(row.unfinished)),
    figure("ceiling_rps", |row| row.ceiling().map(|ceiling| ceiling.rps)),
    figure("mean_ms", |row| row.latency_ms.mean),
    figure("p90_ms", |row| row.latency_ms.p90),
    figure("p999_ms", |row| row.latency_ms.p999),
    figure("gvl_hold_share", |row| row.gvl.hold_share),
    figure("queue_depth_mean", |row| Some(row.queue.depth_mean)),
    count("queue_depth_max", |row| Some(row.queue.depth_max)),
    figure("imbalance", |row| row.imbalance),
    count("replications", |row| row.interval.map(|interval| interval.replications)),
    figure("throughput_low", |row| throughput(row, |bounds| bounds.low)),
    figure("throughput_high", |row| throughput(row, |bounds| bounds.high)),
    figure("throughput_p5", |row| throughput(row, |bounds| bounds.p5)),
    figure("throughput_p95", |row| throughput(row, |bounds| bounds.p95)),
    figure("p99_low_ms", |row| p99(row, |bounds| bounds.low)),
    figure("p99_high_ms", |row| p99(row, |bounds| bounds.high)),
    figure("p99_p5_ms", |row| p99(row, |bounds| bounds.p5)),
    figure("p99_p95_ms", |row| p99(row, |bounds| bounds.p95)),
    figure("warm_up_ms", |row| row.warm_up.map(|warm_up| warm_up.time_ms)),
    count("warm_up_requests", |row| row.warm_up.map(|warm_up| warm_up.requests)),
    count("retries", |row| row.clients.map(|clients| clients.retries)),
    count("abandoned", |row| row.clients.map(|clients| clients.abandoned)),
    figure("abandoned_share", |row| row.clients.and_then(|clients| clients.abandoned_share)),
    count("backlog_drops", |row| row.backlog.map(|backlog| backlog.drops)),
];

/// The column behind them.
pub(super) const ERROR: &str = "error";

impl Column {
    /// The cell of a row; an empty one where a point has none, since it failed.
    pub(super) fn of(&self, row: Option<&Row>) -> Cell {
        match (row, self.kind) {
            (Some(row), Kind::Text(of)) => Cell::Text(of(row)),
            (Some(row), Kind::Count(of)) => Cell::Count(of(row)),
            (Some(row), Kind::Figure(of)) => Cell::Figure(of(row)),
            (None, Kind::Text(_)) => Cell::Text(String::new()),
            (None, Kind::Count(_)) => Cell::Count(None),
            (None, Kind::Figure(_)) => Cell::Figure(None),
        }
    }
}

impl Cell {
    /// The cell as CSV has it; nothing where there is no figure.
    pub(super) fn plain(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Count(n) => n.map(|n| n.to_string()).unwrap_or_default(),
            Self::Figure(x) => x.map(|x| x.to_string()).unwrap_or_default(),
        }
    }
}

const fn text(name: &'static str, of: fn(&Row) -> String) -> Column {
    Column { name, kind: Kind::Text(of) }
}

const fn count(name: &'static str, of: fn(&Row) -> Option<u64>) -> Column {
    Column { name, kind: Kind::Count(of) }
}

const fn figure(name: &'static str, of: fn(&Row) -> Option<f64>) -> Column {
    Column { name, kind: Kind::Figure(of) }
}

/// The throughput's share of what bounds it.
pub(super) fn of_ceiling(row: &Row) -> Option<f64> {
    let ceiling = row.ceiling().map(|ceiling| ceiling.rps);
    row.throughput_rps.zip(ceiling).map(|(rps, most)| rps / most)
}

/// The kinds of the warnings.
pub(super) fn warnings(row: &Row) -> String {
    let kinds: Vec<_> = row.warnings.iter().map(|warning| warning.kind).collect();
    kinds.join("; ")
}

fn throughput(row: &Row, bound: fn(&Bounds) -> f64) -> Option<f64> {
    row.interval.map(|interval| bound(&interval.throughput_rps))
}

fn p99(row: &Row, bound: fn(&Bounds) -> f64) -> Option<f64> {
    row.interval.map(|interval| bound(&interval.p99_ms))
}
