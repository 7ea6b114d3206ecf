//! `nginx`: a proxy in front of several servers of one process each.
//!
//! Each request goes to a backend as it comes, by turns or to the one with the fewest requests, and waits
//! in the queue of that one, however idle the others are. The backends are the same server, several times:
//! any model of one process. What the proxy itself takes is left out.
//!
//! Read at 1.30.4 (src/http/ngx_http_upstream_round_robin.c and
//! modules/ngx_http_upstream_least_conn_module.c). With several workers each has its own turns and
//! counts, as without `zone`; which one has a request is chance. Differs from nginx: no backend ever
//! fails (`max_fails`), and connections to backends are not modelled: where each is one process, it
//! makes no difference which of them a request goes over.

use super::listing::{Field, Record};
use super::puma::puma;
use super::{Dispatch, Model, ModelKind, Topology, WORKERS_MAX};
use crate::cluster::balance::{Balance, Policy};
use crate::cluster::cpus::Cpus;
use crate::value::{Fields, Node, Value};

pub(super) const RECORD: Record = Record {
    key: "nginx",
    summary: "a proxy that gives each request to one of several servers of one process",
    fields: &[
        Field { key: "backends", default: "2", summary: "servers behind it, 1 to 1024" },
        Field {
            key: "server",
            default: "{ puma = {} }",
            summary: "what each is: a model of one process",
        },
        Field {
            key: "policy",
            default: "\"round-robin\"",
            summary: "\"round-robin\" by turns, \"least-conn\" to the one with the fewest requests",
        },
        Field {
            key: "weights",
            default: "1 each",
            summary: "the share of each backend: a list of whole numbers, 1 to 1000",
        },
        Field {
            key: "workers",
            default: "1",
            summary: "its own processes, 1 to 1024, each with its own turns and counts",
        },
    ],
    read,
};

const BACKENDS: u32 = 2;
const POLICIES: [(Policy, &str); 2] =
    [(Policy::RoundRobin, "round-robin"), (Policy::LeastConn, "least-conn")];
const POLICY_ALLOWED: &str = "\"round-robin\" or \"least-conn\"";
const WEIGHT_MAX: i64 = 1000;
/// A machine on which `auto` comes to more than one process.
const MANY: u32 = 64;

/// Builds the model `nginx`.
#[derive(Debug, Clone)]
pub struct Nginx {
    backends: u32,
    server: Model,
    policy: Policy,
    weights: Option<Vec<u32>>,
    workers: u32,
}

/// Models nginx with one worker, in front of two Pumas in single mode that it takes turns with.
///
/// ```
/// use gvl_lab::cluster::balance::Policy;
/// use gvl_lab::model::{Model, nginx, puma};
/// let front = nginx().backends(4).policy(Policy::LeastConn).server(puma().threads(3));
/// let model = Model::from(front);
/// model.check()?;
/// assert_eq!(model.topology().slots, Some(12));
/// # Ok::<(), gvl_lab::Error>(())
/// ```
pub fn nginx() -> Nginx {
    Nginx {
        backends: BACKENDS,
        server: puma().into(),
        policy: Policy::RoundRobin,
        weights: None,
        workers: 1,
    }
}

impl Nginx {
    /// Changes the number of servers behind it, 1 to 1024.
    pub fn backends(mut self, backends: u32) -> Self {
        self.backends = backends;
        self
    }

    /// Changes what each of them is: a model of one process.
    pub fn server(mut self, server: impl Into<Model>) -> Self {
        self.server = server.into();
        self
    }

    /// Changes how it chooses.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Changes the share of each backend, 1 to 1000; as many as there are backends.
    pub fn weights(mut self, weights: impl Into<Vec<u32>>) -> Self {
        self.weights = Some(weights.into());
        self
    }

