//! What the real engine does not do, told before a run begins.

use crate::cluster::accept::{Accept, Between, Keep, Then};
use crate::error::Error;
use crate::load::{Connections, Load};
use crate::model::{Dispatch, Topology};

/// Why the `n`th model cannot run here under the load; nothing where it can.
pub fn refused(n: usize, topology: &Topology, load: &Load) -> Option<Error> {
    let keeps = load.connections == Connections::KeepAlive;
    match &topology.dispatch {
        Dispatch::Balanced(balance) if !balance.is_plain() => Some(Error::invalid(
            "model",
            format!("model[{n}] ({})", topology.label),
            "one nginx worker and no weights, or the simulator: the real engine has one proxy, and \
             backends that count alike",
        )),
        Dispatch::Accept(Accept {
            between: Between::Kept(Keep { then: Then::Wait { .. }, .. }),
            ..
        }) if keeps => Some(Error::invalid(
            "load.connections",
            "\"keep-alive\"",
            format!(
                "\"new\", or the simulator, with model[{n}] ({}): its threads wait at the connection \
                 that they have answered over, which is only simulated",
                topology.label
            ),
        )),
        _ => None,
    }
}
