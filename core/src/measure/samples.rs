//! Small recordings for the tests of `measure` and `report`.

use super::{EndpointRecording, Facts, Handout, Histogram, Recording, Shape, WorkerRecording};
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
        keep_alive: false,
        handout: (workers > 1).then_some(Handout::Accepted),
        cores: 4,
        quota: None,
        gvl_name: "cruby-3.3".to_owned(),
        quantum: Some(ms(100)),
        one_thread: false,
        exclusive: true,
        offered: None,
    }
}

pub(crate) fn recording(elapsed_ms: u64, endpoints: Vec<EndpointRecording>) -> Recording {
    let ok = endpoints.iter().map(EndpointRecording::ok).sum();
    let processes = BTreeMap::from([(100, ok)]);
    let elapsed = ms(elapsed_ms);
    Recording { elapsed, last_answer: elapsed, endpoints, processes, ..Default::default() }
}

/// A worker whose `ok` requests all took `latency_ms`.
pub(crate) fn worker(number: u32, pid: u32, ok: u32, latency_ms: u64) -> WorkerRecording {
    let mut latency = Histogram::new();
    (0..ok).for_each(|_| latency.record(ms(latency_ms)));
    WorkerRecording::new(number, pid, latency)
}

impl WorkerRecording {
    pub(crate) fn failing(mut self, kind: &str, n: u64) -> Self {
        *self.failed.entry(kind.to_owned()).or_default() += n;
        self
    }
}

/// Workers, with pids from 100 on, that answered so many requests each.
pub(crate) fn cluster(elapsed_ms: u64, answered: &[u32], latency_ms: u64) -> Recording {
    let workers: Vec<_> =
        (0..).zip(answered).map(|(n, ok)| worker(n, 100 + n, *ok, latency_ms)).collect();
    of_workers(elapsed_ms, &workers)
}

/// A run whose one endpoint was answered by these workers.
pub(crate) fn of_workers(elapsed_ms: u64, workers: &[WorkerRecording]) -> Recording {
    let mut io = EndpointRecording { name: "io".to_owned(), ..Default::default() };
    for worker in workers {
        io.latency.merge(worker.latency());
        worker.failed.iter().for_each(|(kind, n)| *io.failed.entry(kind.clone()).or_default() += n);
    }
    io.demand.service = io.latency.sum();
    let elapsed = ms(elapsed_ms);
    let endpoints = vec![io];
    Recording { elapsed, last_answer: elapsed, endpoints, ..Recording::of_workers(workers) }
}

pub(crate) fn facts(shape: Shape, elapsed_ms: u64, endpoints: Vec<EndpointRecording>) -> Facts {
    Facts::new(shape, &[recording(elapsed_ms, endpoints)], &[])
}
