//! What a reader of steps knows of its surroundings: pools, what is held, and what was read.
//!
//! One goes through a whole workload, so that limits and the order of pools hold across endpoints.

use super::steps::{DEPTH_MAX, SAMPLES_MAX, STEPS_MAX};
use crate::value::Node;

/// The surroundings of the step being read.
pub(in crate::workload) struct Scope {
    pools: Vec<String>,
    /// The pools of the checkouts around this place, outermost first.
    held: Vec<usize>,
    /// For each pool, the pools checked out somewhere inside it, as bits; closed transitively.
    inside: Vec<u128>,
    depth: u32,
    steps: u64,
    samples: u64,
}

impl Scope {
    /// The surroundings of a workload; there are at most 100 pools.
    pub fn new(pools: Vec<&str>) -> Self {
        let pools: Vec<String> = pools.into_iter().map(str::to_owned).collect();
        let inside = vec![0; pools.len()];
        Self { pools, held: Vec::new(), inside, depth: 0, steps: 0, samples: 0 }
    }

    /// Whether a limit of the whole workload has been passed, and told.
    pub fn is_full(&self) -> bool {
        self.steps > STEPS_MAX || self.samples > SAMPLES_MAX
    }

    /// Counts one step.
    pub fn count(&mut self, node: &Node<'_>) -> Option<()> {
        if self.is_full() {
            return None;
        }
        self.steps += 1;
        if self.is_full() {
            return node.refuse_as("one step more", format!("at most {STEPS_MAX} in a workload"));
        }
        Some(())
    }

    /// Counts recorded durations.
    pub fn count_samples(&mut self, node: &Node<'_>, samples: u64) -> Option<()> {
        self.samples += samples;
        if self.samples > SAMPLES_MAX {
            let given = format!("{} recorded durations", self.samples);
            return node.refuse_as(given, format!("at most {SAMPLES_MAX} in a workload"));
        }
        Some(())
    }

    /// Goes into a list of steps.
    pub fn enter(&mut self, node: &Node<'_>) -> Option<()> {
        if self.depth == DEPTH_MAX {
            return node.refuse_as("one level more", format!("at most {DEPTH_MAX} of steps"));
        }
        self.depth += 1;
        Some(())
    }

    /// Comes out of a list of steps.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Takes the pool `name` for the steps that are read next, or notes why it cannot be.
    pub fn hold(&mut self, node: &Node<'_>, name: &str) -> Option<()> {
        let Some(pool) = self.pools.iter().position(|p| p == name) else {
            let known = if self.pools.is_empty() { "none".into() } else { self.pools.join(", ") };
            return node.refuse(format!("one of the workload's pools ({known})"));
        };
        if self.held.contains(&pool) {
            return node.refuse("a pool that the request does not hold (it would wait for itself)");
        }
        if let Some(&outer) = self.held.last() {
            if self.inside[pool] & (1 << outer) != 0 {
                return node.refuse_as(
                    format!("\"{name}\" inside \"{}\"", self.pools[outer]),
                    "pools nested in one order everywhere (requests would wait for each other)",
                );
            }
            self.nest(outer, pool);
        }
        self.held.push(pool);
        Some(())
    }

    /// Gives back the pool taken last.
    pub fn give_back(&mut self) {
        self.held.pop();
    }

    fn nest(&mut self, outer: usize, inner: usize) {
        let added = self.inside[inner] | (1 << inner);
        for (pool, inside) in self.inside.iter_mut().enumerate() {
            if pool == outer || *inside & (1 << outer) != 0 {
                *inside |= added;
            }
        }
    }
}
