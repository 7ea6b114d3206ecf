//! What is measured, of whom, and how a run of one at a time is timed.

use std::fmt;
use std::time::{Duration, Instant};

/// Bytes of a small task and of its result.
pub const SMALL: usize = 64;

/// Bytes of a large task and of its result.
pub const LARGE: usize = 1 << 20;

/// Large tasks that are under way at once, where they are.
pub const AHEAD: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Tasks a second: each is submitted by a call of its own, then all are waited for.
    OneByOne,
    /// Microseconds from the submission of a task to its result; the next one begins after it.
    RoundTrip,
    /// MiB a second: a payload there and back, then the next one.
    Large,
    /// MiB a second with some payloads under way.
    LargeAhead,
}

impl Measure {
    pub const ALL: [Self; 4] = [Self::OneByOne, Self::RoundTrip, Self::Large, Self::LargeAhead];

    pub fn name(self) -> &'static str {
        match self {
            Self::OneByOne => "64 B, submitted one by one",
            Self::RoundTrip => "64 B, round trip",
            Self::Large => "1 MiB, one at a time",
            Self::LargeAhead => "1 MiB, 8 under way",
        }
    }

    pub fn shown(self, figure: f64) -> String {
        match self {
            Self::OneByOne => format!("{figure:.0} tasks/s"),
            Self::RoundTrip => format!("{figure:.1} us"),
            Self::Large | Self::LargeAhead => format!("{figure:.0} MiB/s"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    Ours,
    /// A socket pair and a process that sends back what it reads.
    Bare,
    Procspawn,
    Python(&'static str),
}

impl Contender {
    pub const ALL: [Self; 6] = [
        Self::Ours,
        Self::Bare,
        Self::Procspawn,
        Self::Python("ProcessPoolExecutor"),
        Self::Python("multiprocessing.Pool"),
        Self::Python("loky"),
    ];
}

/// The median of `times` round trips in microseconds, after some that are not counted.
pub fn round_trip(times: usize, mut trip: impl FnMut()) -> f64 {
    (0..times / 10).for_each(|_| trip());
    let timed = |_| {
        let start = Instant::now();
        trip();
        start.elapsed()
    };
    let mut times: Vec<Duration> = (0..times).map(timed).collect();
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// How many a second, where `run` does so many.
pub fn rate(times: usize, run: impl FnOnce(usize)) -> f64 {
    let start = Instant::now();
    run(times);
    times as f64 / start.elapsed().as_secs_f64()
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "ours",
            Self::Bare => "bare socket pair",
            Self::Procspawn => "procspawn",
            Self::Python(pool) => pool,
        })
    }
}
