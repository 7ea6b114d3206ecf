//! What is known of one row when it is judged.
//!
//! `report` makes it from the replications of one model; checks and ceilings read it. Invariant: the
//! recording is the merge of all replications, and the ceilings are those of that recording.

use super::{Ceiling, EndpointRecording, Imbalance, Interval, Offered, Recording};
use std::time::Duration;

/// The shape of a server and its load, as far as figures depend on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// Worker processes as configured; 0 is a single process without a master.
    pub workers: u32,
    /// Threads of each worker.
    pub threads: u32,
    /// Requests served at once; `None` where nothing bounds them (async handlers).
    pub slots: Option<u64>,
    /// Processes that serve requests, at least 1.
    pub processes: u32,
    /// Users of a closed loop; `None` for an open one.
    pub users: Option<u64>,
    /// How long a user thinks between an answer and its next request, in the mean.
    pub think: Duration,
    /// Whether a user keeps its connection from request to request.
    pub keep_alive: bool,
    /// How requests find their worker; `None` for a single process.
    pub handout: Option<Handout>,
    /// Processors the server may use.
    pub cores: u32,
    /// So many processors' time, at most, of all processes together; `None` where the cores are the
    /// bound.
    pub quota: Option<f64>,
    /// The lock's name, such as `cruby-3.3` or `none`.
    pub gvl_name: String,
    /// How long a holder may keep the lock while others wait.
    pub quantum: Option<Duration>,
    /// Whether one thread of a process runs all handlers (async handlers of an event loop).
    pub one_thread: bool,
    /// Whether the lock lets only one thread of a process run locked code.
    pub exclusive: bool,
    /// What an open stream asks of the server; `None` for a closed loop, and where it is not known.
    pub offered: Option<Offered>,
}

/// How requests find their worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handout {
    /// All wait in one queue, and a worker with a free slot takes the next.
    Queued,
    /// Each is given to a worker as it comes.
    Assigned,
    /// Workers accept connections from one socket, each for itself.
    Accepted,
}

/// The figures of one replication.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Successful requests.
    pub ok: u64,
    /// Successful requests per second; `None` where none succeeded.
    pub throughput_rps: Option<f64>,
    /// The 99th percentile of the latency of successful requests.
    pub p99: Option<Duration>,
}

/// What is known of one row.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The server and its load.
    pub shape: Shape,
    /// All replications as one run.
    pub recording: Recording,
    /// All endpoints of that run as one.
    pub overall: EndpointRecording,
    /// Each replication's figures, in the order they ran.
    pub replications: Vec<Figures>,
    /// Figures others measured for this row, by key, such as `throughput_rps`.
    pub published: Vec<(String, f64)>,
    /// What bounds the throughput, by kind.
    pub ceilings: Vec<Ceiling>,
    /// How unevenly the workers took the requests, where there are several.
    pub imbalance: Option<Imbalance>,
}

impl Facts {
    /// Merges the replications of one model and works out its ceilings.
    pub fn new(shape: Shape, replications: &[Recording], published: &[(String, f64)]) -> Self {
        let mut recording = Recording::default();
        replications.iter().for_each(|replication| recording.merge(replication));
        let overall = recording.overall("all");
        let ceilings = Ceiling::all(&shape, &overall, &recording.pools);
        Self {
            shape,
            recording,
            overall,
            replications: replications.iter().map(Figures::of).collect(),
            published: published.to_vec(),
            ceilings,
            imbalance: Imbalance::of(replications),
        }
    }

    /// Counts the successful requests of all replications.
    pub fn ok(&self) -> u64 {
        self.overall.ok()
    }

    /// Divides the successful requests by the elapsed time, over all replications, in requests per
    /// second; `None` where none succeeded.
    pub fn throughput_rps(&self) -> Option<f64> {
        rate(self.ok(), self.recording.elapsed)
    }

    /// Gives the lowest ceiling, which bounds the run.
    pub fn bound_by(&self) -> Option<&Ceiling> {
        self.ceilings.iter().min_by(|a, b| a.rps.total_cmp(&b.rps))
    }

    /// Gives the share of the processors' time that the server used: CPU / (elapsed x cores).
    pub fn cpu_share(&self) -> Option<f64> {
        share(self.recording.cpu, self.recording.whole() * self.shape.cores)
    }

    /// Sums the time for which locks were held to compute, a wait for a core included.
    pub fn computing(&self) -> Duration {
        let left_out = self.recording.left_out.map_or(Duration::ZERO, |left_out| left_out.held);
        let abandoned = self.recording.clients.map_or(Duration::ZERO, |of| of.demand.held);
        self.recording.gvl.hold.saturating_sub(self.overall.demand.held + left_out + abandoned)
    }

    /// Gives the share of the work, by its service time, that was done for clients that had left;
    /// `None` for a load without a timeout, and where no work was done.
    pub fn abandoned_share(&self) -> Option<f64> {
        let abandoned = self.recording.clients?.demand.service;
        share(abandoned, abandoned + self.overall.demand.service)
    }

    /// Bounds a figure of the replications; those without the figure (no success) are left out.
    pub fn interval(&self, figure: impl FnMut(&Figures) -> Option<f64>) -> Option<Interval> {
        Interval::of(&self.replications.iter().filter_map(figure).collect::<Vec<_>>())
    }
}

impl Figures {
    fn of(recording: &Recording) -> Self {
        let overall = recording.overall("all");
        Self {
            ok: overall.ok(),
            throughput_rps: rate(overall.ok(), recording.elapsed),
            p99: overall.latency.percentile(99.0),
        }
    }
}

/// `ok` requests per second, where there is a success and a time to divide by.
pub(crate) fn rate(ok: u64, elapsed: Duration) -> Option<f64> {
    (ok > 0 && !elapsed.is_zero()).then(|| ok as f64 / elapsed.as_secs_f64())
}

/// `part` of `whole`, where there is a whole.
pub(crate) fn share(part: Duration, whole: Duration) -> Option<f64> {
    (!whole.is_zero()).then(|| part.as_secs_f64() / whole.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, recording, shape};

    #[test]
    fn throughput_is_total_success_over_total_time() {
        let replications = [
            recording(1000, vec![endpoint("io", 10, 100).failing("status 500", 5)]),
            recording(3000, vec![endpoint("io", 20, 100)]),
            recording(1000, vec![endpoint("io", 0, 0).failing("status 500", 5)]),
        ];
        let facts = Facts::new(shape(0, 1), &replications, &[]);
        assert_eq!(facts.throughput_rps(), Some(6.0));
        assert_eq!(facts.replications[2].throughput_rps, None);
        let interval = facts.interval(|f| f.throughput_rps).unwrap();
        assert_eq!(interval.replications, 2);
    }
}
