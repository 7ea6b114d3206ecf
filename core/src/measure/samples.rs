//! Small recordings for the tests of `measure` and `report`.

use super::{EndpointRecording, Facts, Recording, Shape};
use crate::workload::Demand;
use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// An endpoint whose `ok` requests all took `latency_ms` and asked for as much service time.
pub(crate) fn endpoint(name: &str, ok: u32, latency_ms: u64) -> EndpointRecording {
    let mut endpoint = EndpointRecording { name: name.to_owned(), ..Default::default() };
    (0..ok).for_each(|_| endpoint.latency.record(ms(latency_ms)));
    endpoint.demand.service = ms(latency_ms) * ok;
    endpoint
}

impl EndpointRecording {
    pub(crate) fn failing(mut self, kind: &str, n: u64) -> Self {
        *self.failed.entry(kind.to_owned()).or_default() += n;
        (0..n).for_each(|_| self.failed_latency.record(ms(55)));
        self
    }

    /// Each successful request asks for this much, in milliseconds.
    pub(crate) fn asking(mut self, service: u64, cpu: u64, locked: u64) -> Self {
        let ok = self.ok() as u32;
        let [service, cpu, locked] = [service, cpu, locked].map(|n| ms(n) * ok);
        self.demand = Demand { service, cpu, locked, ..Demand::default() };
        self
    }

    pub(crate) fn waiting(mut self, waits: u64, wait_ms: u64) -> Self {
        (self.gvl_waits, self.gvl_wait) = (waits, ms(wait_ms) * waits as u32);
        self
    }
}

/// A server on a machine of 4 cores, under a lock of 100 ms quantum, without a known load.
pub(crate) fn shape(workers: u32, threads: u32) -> Shape {
    Shape {
        workers,
        threads,
        slots: Some(u64::from(workers.max(1) * threads)),
        processes: workers.max(1),
        users: None,
        think: Duration::ZERO,
        cores: 4,
        gvl_name: "cruby-3.3".to_owned(),
        quantum: Some(ms(100)),
        one_thread: false,
        exclusive: true,
    }
}

pub(crate) fn recording(elapsed_ms: u64, endpoints: Vec<EndpointRecording>) -> Recording {
    let ok = endpoints.iter().map(EndpointRecording::ok).sum();
    let processes = BTreeMap::from([(100, ok)]);
    let elapsed = ms(elapsed_ms);
    Recording { elapsed, last_answer: elapsed, endpoints, processes, ..Default::default() }
}

pub(crate) fn facts(shape: Shape, elapsed_ms: u64, endpoints: Vec<EndpointRecording>) -> Facts {
    Facts::new(shape, &[recording(elapsed_ms, endpoints)], &[])
}
