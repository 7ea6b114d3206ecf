//! Whether workload, load and warm-up agree: the users that are bound to endpoints, and the time.
//!
//! `read` asks here once both are read, so that every request of a checked experiment has an
//! endpoint, and every endpoint somebody who asks for it.

use crate::load::{Load, WarmUp};
use crate::value::{Fields, Node};
use crate::workload::{Endpoint, Workload};

/// Notes what does not agree; `root` has the sections that the two were read from.
pub(super) fn read(root: &Fields<'_>, workload: &Workload, load: &Load) -> Option<()> {
    let Some(users) = load.users() else {
        return read_open(root, &workload.endpoints);
    };
    let bound: u64 = workload.endpoints.iter().filter_map(|e| e.users).map(u64::from).sum();
    let free = workload.endpoints.iter().find(|e| e.users.is_none());
    let (agrees, expected) = match free {
        Some(free) => (
            bound == 0 || u64::from(users) > bound,
            format!("more than the {bound} bound to endpoints, to ask for \"{}\"", free.name),
        ),
        None => (u64::from(users) == bound, format!("the {bound} bound to endpoints")),
    };
    if agrees {
        return Some(());
    }
    below(root, &["load", "closed", "users"])?.refuse(expected)
}

/// Notes a warm-up that leaves nothing of the run.
pub(super) fn read_warmup(root: &Fields<'_>, warmup: Option<WarmUp>, load: &Load) -> Option<()> {
    match warmup.zip(load.until()).and_then(|(warmup, until)| warmup.beyond(until)) {
        Some(expected) => root.get("warmup")?.refuse(expected),
        None => Some(()),
    }
}

/// An open load has no users to bind.
fn read_open(root: &Fields<'_>, endpoints: &[Endpoint]) -> Option<()> {
    if endpoints.iter().all(|e| e.users.is_none()) {
        return Some(());
    }
    for item in below(root, &["workload", "endpoint"])?.list("a list of endpoints")? {
        if let Some(node) = item.open_table("an endpoint")?.get("users") {
            node.refuse::<()>("no users where the load is open");
        }
    }
    None
}

fn below<'v>(root: &Fields<'v>, path: &[&str]) -> Option<Node<'v>> {
    let (first, rest) = path.split_first()?;
    let start = root.get(first)?.clone();
    rest.iter().try_fold(start, |node, key| node.open_table("a table")?.get(key).cloned())
}
