//! How a run's event loop fared, as plain data; part of a `Recording`.

use super::Histogram;
use crate::executor::LongPoll;
use std::time::Duration;

/// How an event loop fared.
#[derive(Debug, Clone, Default)]
pub struct LoopUse {
    /// How late ready tasks were polled.
    pub lag: Histogram,
    /// How many polls there were.
    pub polls: u64,
    /// Polls longer than the threshold, by task.
    pub long_polls: Vec<LongPoll>,
    /// The length from which a poll counts as long.
    pub threshold: Duration,
}

impl LoopUse {
    /// Adds another process's or replication's loop; long polls match by task.
    pub fn merge(&mut self, other: &Self) {
        self.lag.merge(&other.lag);
        self.polls += other.polls;
        self.threshold = self.threshold.max(other.threshold);
        other.long_polls.iter().for_each(|theirs| self.add_long_poll(theirs));
    }

    /// Adds long polls to those of the same task.
    pub(crate) fn add_long_poll(&mut self, theirs: &LongPoll) {
        match self.long_polls.iter_mut().find(|mine| mine.task == theirs.task) {
            Some(mine) => {
                mine.count += theirs.count;
                mine.total += theirs.total;
                mine.max = mine.max.max(theirs.max);
            }
            None => self.long_polls.push(theirs.clone()),
        }
    }

    /// The same where there may be none.
    pub(super) fn merge_into(sum: &mut Option<Self>, other: Option<&Self>) {
        match (sum, other) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, theirs) => *mine = theirs.cloned(),
            (Some(_), None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::ms;

    #[test]
    fn long_polls_add_by_task() {
        let poll = |count, max| LoopUse {
            long_polls: vec![LongPoll { task: "cpu".into(), count, total: ms(max), max: ms(max) }],
            ..Default::default()
        };
        let mut merged = poll(1, 30);
        merged.merge(&poll(2, 20));
        let long = &merged.long_polls[0];
        assert_eq!((long.count, long.total, long.max), (3, ms(50), ms(30)));
    }
}
