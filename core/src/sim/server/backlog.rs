//! The kernel's queue of connections that nobody has accepted, and what it does when it is full.
//!
//! As Linux has it: `backlog` connections and one more wait (`sk_acceptq_is_full`, include/net/sock.h);
//! beyond them a SYN is dropped (`tcp_conn_request`, net/ipv4/tcp_input.c), and the client's system
//! sends it again after 1 s, 2 s, 4 s ..., six times (`TCP_TIMEOUT_INIT`, `tcp_syn_retries`), and gives
//! up 127 s after the first. Differs from Linux: a retransmission is never early or late.

use super::request::RequestId;
use super::{Server, Timer};
use crate::clock::Nanos;
use crate::machine::Machine;
use crate::measure::BacklogUse;
use crate::model::Socket;

/// Until a SYN that was not answered is sent again.
const FIRST: Nanos = 1_000_000_000;

/// `net.ipv4.tcp_syn_retries`.
const RETRIES: u8 = 6;

/// How long the queue may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    size: u32,
    is_set: bool,
}

impl Room {
    pub(super) fn new(socket: Socket, machine: &Machine) -> Self {
        Self { size: socket.backlog.min(machine.somaxconn()), is_set: socket.is_set }
    }

    /// Whether one more may wait beside so many.
    fn has_place(self, waiting: usize) -> bool {
        waiting <= self.size as usize
    }

    /// What is told of it.
    pub(super) fn used(self, drops: u64) -> BacklogUse {
        BacklogUse { size: self.size.into(), drops, is_set: self.is_set }
    }
}

impl Server<'_> {
    /// A client asks for a connection, for the `resent`th time after the first.
    pub(super) fn knock(&mut self, id: RequestId, resent: u8) {
        let listener = self.listener.as_ref().expect("workers accept from a socket");
        if listener.room.has_place(listener.backlog.len()) {
            return self.connect_to_socket(id);
        }
        let now = self.kernel.now();
        self.tally.dropped(now);
        let again = Timer::Syn(id, self.requests.at(id).life, resent + 1);
        self.kernel.remind(now.saturating_add(FIRST << resent), again);
    }

    /// The client's system sends again what was not answered, or gives up.
    pub(super) fn knock_again(&mut self, id: RequestId, life: u32, resent: u8) {
        if self.requests.at(id).life != life {
            return;
        }
        if resent > RETRIES {
            return self.leave(id, "connect timeout");
        }
        self.knock(id, resent);
    }
}
