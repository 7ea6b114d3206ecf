//! `csv`: one record for each row, then one for each of its endpoints and of its workers where there
//! are several.
//!
//! A whole row is where `endpoint` and `worker` are both empty. Columns only ever grow at the end;
//! those of the warm-up stand where one was left out, those of
//! clients and of the backlog where a row has them. What a record has no figure for is empty.

use super::heading;
use crate::report::{EndpointRow, Report, Row, WorkerRow};
use csv::Writer;

/// The columns.
const HEADER: [&str; 34] = [
    "experiment",
    "engine",
    "model",
    "workers",
    "threads",
    "slots",
    "endpoint",
    "requests",
    "ok",
    "failed",
    "throughput_rps",
    "mean_ms",
    "p50_ms",
    "p90_ms",
    "p95_ms",
    "p99_ms",
    "p999_ms",
    "max_ms",
    "gvl_wait_ms_mean",
    "gvl_waits_per_request",
    "gvl_wait_share",
    "cpu_share",
    "ceiling_rps",
    "bound_by",
    "warnings",
    "gvl_hold_share",
    "queue_depth_mean",
    "queue_depth_max",
    "unfinished",
    "worker",
    "pids",
    "lost",
    "share",
    "imbalance",
];

/// The columns of the warm-up.
const WARM_UP: [&str; 2] = ["warm_up_ms", "warm_up_requests"];

/// The columns of clients that give up, and of the backlog.
const CLIENTS: [&str; 5] =
    ["retries", "abandoned", "abandoned_share", "discarded", "backlog_drops"];

/// The columns that not every record fills.
#[derive(Default)]
struct Rest {
    gvl_wait_share: String,
    cpu_share: String,
    ceiling: String,
    bound_by: String,
    warnings: String,
    gvl_hold_share: String,
    queue_depth_mean: String,
    queue_depth_max: String,
    unfinished: String,
    worker: String,
    pids: String,
    lost: String,
    share: String,
    imbalance: String,
    /// The columns of the warm-up, where the report has them.
    warm_up: Option<[String; WARM_UP.len()]>,
    /// The columns of clients and of the backlog, where the report has them.
    clients: Option<[String; CLIENTS.len()]>,
}

pub(super) fn render(report: &Report) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    let warms_up = report.rows.iter().any(|row| row.warm_up.is_some());
    let has_clients = report.rows.iter().any(|row| row.clients.is_some() || row.backlog.is_some());
    let header = HEADER.iter().chain(WARM_UP.iter().filter(|_| warms_up));
    let header = header.chain(CLIENTS.iter().filter(|_| has_clients));
    let mut write = |record: Vec<String>| {
        writer.write_record(record).expect("memory takes records of one length");
    };
    write(header.map(|name| (*name).to_owned()).collect());
    let rest = |mut rest: Rest| {
        rest.warm_up = warms_up.then(|| rest.warm_up.unwrap_or_default());
        rest.clients = has_clients.then(|| rest.clients.unwrap_or_default());
        rest
    };
    for row in &report.rows {
        let mut whole = EndpointRow::of(&row.overall, row.elapsed);
        whole.name.clear();
        write(record(report, row, &whole, rest(Rest::of_row(row))));
        for endpoint in &row.endpoints {
            write(record(report, row, endpoint, rest(Rest::default())));
        }
        for worker in &row.by_worker {
            write(record(report, row, &counts(worker), rest(Rest::of_worker(worker))));
        }
    }
    let bytes = writer.into_inner().expect("memory takes all that is written");
    String::from_utf8(bytes).expect("text was written")
}

/// What a worker shares with endpoints.
fn counts(worker: &WorkerRow) -> EndpointRow {
    EndpointRow {
        name: String::new(),
        requests: worker.requests,
        ok: worker.ok,
        failed: worker.failed.clone(),
        throughput_rps: worker.throughput_rps,
        latency_ms: worker.latency_ms,
        gvl_wait_ms_mean: None,
        gvl_waits_per_request: None,
    }
}

impl Rest {
    fn of_row(row: &Row) -> Self {
        let kinds: Vec<_> = row.warnings.iter().map(|warning| warning.kind).collect();
        Self {
            gvl_wait_share: maybe(row.gvl.wait_share),
            cpu_share: maybe(row.cpu_share),
            ceiling: maybe(row.ceiling().map(|ceiling| ceiling.rps)),
            bound_by: row.bound_by.unwrap_or_default().to_owned(),
            warnings: kinds.join("; "),
            gvl_hold_share: maybe(row.gvl.hold_share),
            queue_depth_mean: row.queue.depth_mean.to_string(),
            queue_depth_max: row.queue.depth_max.to_string(),
            unfinished: row.unfinished.to_string(),
            imbalance: maybe(row.imbalance),
            warm_up: row.warm_up.map(|w| [w.time_ms.to_string(), w.requests.to_string()]),
            clients: Some(clients(row)),
            ..Self::default()
        }
    }

    fn of_worker(worker: &WorkerRow) -> Self {
        let pids: Vec<_> = worker.pids.iter().map(u32::to_string).collect();
        Self {
            gvl_wait_share: maybe(worker.gvl.wait_share),
            cpu_share: maybe(worker.cpu_share),
            gvl_hold_share: maybe(worker.gvl.hold_share),
            worker: worker.worker.to_string(),
            pids: pids.join(" "),
            lost: worker.lost.to_string(),
            share: maybe(worker.share),
            ..Self::default()
        }
    }
}

