//! Reads processes from `/proc`.

use super::{Memory, ProcessSnapshot, Role, ThreadSnapshot};
use procfs::process::{Process, Stat, Task};
use std::fs;
use std::time::Duration;

/// The processes, in the order asked for, without those that are gone.
pub(super) fn take(processes: &[(u32, Role)]) -> Vec<ProcessSnapshot> {
    let clock = Clock { ticks_per_s: procfs::ticks_per_second(), uptime: uptime() };
    processes.iter().filter_map(|(pid, role)| clock.process(*pid, *role)).collect()
}

/// What times in `/proc` are counted by.
struct Clock {
    ticks_per_s: u64,
    /// Since the machine was started.
    uptime: Duration,
}

impl Clock {
    fn process(&self, pid: u32, role: Role) -> Option<ProcessSnapshot> {
        let process = Process::new(pid.try_into().ok()?).ok()?;
        let stat = process.stat().ok()?;
        let mut threads: Vec<_> =
            process.tasks().ok()?.filter_map(|task| self.thread(pid, &task.ok()?)).collect();
        threads.sort_by_key(|thread| thread.tid);
        let (cpu, age) = (self.cpu(&stat), self.age(&stat));
        Some(ProcessSnapshot {
            role,
            pid,
            ppid: stat.ppid.try_into().ok()?,
            command: process.cmdline().unwrap_or_default().join(" "),
            state: stat.state,
            age,
            cpu,
            cpu_share: super::share(cpu, Duration::ZERO, age, Duration::ZERO),
            nlwp: threads.len() as u32,
            memory: memory(&process),
            threads,
        })
    }

    fn thread(&self, pid: u32, task: &Task) -> Option<ThreadSnapshot> {
        let stat = task.stat().ok()?;
        let age = self.age(&stat);
        let cpu = on_cpu(pid, task.tid).unwrap_or_else(|| self.cpu(&stat));
        Some(ThreadSnapshot {
            tid: task.tid.try_into().ok()?,
            cpu,
            cpu_share: super::share(cpu, Duration::ZERO, age, Duration::ZERO),
            state: stat.state,
            name: stat.comm,
            age,
        })
    }

    fn cpu(&self, stat: &Stat) -> Duration {
        self.ticks(stat.utime + stat.stime)
    }

    fn age(&self, stat: &Stat) -> Duration {
        self.uptime.saturating_sub(self.ticks(stat.starttime))
    }

    fn ticks(&self, ticks: u64) -> Duration {
        Duration::from_secs_f64(ticks as f64 / self.ticks_per_s as f64)
    }
}

/// Since the machine was started, on the clock that `/proc` counts starts by.
fn uptime() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

/// A thread's time on a processor, in nanoseconds; `None` where the kernel does not count it.
fn on_cpu(pid: u32, tid: i32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn memory(process: &Process) -> Option<Memory> {
    let rollup = process.smaps_rollup().ok()?;
    let map = rollup.memory_map_rollup.into_iter().next()?.extension.map;
    let bytes = |key: &str| map.get(key).copied().unwrap_or(0);
    Some(Memory {
        rss_bytes: bytes("Rss"),
        pss_bytes: bytes("Pss"),
        shared_bytes: bytes("Shared_Clean") + bytes("Shared_Dirty"),
        private_bytes: bytes("Private_Clean") + bytes("Private_Dirty"),
    })
}
