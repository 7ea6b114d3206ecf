//! What an open stream asks of a server before it runs, from the expected demands alone.
//!
//! Engines look before a run and `checks::unstable_load` after it. At a utilisation of 1 or more no
//! queue has a steady state (Loynes, "The Stability of a Queue with Non-independent Inter-arrival
//! and Service Times", 1962): what waits grows as long as the run lasts, and so does every latency.
//! Waits for the lock, a core or a connection, and the costs of switching, are not in the demands:
//! a server may be unstable below 1, never stable above. A pool's connections are the exception:
//! who waits too long for one fails, and is no load any more.

use super::{Ceiling, CeilingKind, PoolRecording, Shape, figure};
use crate::load::{Load, Pattern, Until};
use crate::workload::{Demand, PoolIndex, Workload};
use std::time::Duration;

/// The requests that the means are taken of: rounded to nanoseconds, they keep nine digits more.
const SCALE: u32 = 1_000_000;

/// An open stream, and the server's lowest ceiling for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// Requests per second that arrive.
    pub rate: f64,
    /// When no more arrive.
    pub until: Until,
    /// The bottleneck: what bounds the expected throughput.
    pub ceiling: Ceiling,
}

impl Offered {
    /// Works out what the load asks of a server; `None` for a closed loop, whose users wait, and
    /// where nothing bounds the server.
    pub fn of(shape: &Shape, workload: &Workload, load: &Load) -> Option<Self> {
        let Pattern::Open { rate, until: Some(until), .. } = load.pattern else { return None };
        let programs = workload.programs();
        let largest = workload.endpoints.iter().map(|e| e.weight).fold(f64::MIN_POSITIVE, f64::max);
        let weights = workload.endpoints.iter().map(|e| e.weight / largest);
        let total: f64 = weights.clone().sum();
        let mut demand = Demand::default();
        let mut pools: Vec<_> = workload.pools.iter().map(PoolRecording::of).collect();
        for (program, weight) in programs.iter().zip(weights) {
            let requests = f64::from(SCALE) * weight / total;
            let of = |time: Duration| time.mul_f64(requests);
            let one = program.demand();
            demand.add(Demand {
                service: of(one.service),
                cpu: of(one.cpu),
                locked: of(one.locked),
                held: of(one.held),
            });
            for (n, pool) in pools.iter_mut().enumerate() {
                pool.held += of(program.held_of(PoolIndex(n)));
            }
        }
        let ceilings = Ceiling::of_demand(shape, SCALE.into(), demand, &pools);
        let lowest = ceilings.into_iter().min_by(|a, b| a.rps.total_cmp(&b.rps));
        lowest.map(|ceiling| Self { rate, until, ceiling })
    }

    /// Gives the bottleneck's utilisation, rate / ceiling: at 1 and above there is no steady state.
    pub fn utilisation(&self) -> f64 {
        self.rate / self.ceiling.rps
    }

    /// Tells whether what waits grows as long as the run lasts.
    pub fn is_unstable(&self) -> bool {
        // The division of two rounded figures may miss 1 by a hair.
        self.utilisation() >= 1.0 - 1e-9
    }

    /// Tells how many requests are expected to wait when the last one arrives: (rate - ceiling) x
    /// time, nought for a stable load and where those that wait for too long fail.
    pub fn backlog(&self) -> f64 {
        if !self.is_unstable() || self.ceiling.kind == CeilingKind::Pool {
            return 0.0;
        }
        let time = match self.until {
            Until::Duration(time) => time.as_secs_f64(),
            Until::Requests(n) => n as f64 / self.rate,
        };
        (self.rate - self.ceiling.rps).max(0.0) * time
    }

    /// Words the utilisation, such as `utilisation 1.25 of the slots (12 slots / 100 ms)`.
    pub(crate) fn words(&self) -> String {
        let Ceiling { kind, formula, .. } = &self.ceiling;
        let what = match kind {
            CeilingKind::Gvl => "GVL",
            CeilingKind::Slots => "slots",
            CeilingKind::Cores => "cores",
            CeilingKind::Quota => "CPU quota",
            CeilingKind::Loop => "event loop",
            CeilingKind::Pool => "connection pool",
            CeilingKind::Users | CeilingKind::LoadLimited => "users",
        };
        format!("utilisation {} of the {what} ({formula})", figure::number(self.utilisation()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{closed, open};
    use crate::measure::samples::shape;
    use crate::workload::{Endpoint, Pool, checkout, cpu, io, ms, secs};

    fn offered(workload: impl Into<Workload>, rate: f64, shape: &Shape) -> Offered {
        Offered::of(shape, &workload.into(), &open(rate).duration(secs(60))).unwrap()
    }

    #[test]
    fn the_bottleneck_is_named_with_its_utilisation() {
        let check = |workload: Workload, rate, expected: &str| {
            assert_eq!(offered(workload, rate, &shape(2, 6)).words(), expected);
        };
        check([io(ms(100))].into(), 150.0, "utilisation 1.25 of the slots (12 slots / 100 ms)");
        check(
            [cpu(ms(5)), io(ms(1))].into(),
            300.0,
            "utilisation 0.75 of the GVL (1 / 5 ms locked x 2 processes)",
        );
        let pooled = Workload::from([checkout("db", [io(ms(20))])]).pool(Pool::new("db", 1));
        check(
            pooled,
            80.0,
            "utilisation 0.8 of the connection pool (2 connections of db / 20 ms held)",
        );
    }

    #[test]
    fn endpoints_count_by_their_weight() {
        let mixed = Workload::new()
            .endpoint(Endpoint::new("slow", [io(ms(400))]).weight(1.0))
            .endpoint(Endpoint::new("quick", [io(ms(20))]).weight(3.0));
        // 115 ms in the mean.
        let offered = offered(mixed, 50.0, &shape(0, 1));
        assert!((offered.utilisation() - 5.75).abs() < 1e-9, "{offered:?}");
    }

    #[test]
    fn the_backlog_is_what_comes_and_is_not_served() {
        let backlog = |rate| offered([io(ms(100))], rate, &shape(0, 5)).backlog();
        assert_eq!((backlog(49.0), backlog(50.0), backlog(60.0)), (0.0, 0.0, 600.0));
        let load = open(100.0).requests(1000);
        let halved = Offered::of(&shape(0, 5), &[io(ms(100))].into(), &load).unwrap();
        assert_eq!((halved.backlog(), halved.is_unstable()), (500.0, true));
    }

    #[test]
    fn users_wait_and_an_async_sleep_has_no_bottleneck() {
        let mut free = shape(1, 1);
        (free.slots, free.one_thread) = (None, true);
        let waits = Workload::from([io(secs(1))]);
        assert_eq!(Offered::of(&free, &waits, &open(1e6).duration(secs(1))), None);
        assert_eq!(Offered::of(&shape(0, 1), &waits, &closed(9).duration(secs(1))), None);
    }
}
