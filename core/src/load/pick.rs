//! Which endpoint a request asks for: the one its user is bound to, or one by weight.
//!
//! `closed` and `open` ask here. Invariant of a checked experiment: every user that is bound to
//! no endpoint has an endpoint without `users` to ask for.

use crate::random::Stream;
use crate::workload::Workload;
use crate::workload::weight;

#[derive(Debug, Clone)]
pub(super) struct Picks {
    /// For each endpoint with users: the first user after them, and the endpoint. Users are dealt
    /// from nought in the order of the endpoints.
    bound: Vec<(u64, usize)>,
    /// The endpoints without users, and their cumulative shares.
    free: Vec<usize>,
    shares: Vec<f64>,
}

impl Picks {
    pub fn new(workload: &Workload) -> Self {
        let (mut bound, mut free, mut dealt) = (Vec::new(), Vec::new(), 0);
        for (n, endpoint) in workload.endpoints.iter().enumerate() {
            match endpoint.users {
                Some(users) => {
                    dealt += u64::from(users);
                    bound.push((dealt, n));
                }
                None => free.push(n),
            }
        }
        let shares = weight::cumulative(free.iter().map(|&n| workload.endpoints[n].weight));
        Self { bound, free, shares }
    }

    /// The endpoint that the next request of `user` asks for.
    pub fn of_user(&self, user: u32, stream: &mut Stream) -> usize {
        let place = self.bound.partition_point(|(end, _)| *end <= u64::from(user));
        match self.bound.get(place) {
            Some((_, endpoint)) => *endpoint,
            None => self.by_weight(stream),
        }
    }

    /// An endpoint without users, by weight. Draws even where there is only one, so that an
    /// endpoint more does not move the other draws of the stream.
    pub fn by_weight(&self, stream: &mut Stream) -> usize {
        let at = stream.unit();
        let place = self.shares.partition_point(|share| *share <= at);
        *self.free.get(place).expect("a checked experiment has an endpoint for every request")
    }
}
