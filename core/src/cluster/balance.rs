//! How a proxy chooses the backend of a request, as data and as a pure state machine.
//!
//! Models fill a [`Balance`]; the simulator's proxy asks `Peers`, and the cluster's desk takes turns by
//! `smooth`. After nginx 1.30 (`ngx_http_upstream_get_peer` in ngx_http_upstream_round_robin.c,
//! `ngx_http_upstream_get_least_conn_peer` in ngx_http_upstream_least_conn_module.c).

/// How a proxy chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    /// By what.
    pub policy: Policy,
    /// What share each backend has, 1 or more; as many as there are backends.
    pub weights: Vec<u32>,
    /// The proxy's own worker processes, at least 1: each knows of its own requests alone.
    pub workers: u32,
}

/// By what a proxy chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Turns, by weight, spread evenly (smooth weighted round robin).
    RoundRobin,
    /// The fewest requests under way for its weight; among equals, turns.
    LeastConn,
}

impl Balance {
    /// Whether one worker chooses among backends that count alike.
    pub(crate) fn is_plain(&self) -> bool {
        self.workers == 1 && self.weights.iter().all(|weight| *weight == 1)
    }
}

/// The backends as one worker of a proxy sees them.
#[derive(Debug)]
pub(crate) struct Peers {
    policy: Policy,
    all: Vec<Peer>,
}

#[derive(Debug)]
struct Peer {
    weight: u64,
    /// How near its turn is.
    turn: i64,
    /// Requests of this worker that it has.
    conns: u64,
}

impl Peers {
    pub(crate) fn new(balance: &Balance) -> Self {
        let peer = |weight: &u32| Peer { weight: u64::from(*weight), turn: 0, conns: 0 };
        Self { policy: balance.policy, all: balance.weights.iter().map(peer).collect() }
    }

    /// Gives a request to a backend.
    pub(crate) fn pick(&mut self) -> usize {
        let conns_and_weight = |peer: &Peer| (peer.conns, peer.weight);
        let least = match self.policy {
            Policy::RoundRobin => None,
            // Compares conns / weight.
            Policy::LeastConn => {
                self.all.iter().map(conns_and_weight).min_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)))
            }
        };
        let is_least = |peer: &Peer| {
            least.is_none_or(|(conns, weight)| peer.conns * weight == conns * peer.weight)
        };
        let peers = self.all.iter_mut().enumerate().filter(|(_, peer)| is_least(peer));
        let turns = peers.map(|(n, peer)| (n, peer.weight as i64, &mut peer.turn));
        let n = smooth(turns).expect("there is a backend");
        self.all[n].conns += 1;
        n
    }

    /// A request of a backend is answered.
    pub(crate) fn ended(&mut self, peer: usize) {
        self.all[peer].conns -= 1;
    }
}

/// Smooth weighted round robin: each comes nearer to its turn by its weight, the nearest has it and goes
/// back by the weight of all. The first of equals wins; one alone stays where it is.
pub(crate) fn smooth<'p>(peers: impl Iterator<Item = (usize, i64, &'p mut i64)>) -> Option<usize> {
    let mut total = 0;
    let mut best: Option<(usize, &mut i64)> = None;
    for (n, weight, turn) in peers {
        *turn += weight;
        total += weight;
        if best.as_ref().is_none_or(|(_, nearest)| *turn > **nearest) {
            best = Some((n, turn));
        }
    }
    let (n, turn) = best?;
    *turn -= total;
    Some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(policy: Policy, weights: &[u32]) -> Peers {
        Peers::new(&Balance { policy, weights: weights.to_vec(), workers: 1 })
    }

    fn picks(peers: &mut Peers, n: usize) -> Vec<usize> {
        (0..n).map(|_| peers.pick()).collect()
    }

    /// nginx's own example: weights 5, 1, 1 give a a b a c a a.
    #[test]
    fn turns_are_spread() {
        let sequence = [0, 0, 1, 0, 2, 0, 0];
        assert_eq!(picks(&mut peers(Policy::RoundRobin, &[5, 1, 1]), 14), sequence.repeat(2));
        assert_eq!(picks(&mut peers(Policy::RoundRobin, &[1, 1, 1]), 6), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn the_fewest_for_its_weight() {
        let mut peers = peers(Policy::LeastConn, &[1, 1, 1]);
        // The last of three stood alone, which cost it no turn: with one each it is the nearest.
        assert_eq!(picks(&mut peers, 4), [0, 1, 2, 2]);
        peers.ended(0);
        assert_eq!(peers.pick(), 0);
        // 1, 1 and 2 are under way.
        let mut next = picks(&mut peers, 2);
        next.sort_unstable();
        assert_eq!(next, [0, 1]);
        let mut peers = self::peers(Policy::LeastConn, &[3, 1]);
        let all = picks(&mut peers, 8);
        assert_eq!(all.iter().filter(|n| **n == 0).count(), 6, "{all:?}");
    }

    /// Equal counts do not always give the first one the request.
    #[test]
    fn equals_take_turns() {
        let mut peers = peers(Policy::LeastConn, &[1, 1]);
        let mut all = Vec::new();
        for _ in 0..4 {
            let n = peers.pick();
            all.push(n);
            peers.ended(n);
        }
        assert_eq!(all, [0, 1, 0, 1]);
    }
}
