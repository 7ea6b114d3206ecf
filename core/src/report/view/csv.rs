//! `csv`: one record for each row, then one for each of its endpoints where there are several.
//!
//! Columns only ever grow at the end. What a record has no figure for is empty.

use super::heading;
use crate::report::{EndpointRow, Report, Row};
use csv::Writer;

/// The columns; `endpoint` is empty for a whole row.
const HEADER: [&str; 29] = [
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
];

pub(super) fn render(report: &Report) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    write(&mut writer, HEADER.map(str::to_owned));
    for row in &report.rows {
        let whole = EndpointRow::of(&row.overall, row.elapsed);
        write(&mut writer, record(report, row, "", &whole, of_row(row)));
        for endpoint in &row.endpoints {
            write(&mut writer, record(report, row, &endpoint.name, endpoint, Default::default()));
        }
    }
    let bytes = writer.into_inner().expect("memory takes all that is written");
    String::from_utf8(bytes).expect("text was written")
}

fn write(writer: &mut Writer<Vec<u8>>, fields: [String; HEADER.len()]) {
    writer.write_record(fields).expect("memory takes records of one length");
}

/// The last columns, which only a whole row has.
fn of_row(row: &Row) -> [String; 9] {
    let kinds: Vec<_> = row.warnings.iter().map(|warning| warning.kind).collect();
    [
        maybe(row.gvl.wait_share),
        maybe(row.cpu_share),
        maybe(row.ceiling().map(|ceiling| ceiling.rps)),
        row.bound_by.unwrap_or_default().to_owned(),
        kinds.join("; "),
        maybe(row.gvl.hold_share),
        row.queue.depth_mean.to_string(),
        row.queue.depth_max.to_string(),
        row.unfinished.to_string(),
    ]
}

fn record(
    report: &Report,
    row: &Row,
    name: &str,
    endpoint: &EndpointRow,
    of_row: [String; 9],
) -> [String; HEADER.len()] {
    let latency = &endpoint.latency_ms;
    let [
        gvl_wait_share,
        cpu_share,
        ceiling,
        bound_by,
        warnings,
        hold_share,
        depth,
        depth_max,
        left,
    ] = of_row;
    let failed: u64 = endpoint.failed.values().sum();
    [
        heading::name(report).to_owned(),
        report.engine.clone(),
        row.model.clone(),
        row.workers.to_string(),
        row.threads.to_string(),
        row.slots.map(|n| n.to_string()).unwrap_or_default(),
        name.to_owned(),
        endpoint.requests.to_string(),
        endpoint.ok.to_string(),
        failed.to_string(),
        maybe(endpoint.throughput_rps),
        maybe(latency.mean),
        maybe(latency.p50),
        maybe(latency.p90),
        maybe(latency.p95),
        maybe(latency.p99),
        maybe(latency.p999),
        maybe(latency.max),
        maybe(endpoint.gvl_wait_ms_mean),
        maybe(endpoint.gvl_waits_per_request),
        gvl_wait_share,
        cpu_share,
        ceiling,
        bound_by,
        warnings,
        hold_share,
        depth,
        depth_max,
        left,
    ]
}

fn maybe(figure: Option<f64>) -> String {
    figure.map(|x| x.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::samples::{all_failed, report, slow_io};
    use std::collections::BTreeMap;

    #[test]
    fn the_text_parses_back() {
        let mut failed = all_failed();
        failed.model = "a \"quoted\", label".to_owned();
        let text = render(&report(vec![slow_io(), failed]));
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let records: Vec<BTreeMap<String, String>> =
            reader.deserialize().collect::<Result<_, _>>().unwrap();
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
}