/// The columns of clients and of the backlog.
fn clients(row: &Row) -> [String; CLIENTS.len()] {
    let count = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
    let of = row.clients;
    [
        count(of.map(|clients| clients.retries)),
        count(of.map(|clients| clients.abandoned)),
        maybe(of.and_then(|clients| clients.abandoned_share)),
        count(of.map(|clients| clients.discarded)),
        count(row.backlog.map(|backlog| backlog.drops)),
    ]
}

/// `counts` are those of a whole row, of an endpoint, which has a name, or of a worker.
fn record(report: &Report, row: &Row, counts: &EndpointRow, rest: Rest) -> Vec<String> {
    let latency = &counts.latency_ms;
    let failed: u64 = counts.failed.values().sum();
    let record: [String; HEADER.len()] = [
        heading::name(report).to_owned(),
        report.engine.clone(),
        row.model.clone(),
        row.workers.to_string(),
        row.threads.to_string(),
        row.slots.map(|n| n.to_string()).unwrap_or_default(),
        counts.name.clone(),
        counts.requests.to_string(),
        counts.ok.to_string(),
        failed.to_string(),
        maybe(counts.throughput_rps),
        maybe(latency.mean),
        maybe(latency.p50),
        maybe(latency.p90),
        maybe(latency.p95),
        maybe(latency.p99),
        maybe(latency.p999),
        maybe(latency.max),
        maybe(counts.gvl_wait_ms_mean),
        maybe(counts.gvl_waits_per_request),
        rest.gvl_wait_share,
        rest.cpu_share,
        rest.ceiling,
        rest.bound_by,
        rest.warnings,
        rest.gvl_hold_share,
        rest.queue_depth_mean,
        rest.queue_depth_max,
        rest.unfinished,
        rest.worker,
        rest.pids,
        rest.lost,
        rest.share,
        rest.imbalance,
    ];
    let more = rest.warm_up.into_iter().flatten().chain(rest.clients.into_iter().flatten());
    record.into_iter().chain(more).collect()
}

fn maybe(figure: Option<f64>) -> String {
    figure.map(|x| x.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::samples::{all_failed, four_workers, report, slow_io};
    use crate::report::{BacklogRow, ClientsRow, WarmUpRow};
    use std::collections::BTreeMap;

    fn records(text: &str) -> Vec<BTreeMap<String, String>> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        reader.deserialize().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn the_text_parses_back() {
        let mut failed = all_failed();
        failed.model = "a \"quoted\", label".to_owned();
        let text = render(&report(vec![slow_io(), failed]));
        let records = records(&text);
        let names: Vec<_> =
            records.iter().map(|r| (r["model"].as_str(), r["endpoint"].as_str())).collect();
        assert_eq!(
            names,
            [("puma", ""), ("puma", "io"), ("puma", "cpu"), ("a \"quoted\", label", "")]
        );
        assert_eq!(records[0]["ok"], "110");
        assert_eq!(records[1]["failed"], "4");
        assert_eq!(records[1]["max_ms"], "310");
        assert_eq!(records[3]["throughput_rps"], "");
        assert_eq!(records[3]["warnings"], "no success");
        assert_eq!(records[0]["gvl_hold_share"], "0.8");
        assert_eq!((&*records[0]["queue_depth_max"], &*records[1]["queue_depth_max"]), ("0", ""));
    }

    #[test]
    fn each_worker_has_a_record_of_its_own() {
        let records = records(&render(&report(vec![four_workers(), slow_io()])));
        let workers: Vec<_> = records.iter().map(|r| &*r["worker"]).collect();
        assert_eq!(workers, ["", "0", "1", "2", "3", "", "", ""]);
        let sum: u64 = records[1..5].iter().map(|r| r["ok"].parse::<u64>().unwrap()).sum();
        assert_eq!(
            (sum.to_string(), &*records[0]["imbalance"]),
            (records[0]["ok"].clone(), "2.03333")
        );
        let lost = &records[4];
        assert_eq!((&*lost["pids"], &*lost["lost"], &*lost["share"]), ("103 203", "1", "0.075"));
        assert_eq!((&*lost["endpoint"], &*lost["failed"], &*lost["p99_ms"]), ("", "2", "105"));
        assert_eq!((&*records[5]["imbalance"], &*records[5]["worker"]), ("", ""));
    }

    #[test]
    fn a_warm_up_has_columns_where_there_is_one() {
        let without = render(&report(vec![slow_io()]));
        let mut row = slow_io();
        let warm_up = WarmUpRow { time_ms: 250.5, share: Some(0.2), requests: 12, settled: true };
        row.warm_up = Some(warm_up);
        let records = records(&render(&report(vec![row, all_failed()])));
        let told: Vec<_> =
            records.iter().map(|r| (&*r["warm_up_ms"], &*r["warm_up_requests"])).collect();
        assert_eq!(told, [("250.5", "12"), ("", ""), ("", ""), ("", "")]);
        assert!(without.starts_with("experiment,") && !without.contains("warm_up"));
    }

    #[test]
    fn clients_and_the_backlog_have_columns_where_they_are_told() {
        let mut row = all_failed();
        row.clients = Some(ClientsRow {
            retries: 7,
            abandoned: 3,
            abandoned_share: Some(0.25),
            discarded: 2,
        });
        row.backlog = Some(BacklogRow { size: 64, drops: 5 });
        let records = records(&render(&report(vec![row, all_failed()])));
        let told = |n: usize| CLIENTS.map(|column| records[n][column].clone());
        assert_eq!(told(0), ["7", "3", "0.25", "2", "5"]);
        assert_eq!(told(1), ["", "", "", "", ""]);
        assert!(!render(&report(vec![all_failed()])).contains("retries"));
    }
}
