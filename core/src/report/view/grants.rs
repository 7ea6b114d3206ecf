//! `grants`: who was given the lock, a record a time, in order.
//!
//! The columns up to `endpoint` are the same on both engines where the order is: `cut -d, -f1-3` leaves
//! what a `diff` of two files compares. The request is empty where a thread served none meanwhile.

use super::heading;
use crate::report::Report;
use csv::Writer;

const HEADER: [&str; 11] = [
    "worker",
    "request",
    "endpoint",
    "model",
    "experiment",
    "engine",
    "pid",
    "thread",
    "at_ms",
    "waited_ms",
    "held_ms",
];

pub(super) fn render(report: &Report) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    let mut write = |record: [String; HEADER.len()]| {
        writer.write_record(record).expect("memory takes records of one length");
    };
    write(HEADER.map(str::to_owned));
    for row in &report.rows {
        let Some(timeline) = &row.timeline else { continue };
        for grant in timeline.grants() {
            let endpoint = grant.request.and_then(|r| timeline.endpoints.get(r.endpoint));
            let ms = |ns: u64| format!("{:.6}", ns as f64 / 1e6);
            write([
                grant.track.process.to_string(),
                grant.request.map_or_else(String::new, |request| request.number.to_string()),
                endpoint.cloned().unwrap_or_default(),
                row.title(),
                heading::name(report).to_owned(),
                report.engine.clone(),
                grant.track.pid.to_string(),
                grant.track.name(),
                ms(grant.span.from),
                ms(grant.waited),
                ms(grant.span.to - grant.span.from),
            ]);
        }
    }
    let bytes = writer.into_inner().expect("memory takes all that is written");
    String::from_utf8(bytes).expect("text was written")
}