    /// Changes the number of its own processes, 1 to 1024.
    pub fn workers(mut self, workers: u32) -> Self {
        self.workers = workers;
        self
    }
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let of = |key| fields.get(key);
    let count = |node: &Node<'_>| node.int(1..=WORKERS_MAX.into()).map(|n| n as u32);
    let backends = of("backends").map_or(Some(BACKENDS), count);
    let server = of("server").map_or_else(|| Some(puma().into()), read_server);
    let policy = of("policy").map_or(Some(Policy::RoundRobin), read_policy);
    let weights = match of("weights") {
        Some(node) => read_weights(node, backends).map(Some),
        None => Some(None),
    };
    let workers = of("workers").map_or(Some(1), count);
    Some(
        Nginx {
            backends: backends?,
            server: server?,
            policy: policy?,
            weights: weights?,
            workers: workers?,
        }
        .into(),
    )
}

fn read_server(node: &Node<'_>) -> Option<Model> {
    let model = Model::read(node, &[])?;
    let topology = model.topology_on(MANY);
    if topology.socket.is_set {
        let what = format!("a {} with a backlog", model.key());
        return node.refuse_as(what, "none: its connections wait in no backlog here");
    }
    if !topology.dispatch.has_workers() {
        return Some(model);
    }
    node.refuse_as(
        format!("a {} of several processes or with a socket of its own", model.key()),
        "a server of one process, such as { puma = { threads = 5 } } or { uvicorn = {} }",
    )
}

fn read_policy(node: &Node<'_>) -> Option<Policy> {
    let text = node.text(POLICY_ALLOWED)?;
    match POLICIES.iter().find(|(_, name)| *name == text) {
        Some((policy, _)) => Some(*policy),
        None => node.refuse(POLICY_ALLOWED),
    }
}

fn read_weights(node: &Node<'_>, backends: Option<u32>) -> Option<Vec<u32>> {
    let expected = "a list of whole numbers, one for each backend";
    let all = node.list(expected)?;
    if backends.is_some_and(|backends| all.len() != backends as usize) {
        return node.refuse_as(format!("a list of {}", all.len()), expected);
    }
    let weights: Vec<_> =
        all.iter().map(|node| node.int(1..=WEIGHT_MAX).map(|n| n as u32)).collect();
    weights.into_iter().collect()
}

impl ModelKind for Nginx {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        let count = |n: u32| Value::Int(n.into());
        let mut fields =
            vec![("backends", count(self.backends)), ("server", self.server.to_value())];
        fields.push(("policy", Value::text(name_of(self.policy))));
        let list = |weights: &Vec<u32>| Value::List(weights.iter().map(|n| count(*n)).collect());
        fields.extend(self.weights.as_ref().map(|weights| ("weights", list(weights))));
        fields.push(("workers", count(self.workers)));
        Value::table(fields)
    }

    fn topology(&self, on: &dyn Fn() -> Cpus) -> Topology {
        let server = self.server.lowered(on);
        let each = self
            .weights
            .as_ref()
            .map(|weights| weights.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
        let weights = each.map(|each| format!(" weights {each}")).unwrap_or_default();
        let workers = match self.workers {
            1 => String::new(),
            n => format!(" of {n} workers"),
        };
        let policy = name_of(self.policy);
        Topology {
            label: format!("nginx{workers} {policy}{weights}: {}", server.label),
            workers: self.backends,
            slots: server.slots.map(|slots| slots * u64::from(self.backends)),
            processes: self.backends,
            dispatch: Dispatch::Balanced(Balance {
                policy: self.policy,
                weights: self.weights.clone().unwrap_or(vec![1; self.backends as usize]),
                workers: self.workers,
            }),
            ..server
        }
    }
}

fn name_of(policy: Policy) -> &'static str {
    let (_, name) = POLICIES.iter().find(|(known, _)| *known == policy).expect("all have a name");
    name
}

impl From<Nginx> for Model {
    fn from(nginx: Nginx) -> Self {
        Self::of(nginx)
    }
}
