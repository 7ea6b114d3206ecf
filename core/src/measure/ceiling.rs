//! Ceilings: what throughput cannot exceed, with the formula spelt out.
//!
//! `Facts` works them out, `checks::impossible` and the views compare with them.
//!
//! Each is a bound on the very requests that were counted, not an estimate of a population. A slot
//! serves one request at a time, so the service times of the requests answered within `elapsed` sum
//! to at most `slots x elapsed`; dividing both by the count gives `ok / elapsed <= slots / mean
//! service time` (the utilisation law: Denning and Buzen, "The Operational Analysis of Queueing
//! Network Models", 1978). The mean is that of the requests' own demands, so no allowance for
//! sampling is needed, whatever the distribution. The same holds of users, cores and the lock.
//!
//! Users that think are an exception: their bound (the interactive response time law of the same
//! paper) is one in the mean of a long run, as the first requests come before any thought. It says
//! what limits a run, and makes none impossible. So is a CPU quota: a run may end when it has used all of a
//! period, whose rest it does not wait for.

use super::{EndpointRecording, PoolRecording, Shape, figure};
use crate::workload::Demand;
use serde::{Serialize, Serializer};
use std::time::Duration;

/// A bound on the throughput of one row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ceiling {
    /// What bounds it.
    pub kind: CeilingKind,
    /// The bound, in requests per second.
    pub rps: f64,
    /// How it comes about, such as `12 slots / 100 ms`.
    pub formula: String,
}

/// What bounds the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CeilingKind {
    /// Slots / service time.
    Slots,
    /// Users / (service + think time).
    Users,
    /// The same, where that is below what the slots could serve.
    LoadLimited,
    /// Cores / CPU time.
    Cores,
    /// CPUs of the quota / CPU time.
    Quota,
    /// Processes / time holding the GVL.
    Gvl,
    /// Connections of a pool / time holding one.
    Pool,
    /// Processes / time that keeps the one thread of an event loop.
    Loop,
}

impl CeilingKind {
    /// Names the kind, as reports do.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Users => "users",
            Self::LoadLimited => "load limited",
            Self::Cores => "cores",
            Self::Quota => "cpu quota",
            Self::Gvl => "gvl",
            Self::Loop => "event loop",
            Self::Pool => "connection pool",
        }
    }
}

impl Serialize for CeilingKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Ceiling {
    /// Works out the ceilings of a server whose successful requests asked for `overall.demand`.
    ///
    /// Empty where none succeeded; a ceiling whose time is nought, or whose resource is unbounded,
    /// is left out.
    pub fn all(shape: &Shape, overall: &EndpointRecording, pools: &[PoolRecording]) -> Vec<Self> {
        Self::of_demand(shape, overall.ok(), overall.demand, pools)
    }

    /// The same of `ok` requests that asked for `demand` together.
    pub(super) fn of_demand(
        shape: &Shape,
        ok: u64,
        demand: Demand,
        pools: &[PoolRecording],
    ) -> Vec<Self> {
        let cycle = demand.service.as_secs_f64() + shape.think.as_secs_f64() * ok as f64;
        let users = match (shape.users, shape.slots) {
            (Some(users), Some(slots))
                if (users as f64) * demand.service.as_secs_f64() < slots as f64 * cycle =>
            {
                CeilingKind::LoadLimited
            }
            _ => CeilingKind::Users,
        };
        let processes = u64::from(shape.processes.max(1));
        let on_loop = demand.cpu + demand.held;
        [
            (CeilingKind::Slots, shape.slots, demand.service),
            (users, shape.users, demand.service),
            (CeilingKind::Cores, Some(u64::from(shape.cores)), demand.cpu),
            (CeilingKind::Gvl, shape.exclusive.then_some(processes), demand.locked),
            (CeilingKind::Loop, shape.one_thread.then_some(processes), on_loop),
        ]
        .into_iter()
        .filter_map(|(kind, servers, sum)| {
            let think = if kind == users { shape.think } else { Duration::ZERO };
            Self::of(kind, servers?, sum, think, ok)
        })
        .chain(shape.quota.and_then(|cpus| Self::of_quota(cpus, demand.cpu, ok)))
        .chain(pools.iter().filter_map(|pool| Self::of_pool(pool, processes, ok)))
        .collect()
    }

