//! Two timelines beside each other: in which order requests got the lock.

use super::{Grant, Timeline};

/// The order in which requests got the lock in two runs, process by process.
///
/// Grants to threads that served nothing meanwhile (acceptors, threads that found no request) are left out.
#[derive(Debug, Clone)]
pub struct Orders<'a> {
    /// That of the first.
    pub one: Vec<Grant<'a>>,
    /// That of the second.
    pub other: Vec<Grant<'a>>,
    /// The place of the first grant that the other does not have there; `None` where all are the same.
    pub differs_at: Option<usize>,
}

/// Compares the order of grants of two timelines, such as those of both engines.
///
/// Grants are the same where a request of the same number and endpoint got the lock of a worker of the same
/// number; times and threads do not matter. Differs from what an event loop does: on a real one each poll
/// takes the lock, in the simulator each round of polls does.
///
/// ```
/// use gvl_lab::{Engine, Experiment, RunOptions, load::open, model::pool, workload::{hold, io, ms}};
///
/// let experiment = Experiment::new(pool().threads(2)).workload([hold(ms(5)), io(ms(1))]);
/// let experiment = experiment.load(open(100.0).requests(3));
/// let run = |engine| experiment.run_with(engine, RunOptions::new().timeline(true));
/// let (one, other) = (run(Engine::Sim)?, run(Engine::Real)?);
/// let timelines = (one.rows[0].timeline.as_ref(), other.rows[0].timeline.as_ref());
/// let (Some(one), Some(other)) = timelines else { panic!("it was told to record them") };
/// let orders = gvl_lab::timeline::compare(one, other);
/// for (one, other) in orders.one.iter().zip(&orders.other) {
///     println!("{:?} {:?}", one.request, other.request);
/// }
/// if let Some(place) = orders.differs_at {
///     println!("the engines part at grant {place}");
/// }
/// # Ok::<(), gvl_lab::Error>(())
/// ```
pub fn compare<'a>(one: &'a Timeline, other: &'a Timeline) -> Orders<'a> {
    let (first, second) = (order(one), order(other));
    let name = |of: &'a Timeline, grant: &Grant<'a>| {
        let request = grant.request?;
        let endpoint = of.endpoints.get(request.endpoint).map(String::as_str);
        Some((grant.track.process, request.number, endpoint))
    };
    let most = first.len().max(second.len());
    let differs_at = (0..most).find(|n| {
        let named = |of, order: &[Grant<'a>]| order.get(*n).and_then(|grant| name(of, grant));
        named(one, &first) != named(other, &second)
    });
    Orders { one: first, other: second, differs_at }
}

/// The grants to requests, process by process.
fn order(timeline: &Timeline) -> Vec<Grant<'_>> {
    let mut grants: Vec<_> = timeline.grants().filter(|grant| grant.request.is_some()).collect();
    grants.sort_by_key(|grant| grant.track.process);
    grants
}
