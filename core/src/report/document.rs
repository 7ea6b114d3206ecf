//! The report as one document.
//!
//! Serialises to the JSON that `DESIGN.md` fixes: its keys stay, others may be added.

use super::Row;
use crate::value::Value;
use serde::Serialize;
use std::thread;

/// Holds what an experiment gave, on any engine.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The experiment as its file has it.
    pub experiment: Value,
    /// The engine that ran it, such as `real`.
    pub engine: String,
    /// The seed of its chance.
    pub seed: u64,
    /// The machine it ran on, or the simulated one.
    pub machine: Machine,
    /// One row for each model.
    pub rows: Vec<Row>,
}

/// Describes a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Processors the experiment could use.
    pub cores: u32,
    /// The operating system, such as `linux`.
    pub os: String,
    /// The processor's architecture, such as `x86_64`.
    pub arch: String,
    /// The version of this library.
    pub gvl_lab: String,
}

impl Report {
    /// Tells whether a figure of any row is above its ceiling.
    pub fn is_impossible(&self) -> bool {
        self.rows.iter().any(Row::is_impossible)
    }

    /// Tells whether any row has a successful request.
    pub fn has_success(&self) -> bool {
        self.rows.iter().any(Row::has_success)
    }
}

impl Machine {
    /// Describes a simulated machine, which is the same wherever it is simulated.
    pub fn simulated(cores: u32) -> Self {
        Self {
            cores,
            os: "simulated".to_owned(),
            arch: "simulated".to_owned(),
            gvl_lab: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Describes this machine; its cores are those this process may use.
    pub fn here() -> Self {
        Self {
            cores: thread::available_parallelism().map_or(1, |n| n.get() as u32),
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            gvl_lab: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::report::view::samples::{all_failed, four_workers, report, slow_io};
    use crate::report::{BacklogRow, ClientsRow};
    use serde_json::Value as Json;

    fn keys(json: &Json) -> Vec<&str> {
        json.as_object().unwrap().keys().map(String::as_str).collect()
    }

    /// Parses the text, whose order of keys is lost, and lists the keys of each level.
    fn check(json: &Json, at: &str, expected: &[&str]) {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(keys(json.pointer(at).unwrap()), expected, "{at}");
    }

    #[test]
    fn the_document_has_the_keys_of_the_design() {
        let json = serde_json::to_value(report(vec![slow_io()])).unwrap();
        check(&json, "", &["experiment", "engine", "seed", "machine", "rows"]);
        check(&json, "/machine", &["cores", "os", "arch", "gvl_lab"]);
        check(
            &json,
            "/rows/0",
            &[
                "model",
                "workers",
                "threads",
                "slots",
                "requests",
                "ok",
                "failed",
                "unfinished",
                "throughput_rps",
                "latency_ms",
                "processes",
                "gvl",
                "cpu_share",
                "queue",
                "event_loop",
                "ceilings",
                "bound_by",
                "interval",
                "endpoints",
                "published",
                "warnings",
            ],
        );
        check(
            &json,
            "/rows/0/latency_ms",
            &["count", "mean", "p50", "p90", "p95", "p99", "p999", "max"],
        );
        check(
            &json,
            "/rows/0/gvl",
            &["name", "wait_share", "hold_share", "handoffs", "forced_yields", "waits", "wait_ms"],
        );
        check(&json, "/rows/0/gvl/wait_ms", &["p50", "p99", "max"]);
        check(&json, "/rows/0/queue", &["depth_mean", "depth_max"]);
        check(&json, "/rows/0/event_loop", &["lag_ms", "polls", "long_polls", "threshold_ms"]);
        check(&json, "/rows/0/ceilings/0", &["kind", "rps", "formula"]);
        check(
            &json,
            "/rows/0/interval",
            &["throughput_rps", "p99_ms", "confidence", "replications"],
        );
        check(&json, "/rows/0/interval/p99_ms", &["mean", "low", "high", "p5", "p95"]);
        check(
            &json,
            "/rows/0/endpoints/0",
            &[
                "name",
                "requests",
                "ok",
                "failed",
                "throughput_rps",
                "latency_ms",
                "gvl_wait_ms_mean",
                "gvl_waits_per_request",
            ],
        );
        check(&json, "/rows/0/warnings/0", &["kind", "text"]);
    }

    #[test]
    fn a_cluster_has_the_keys_of_its_workers() {
        let json = serde_json::to_value(report(vec![four_workers()])).unwrap();
        assert_eq!(json.pointer("/rows/0/imbalance"), Some(&Json::from(2.03333)));
        check(
            &json,
            "/rows/0/by_worker/3",
            &[
                "worker",
                "pids",
                "lost",
                "requests",
                "ok",
                "failed",
                "share",
                "throughput_rps",
                "latency_ms",
                "gvl",
                "cpu_share",
            ],
        );
        assert_eq!(json.pointer("/rows/0/by_worker/3/pids"), Some(&Json::from(vec![103, 203])));
        assert_eq!(json.pointer("/rows/0/by_worker/0/gvl/hold_share"), Some(&Json::from(0.3)));
    }

    #[test]
    fn clients_and_the_backlog_have_keys_where_they_are_told() {
        let mut row = all_failed();
        row.clients = Some(ClientsRow {
            retries: 7,
            abandoned: 3,
            abandoned_share: Some(0.25),
            discarded: 2,
        });
        row.backlog = Some(BacklogRow { size: 64, drops: 5 });
        let json = serde_json::to_value(report(vec![row])).unwrap();
        let clients = ["retries", "abandoned", "abandoned_share", "discarded"];
        check(&json, "/rows/0/clients", &clients);
        check(&json, "/rows/0/backlog", &["size", "drops"]);
    }

    #[test]
    fn a_failed_run_has_no_throughput() {
        let report = report(vec![all_failed()]);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json.pointer("/rows/0/ok"), Some(&Json::from(0)));
        assert_eq!(json.pointer("/rows/0/throughput_rps"), Some(&Json::Null));
        assert_eq!(json.pointer("/rows/0/latency_ms/p99"), Some(&Json::Null));
        assert_eq!(json.pointer("/rows/0/interval"), Some(&Json::Null));
        assert_eq!(json.pointer("/rows/0/failed/status 500"), Some(&Json::from(320)));
        assert!(json.pointer("/rows/0/endpoints").is_none());
        assert!(!report.has_success());
        assert!(!report.is_impossible());
    }
}