    fn of_quota(cpus: f64, cpu: Duration, ok: u64) -> Option<Self> {
        let one = Self::of(CeilingKind::Quota, 1, cpu, Duration::ZERO, ok)?;
        let formula = format!("quota of {} / {}", figure::number(cpus), one.formula);
        Some(Self { rps: one.rps * cpus, formula, ..one })
    }

    fn of_pool(pool: &PoolRecording, processes: u64, ok: u64) -> Option<Self> {
        let most = pool.database.map_or(u64::MAX, |database| database.max);
        let connections = (pool.size * processes).min(most);
        let mut ceiling = Self::of(CeilingKind::Pool, connections, pool.held, Duration::ZERO, ok)?;
        let time = figure::ms(pool.held.div_f64(ok as f64));
        let count = figure::count(connections, "connection");
        ceiling.formula = format!("{count} of {} / {time} held", pool.name);
        Some(ceiling)
    }

    fn of(
        kind: CeilingKind,
        servers: u64,
        sum: Duration,
        think: Duration,
        ok: u64,
    ) -> Option<Self> {
        if ok == 0 || sum.is_zero() {
            return None;
        }
        let mean = sum.as_secs_f64() / ok as f64;
        let time = figure::ms(Duration::from_secs_f64(mean));
        let formula = match kind {
            CeilingKind::Slots => format!("{} / {time}", figure::count(servers, "slot")),
            CeilingKind::Users | CeilingKind::LoadLimited => {
                let users = figure::count(servers, "user");
                match think.is_zero() {
                    true => format!("{users} / {time}"),
                    false => format!("{users} / ({time} + {} think)", figure::ms(think)),
                }
            }
            CeilingKind::Cores => format!("{} / {time} CPU", figure::count(servers, "core")),
            CeilingKind::Quota => format!("{time} CPU"),
            CeilingKind::Pool => String::new(),
            CeilingKind::Loop => {
                format!("{} / {time} on the loop", figure::count(servers, "loop"))
            }
            CeilingKind::Gvl if servers == 1 => format!("1 / {time} locked"),
            CeilingKind::Gvl => format!("1 / {time} locked x {servers} processes"),
        };
        Some(Self { kind, rps: servers as f64 / (mean + think.as_secs_f64()), formula })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::DatabaseUse;
    use crate::measure::samples::{endpoint, facts, ms, shape};

    #[test]
    fn a_pool_bounds_what_holds_its_connections() {
        let pool = PoolRecording { name: "db".into(), size: 5, held: ms(20) * 100, database: None };
        let io = endpoint("io", 100, 110).asking(30, 2, 2);
        let taken = DatabaseUse { max: 8, ..<_>::default() };
        let full = PoolRecording { database: Some(taken), ..pool.clone() };
        let bound = Ceiling::all(&shape(2, 12), &io, &[full]).pop().unwrap();
        assert_eq!(bound.formula, "8 connections of db / 20 ms held");
        let ceilings = Ceiling::all(&shape(2, 12), &io, &[pool]);
        let bound = ceilings.last().unwrap();
        assert_eq!((bound.kind.name(), bound.rps), ("connection pool", 500.0));
        assert_eq!(bound.formula, "10 connections of db / 20 ms held");
    }

    #[test]
    fn a_quota_bounds_what_computes() {
        let mut shape = shape(0, 6);
        shape.quota = Some(1.5);
        let facts = facts(shape, 1000, vec![endpoint("cpu", 70, 50).asking(50, 20, 1)]);
        let bound = facts.bound_by().unwrap();
        assert_eq!((bound.kind.name(), bound.rps), ("cpu quota", 75.0));
        assert_eq!(bound.formula, "quota of 1.5 / 20 ms CPU");
    }

    #[test]
    fn one_thread_serves_all_that_keeps_the_loop() {
        let mut shape = shape(1, 1);
        (shape.one_thread, shape.exclusive, shape.slots) = (true, false, None);
        // 10 ms of CPU a request, none of it under a lock.
        let endpoints = vec![endpoint("io", 50, 110).asking(100, 10, 0)];
        let facts = facts(shape, 1000, endpoints);
        let bound = facts.bound_by().unwrap();
        assert_eq!((bound.kind.name(), bound.rps), ("event loop", 100.0));
        assert_eq!(bound.formula, "1 loop / 10 ms on the loop");
    }

    #[test]
    fn each_ceiling_spells_its_formula() {
        let mut shape = shape(2, 6);
        shape.users = Some(24);
        let endpoints = vec![endpoint("io", 120, 110).asking(100, 10, 5)];
        let facts = facts(shape, 1000, endpoints);
        let told: Vec<_> =
            facts.ceilings.iter().map(|c| (c.kind.name(), c.rps, c.formula.as_str())).collect();
        assert_eq!(
            told,
            [
                ("slots", 120.0, "12 slots / 100 ms"),
                ("users", 240.0, "24 users / 100 ms"),
                ("cores", 400.0, "4 cores / 10 ms CPU"),
                ("gvl", 400.0, "1 / 5 ms locked x 2 processes"),
            ]
        );
        assert_eq!(facts.bound_by().map(|c| c.kind), Some(CeilingKind::Slots));
    }

    #[test]
    fn four_workers_of_three_have_four_locks_and_the_machines_cores() {
        let with_cores = |cores| {
            let mut shape = shape(4, 3);
            (shape.users, shape.cores) = (Some(24), cores);
            let facts = facts(shape, 1000, vec![endpoint("cpu", 390, 60).asking(5, 5, 5)]);
            let told = facts.ceilings.iter().map(|c| (c.kind.name(), c.rps, c.formula.clone()));
            (told.collect::<Vec<_>>(), facts.bound_by().map(|c| c.kind))
        };
        let (told, bound) = with_cores(2);
        assert_eq!(told[0], ("slots", 2400.0, "12 slots / 5 ms".to_owned()));
        assert_eq!(told[2], ("cores", 400.0, "2 cores / 5 ms CPU".to_owned()));
        assert_eq!(told[3], ("gvl", 800.0, "1 / 5 ms locked x 4 processes".to_owned()));
        assert_eq!(bound, Some(CeilingKind::Cores));
        assert_eq!(with_cores(8).1, Some(CeilingKind::Gvl));
    }

    #[test]
    fn fewer_users_than_slots_are_the_bound() {
        let mut shape = shape(4, 12);
        shape.users = Some(24);
        let facts = facts(shape, 1000, vec![endpoint("io", 240, 100)]);
        let bound = facts.bound_by().unwrap();
        assert_eq!((bound.kind.name(), bound.rps), ("load limited", 240.0));
    }

    #[test]
    fn users_that_think_are_the_bound_though_they_outnumber_the_slots() {
        let mut shape = shape(0, 12);
        (shape.users, shape.think) = (Some(24), Duration::from_millis(200));
        let facts = facts(shape, 2000, vec![endpoint("io", 180, 50)]);
        let bound = facts.bound_by().unwrap();
        assert_eq!((bound.kind.name(), bound.rps), ("load limited", 96.0));
        assert_eq!(bound.formula, "24 users / (50 ms + 200 ms think)");
    }

    #[test]
    fn no_success_and_no_lock_have_no_ceiling() {
        let mut shape = shape(0, 1);
        let none = facts(shape.clone(), 1000, vec![endpoint("io", 0, 0).failing("panicked", 3)]);
        assert!(none.ceilings.is_empty());
        (shape.exclusive, shape.slots) = (false, None);
        let free = facts(shape, 1000, vec![endpoint("io", 9, 100).asking(100, 0, 100)]);
        assert!(free.ceilings.is_empty());
    }
}
