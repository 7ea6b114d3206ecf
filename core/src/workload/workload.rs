//! The workload of an experiment, from a document or from builders.
//!
//! `experiment` reads and prints it, `load` weighs its endpoints, the engines take its programs.
//! One that was read keeps every limit of this room; so does one that passed `check`.

use super::endpoint::{self, Endpoint};
use super::interlock::Interlock;
use super::ops::Program;
use super::pool::{self, POOLS_MAX, Pool};
use super::step::{SAMPLES_MAX, STEPS_MAX, Scope, Step};
use crate::error::Error;
use crate::value::{Node, Value};
use std::collections::HashSet;

/// The name of the only endpoint where steps are given without one.
pub(crate) const ONLY: &str = "all";

const ENDPOINTS_MAX: usize = 1000;

/// What the requests of an experiment do.
///
/// ```
/// use gvl_lab::workload::{Pool, Workload, checkout, cpu, exp, io, ms};
/// let workload = Workload::of([cpu(ms(2)), checkout("db", [io(exp(ms(100)))])])
///     .pool(Pool::new("db", 5));
/// workload.check().unwrap();
/// assert_eq!(workload.programs()[0].demand().service, ms(102));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workload {
    /// The kinds of requests, 1 to 1,000 with a name each.
    pub endpoints: Vec<Endpoint>,
    /// The pools that steps check out, at most 100.
    pub pools: Vec<Pool>,
    /// The lock around all requests of a process, as in Rails' development mode; `None`: there is none.
    pub interlock: Option<Interlock>,
}

impl Workload {
    /// Makes a workload without endpoints, to add some.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a workload of one endpoint, named `all`.
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::new().endpoint(Endpoint::new(ONLY, steps))
    }

    /// Adds an endpoint.
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoints.push(endpoint);
        self
    }

    /// Adds a pool.
    pub fn pool(mut self, pool: Pool) -> Self {
        self.pools.push(pool);
        self
    }

    /// Has every request run inside of a lock that is exclusive for reloading code.
    pub fn interlock(mut self, interlock: Interlock) -> Self {
        self.interlock = Some(interlock);
        self
    }

    /// Reads the workload at a place of a document.
    pub fn read(node: &Node<'_>) -> Option<Self> {
        let fields = node.table(&["steps", "endpoint", "pools", "interlock"])?;
        let (names, pools) = match fields.get("pools") {
            None => (Vec::new(), Some(Vec::new())),
            Some(node) => {
                let pools = node.open_table("a table of pools")?;
                if pools.len() > POOLS_MAX {
                    return node.refuse_as(
                        format!("{} pools", pools.len()),
                        format!("at most {POOLS_MAX}"),
                    );
                }
                (pools.iter().map(|(name, _)| name).collect(), pool::read_all(&pools))
            }
        };
        // A pool with a mistake in it is still known: its checkouts are none.
        let mut scope = Scope::new(names);
        let endpoints = match (fields.get("steps"), fields.get("endpoint")) {
            (Some(steps), None) => endpoint::read_steps(steps, &mut scope)
                .map(|steps| vec![Endpoint::new(ONLY, steps.iter().cloned())]),
            (None, Some(list)) => read_endpoints(list, &mut scope),
            (Some(_), Some(_)) => node.refuse_as("steps beside endpoint", "one of the two"),
            (None, None) => node.refuse_as("neither steps nor endpoint", "one of the two"),
        };
        let interlock = match fields.get("interlock") {
            Some(node) => Interlock::read(node).map(Some),
            None => Some(None),
        };
        Some(Self { endpoints: endpoints?, pools: pools?, interlock: interlock? })
    }

    /// Checks a built workload.
    ///
    /// # Errors
    /// Every mistake in it, in the words that [`Workload::read`] has for a document.
    pub fn check(&self) -> Result<(), Error> {
        Node::read_all(&self.within_limits().to_value(), "workload", Self::read).map(|_| ())
    }

    /// Writes the value that [`Workload::read`] reads back.
    pub fn to_value(&self) -> Value {
        let mut fields = Vec::new();
        match self.endpoints.as_slice() {
            [only] if only.name == ONLY && only.weight == 1.0 && only.users.is_none() => {
                fields.push(("steps", only.steps.to_value()));
            }
            endpoints => {
                let endpoints = endpoints.iter().map(Endpoint::to_value).collect();
                fields.push(("endpoint", Value::List(endpoints)));
            }
        }
        if !self.pools.is_empty() {
            let pools = self.pools.iter().map(|p| (p.name.clone(), p.to_value()));
            fields.push(("pools", Value::table(pools)));
        }
        fields.extend(self.interlock.as_ref().map(|lock| ("interlock", lock.to_value())));
        Value::table(fields)
    }

    /// Lowers each endpoint to the program that engines run, in the order of the endpoints.
    ///
    /// # Panics
    /// If a step checks out a pool that is not in `pools`, which [`Workload::check`] refuses.
    pub fn programs(&self) -> Vec<Program> {
        let interlock = self.interlock.as_ref();
        self.endpoints.iter().map(|e| Program::new(&e.steps, &self.pools, interlock)).collect()
    }

    /// The endpoints up to the one that passes a limit. Builders share steps, so that a little
    /// memory can stand for a document that would fill the machine when printed.
    pub(crate) fn within_limits(&self) -> Self {
        let (mut steps, mut samples) = (0_u64, 0_u64);
        let endpoints = self.endpoints.iter().take_while(|e| {
            let fits = steps <= STEPS_MAX && samples <= SAMPLES_MAX;
            steps = steps.saturating_add(e.steps.size().steps);
            samples = samples.saturating_add(e.steps.size().samples);
            fits
        });
        let (pools, interlock) = (self.pools.clone(), self.interlock.clone());
        Self { endpoints: endpoints.cloned().collect(), pools, interlock }
    }
}

impl<const N: usize> From<[Step; N]> for Workload {
    fn from(steps: [Step; N]) -> Self {
        Self::of(steps)
    }
}

impl From<Vec<Step>> for Workload {
    fn from(steps: Vec<Step>) -> Self {
        Self::of(steps)
    }
}

fn read_endpoints(node: &Node<'_>, scope: &mut Scope) -> Option<Vec<Endpoint>> {
    let items = node.list("a list of endpoints")?;
    if items.is_empty() || items.len() > ENDPOINTS_MAX {
        return node.refuse(format!("1 to {ENDPOINTS_MAX} endpoints"));
    }
    let mut names = HashSet::new();
    let mut endpoints = Vec::with_capacity(items.len());
    for item in &items {
        let endpoint = Endpoint::read(item, scope);
        endpoints.push(endpoint.filter(|e| {
            let fresh = names.insert(e.name.clone());
            if !fresh {
                let given = format!("the name \"{}\"", e.name);
                item.refuse_as::<()>(given, "a name that no other endpoint has");
            }
            fresh
        }));
    }
    endpoints.into_iter().collect()
}
