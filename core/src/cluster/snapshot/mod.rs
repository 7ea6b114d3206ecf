//! What the system knows of the pool's processes: threads, CPU time, memory.
//!
//! `take` reads it from `/proc`, `table` prints it as `ps -efL` would. A process that ends meanwhile
//! is left out.

mod table;
mod take;
#[cfg(test)]
#[cfg(not(model_check))]
mod tests;

use serde::{Serialize, Serializer};
use std::fmt;
use std::time::Duration;

/// The pool's processes at one moment.
///
/// Displays as a table in the manner of `ps -efL`, and one of the memory.
///
/// ```
/// use gvl_lab::cluster::snapshot::{Role, Snapshot};
///
/// let snapshot = Snapshot::of(&[(std::process::id(), Role::Master)]);
/// let process = &snapshot.processes[0];
/// assert_eq!(process.nlwp as usize, process.threads.len());
/// println!("{snapshot}");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshot {
    /// The processes, in the order asked for.
    pub processes: Vec<ProcessSnapshot>,
}

/// What a process is in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The embedder's own process.
    Master,
    /// The template that workers are forked from.
    Template,
    /// The worker of that number.
    Worker(u32),
}

/// One process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProcessSnapshot {
    /// What it is in the pool.
    pub role: Role,
    /// Its number.
    pub pid: u32,
    /// Its parent's.
    pub ppid: u32,
    /// Its arguments, as one text.
    pub command: String,
    /// Its state, as `ps` has it: `R` runs, `S` sleeps, `T` is stopped, `Z` is a zombie.
    pub state: char,
    /// How long ago it was started, to 10 ms.
    #[serde(rename = "age_ms", serialize_with = "ms")]
    pub age: Duration,
    /// The CPU time that it used, threads that have ended included, to 10 ms.
    #[serde(rename = "cpu_ms", serialize_with = "ms")]
    pub cpu: Duration,
    /// CPU time / time: 1 is one processor. Since its start, or as [`Snapshot::since`] says.
    pub cpu_share: Option<f64>,
    /// How many threads it has.
    pub nlwp: u32,
    /// Its memory; `None` where it may not be known, or the process is a zombie.
    pub memory: Option<Memory>,
    /// Its threads, by number.
    pub threads: Vec<ThreadSnapshot>,
}

/// A process's memory, in bytes (`smaps_rollup`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// All that it has in memory; what is shared counts in each process that shares it.
    pub rss_bytes: u64,
    /// The same with each shared page divided by its sharers: sums over processes add up.
    pub pss_bytes: u64,
    /// What others have too: code, files, copy-on-write.
    pub shared_bytes: u64,
    /// What it has alone: what would be free if it ended.
    pub private_bytes: u64,
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadSnapshot {
    /// Its number, as `ps` has it under LWP.
    pub tid: u32,
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// Its state.
    pub state: char,
    /// The CPU time that it used; to the nanosecond where the system tells (`schedstat`).
    #[serde(rename = "cpu_ms", serialize_with = "ms")]
    pub cpu: Duration,
    /// CPU time / time.
    pub cpu_share: Option<f64>,
    /// How long ago it was started.
    #[serde(rename = "age_ms", serialize_with = "ms")]
    pub age: Duration,
}

impl Snapshot {
    /// Looks at processes; those that have ended are left out.
    pub fn of(processes: &[(u32, Role)]) -> Self {
        Self { processes: take::take(processes) }
    }

    /// The same, with the shares of CPU time between the two instead of since the start. Processes
    /// and threads that `earlier` does not have keep theirs.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        for now in &mut self.processes {
            let Some(then) = earlier.processes.iter().find(|then| then.pid == now.pid) else {
                continue;
            };
            now.cpu_share = share(now.cpu, then.cpu, now.age, then.age);
            for thread in &mut now.threads {
                if let Some(before) = then.threads.iter().find(|before| before.tid == thread.tid) {
                    thread.cpu_share = share(thread.cpu, before.cpu, thread.age, before.age);
                }
            }
        }
        self
    }

    /// Sums the proportional memory of all processes that tell it, in bytes.
    pub fn pss_bytes(&self) -> u64 {
        self.processes.iter().filter_map(|process| Some(process.memory?.pss_bytes)).sum()
    }
}

/// CPU time over time, where time passed.
fn share(cpu: Duration, before: Duration, age: Duration, age_before: Duration) -> Option<f64> {
    let passed = age.checked_sub(age_before).filter(|passed| !passed.is_zero())?;
    Some(cpu.saturating_sub(before).as_secs_f64() / passed.as_secs_f64())
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Master => f.write_str("master"),
            Self::Template => f.write_str("template"),
            Self::Worker(number) => write!(f, "worker {number}"),
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn ms<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64() * 1e3)
}
