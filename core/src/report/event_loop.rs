//! How the event loop fared, as a row shows it.

use super::Spread;
use super::latency::rounded_ms;
use crate::measure::LoopUse;
use serde::Serialize;

/// Summarises an event loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopRow {
    /// How late ready tasks were polled, in ms.
    pub lag_ms: Spread,
    /// How many polls there were.
    pub polls: u64,
    /// Polls longer than the threshold, by task.
    pub long_polls: Vec<LongPollRow>,
    /// The length from which a poll counts as long, in ms.
    pub threshold_ms: f64,
}

/// Summarises the long polls of one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LongPollRow {
    /// The task's name.
    pub task: String,
    /// How many there were.
    pub count: u64,
    /// Their lengths summed, in ms.
    pub total_ms: f64,
    /// The longest, in ms.
    pub max_ms: f64,
}

impl LoopRow {
    pub(super) fn of(event_loop: &LoopUse) -> Self {
        let long_polls = event_loop.long_polls.iter().map(|poll| LongPollRow {
            task: poll.task.clone(),
            count: poll.count,
            total_ms: rounded_ms(poll.total),
            max_ms: rounded_ms(poll.max),
        });
        Self {
            lag_ms: Spread::of(&event_loop.lag),
            polls: event_loop.polls,
            long_polls: long_polls.collect(),
            threshold_ms: rounded_ms(event_loop.threshold),
        }
    }
}
