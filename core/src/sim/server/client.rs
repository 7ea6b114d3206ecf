//! The load generator: a program whose threads share one lock, first come, first served.
//!
//! Each request takes two turns of it: one to open a connection, one to send. Where several requests
//! begin together all connections are open before the first request is sent, and a worker with a
//! reactor accepts them as if it had nothing to do: how busy it will be is not known yet. A
//! connection that is open already needs the second turn only. Without a cost all of this takes no
//! time, and a request is there when its connection is.

use super::request::RequestId;
use super::{Server, Timer};
use crate::clock::{Nanos, nanos};
use crate::cluster::accept::Between;
use crate::machine::Machine;

#[derive(Debug)]
pub(super) struct Client {
    /// The CPU time of a turn.
    turn: Nanos,
    /// When all turns that were asked for are over.
    free: Nanos,
}

/// What a request takes a turn of the client for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) enum Turn {
    Connect,
    Send,
}

impl Client {
    pub(super) fn of(machine: &Machine) -> Self {
        Self { turn: nanos(machine.client()), free: 0 }
    }

    /// When a turn that is asked for now is over.
    fn turn(&mut self, now: Nanos) -> Nanos {
        self.free = self.free.max(now).saturating_add(self.turn);
        self.free
    }
}

impl Server<'_> {
    /// A request begins.
    pub(super) fn begin(&mut self, id: RequestId) {
        if self.client.turn == 0 {
            return self.deliver(id);
        }
        let turn = if self.is_connected(id) { Turn::Send } else { Turn::Connect };
        self.take_turn(id, turn);
    }

    fn take_turn(&mut self, id: RequestId, turn: Turn) {
        let over = self.client.turn(self.kernel.now());
        self.kernel.remind(over, Timer::Client(id, turn, self.requests.at(id).life));
    }

    /// The client has done what it took a turn for, if it has not left meanwhile.
    pub(super) fn turn_over(&mut self, id: RequestId, turn: Turn, life: u32) {
        let request = self.requests.at(id);
        if request.life != life || request.gone {
            return;
        }
        match turn {
            Turn::Connect => {
                if self.reads_on_reactor() {
                    self.requests.at_mut(id).sent = false;
                    self.knock(id, 0);
                }
                self.take_turn(id, Turn::Send);
            }
            Turn::Send if self.requests.at(id).sent => self.deliver(id),
            Turn::Send => self.comes_late(id),
        }
    }

    /// Whether workers take connections in before there is a request on them.
    fn reads_on_reactor(&self) -> bool {
        let watched = |listener: &super::Listener| {
            matches!(listener.accept.between, Between::Watched | Between::Kept(_))
        };
        self.listener.as_ref().is_some_and(watched) && self.processes[0].door.reactor.is_some()
    }
}
