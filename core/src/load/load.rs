//! The load of an experiment, from a document or from builders.
//!
//! `experiment` reads and prints it, `driver` runs it. A builder's method that the pattern has no
//! use for is kept as a stray key, which `check` refuses as it would in a document.

use super::patience::{Patience, RETRIES, RETRY_AFTER, TIMEOUT};
use super::pattern::{Arrivals, Pattern};
use super::until::Until;
use crate::error::Error;
use crate::value::{Node, Value};
use crate::workload::Dist;
use std::time::Duration;

const CONNECTIONS: &str = "connections";
const CONNECTIONS_ALLOWED: &str = "\"new\" or \"keep-alive\"";

/// How requests arrive, how many of them, and over what connections.
///
/// ```
/// use gvl_lab::load::{closed, open};
/// use gvl_lab::workload::{ms, secs};
/// closed(12).requests(120).check().unwrap();
/// closed(10).spawn_rate(10.0).think(ms(500)).duration(secs(60)).keep_alive().check().unwrap();
/// open(50.0).constant().duration(secs(60)).check().unwrap();
/// assert!(closed(12).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// When requests arrive.
    pub pattern: Pattern,
    /// What they arrive over.
    pub connections: Connections,
    /// How long clients wait for an answer, and how often they ask again.
    pub patience: Patience,
    /// The key of a builder's method that the pattern has no use for.
    stray: Option<&'static str>,
}

/// What requests arrive over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Connections {
    /// A new connection for each request.
    #[default]
    New,
    /// A user's connection stays open from request to request.
    KeepAlive,
}

/// Makes a closed loop of users, 1 to 1,000,000: each waits for its answer before it asks again.
///
/// It needs [`Load::requests`] or [`Load::duration`]. By default all users start at once and do
/// not think.
pub fn closed(users: u32) -> Load {
    let think = Dist::Constant(Duration::ZERO);
    Load::new(Pattern::Closed { users, spawn_rate: None, think, until: None })
}

/// Makes an open stream of `rate` requests per second, above 0 and at most 1,000,000: they arrive
/// whether or not earlier ones have been answered.
///
/// It needs [`Load::requests`] or [`Load::duration`]. By default arrivals are Poisson.
pub fn open(rate: f64) -> Load {
    Load::new(Pattern::Open { rate, arrivals: Arrivals::default(), until: None })
}

impl Load {
    /// Makes a load of a new connection for each request.
    pub fn new(pattern: Pattern) -> Self {
        Self {
            pattern,
            connections: Connections::default(),
            patience: Patience::default(),
            stray: None,
        }
    }

    /// Ends after `n` requests, 1 to 100,000,000; replaces a duration given before.
    pub fn requests(self, n: u64) -> Self {
        self.ending(Until::Requests(n))
    }

    /// Ends after a time, above 0 and at most 24 hours; replaces a number given before.
    pub fn duration(self, duration: Duration) -> Self {
        self.ending(Until::Duration(duration))
    }

    /// Lets each user of a closed loop pause between an answer and its next request.
    pub fn think(mut self, time: impl Into<Dist>) -> Self {
        match &mut self.pattern {
            Pattern::Closed { think, .. } => *think = time.into(),
            Pattern::Open { .. } => self.stray = Some("think"),
        }
        self
    }

    /// Starts the users of a closed loop one after another, `rate` per second.
    pub fn spawn_rate(mut self, rate: f64) -> Self {
        match &mut self.pattern {
            Pattern::Closed { spawn_rate, .. } => *spawn_rate = Some(rate),
            Pattern::Open { .. } => self.stray = Some("spawn_rate"),
        }
        self
    }

    /// Lets requests of an open stream arrive at random, with exponential gaps.
    pub fn poisson(self) -> Self {
        self.arrivals(Arrivals::Poisson)
    }

    /// Lets requests of an open stream arrive at equal gaps.
    pub fn constant(self) -> Self {
        self.arrivals(Arrivals::Constant)
    }

    /// Keeps connections open from request to request.
    pub fn keep_alive(mut self) -> Self {
        self.connections = Connections::KeepAlive;
        self
    }

    /// Lets a client give up an attempt that is not answered in this time, above 0 and at most 24 hours: it
    /// closes its connection, and the server does not know (for ever).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.patience.timeout = Some(timeout);
        self
    }

    /// Lets a client that gave up try again, up to `n` times, 0 to 100 (0). It needs a
    /// [`Load::timeout`].
    pub fn retries(mut self, n: u32) -> Self {
        self.patience.retries = Some(n);
        self
    }

    /// Lets a client pause before it tries again (not at all). It needs [`Load::retries`].
    pub fn retry_after(mut self, pause: impl Into<Dist>) -> Self {
        self.patience.retry_after = Some(pause.into());
        self
    }

    /// Tells when no more requests start; `None` in a load that is not built to its end.
    pub fn until(&self) -> Option<Until> {
        let (Pattern::Closed { until, .. } | Pattern::Open { until, .. }) = &self.pattern;
        *until
    }

    /// Gives the users of a closed loop; `None` for an open stream.
    pub fn users(&self) -> Option<u32> {
        match self.pattern {
            Pattern::Closed { users, .. } => Some(users),
            Pattern::Open { .. } => None,
        }
    }

    /// Gives the mean time that a user of a closed loop thinks; nought for an open stream.
    pub fn think_mean(&self) -> Duration {
        match &self.pattern {
            Pattern::Closed { think, .. } => think.mean(),
            Pattern::Open { .. } => Duration::ZERO,
        }
    }

    /// Checks a built load.
    ///
    /// # Errors
    /// Every mistake in it, in the words that [`Load::read`] has for a document.
    pub fn check(&self) -> Result<(), Error> {
        Node::read_all(&self.to_value(), "load", Self::read).map(|_| ())
    }

    /// Reads the load at a place of a document.
    pub fn read(node: &Node<'_>) -> Option<Self> {
        let fields = node.table(&["closed", "open", CONNECTIONS, TIMEOUT, RETRIES, RETRY_AFTER])?;
        let pattern = match (fields.get("closed"), fields.get("open")) {
            (Some(closed), None) => Pattern::read_closed(closed),
            (None, Some(open)) => Pattern::read_open(open),
            (Some(_), Some(_)) => node.refuse_as("closed beside open", "one of the two"),
            (None, None) => node.refuse_as("neither closed nor open", "one of the two"),
        };
        let connections =
            fields.get(CONNECTIONS).map_or(Some(Connections::default()), Connections::read);
        let patience = Patience::read(&fields);
        Some(Self { connections: connections?, patience: patience?, ..Self::new(pattern?) })
    }

    /// Writes the value that [`Load::read`] reads back.
    pub fn to_value(&self) -> Value {
        let (key, mut fields) = self.pattern.to_fields();
        if let Some(stray) = self.stray {
            fields.push((stray, Value::Bool(true)));
        }
        let mut load = vec![(CONNECTIONS, self.connections.to_value())];
        load.extend(self.patience.to_fields());
        load.push((key, Value::table(fields)));
        Value::table(load)
    }

    fn ending(mut self, end: Until) -> Self {
        let (Pattern::Closed { until, .. } | Pattern::Open { until, .. }) = &mut self.pattern;
        *until = Some(end);
        self
    }

    fn arrivals(mut self, kind: Arrivals) -> Self {
        match &mut self.pattern {
            Pattern::Open { arrivals, .. } => *arrivals = kind,
            Pattern::Closed { .. } => self.stray = Some("arrivals"),
        }
        self
    }
}

impl Connections {
    fn read(node: &Node<'_>) -> Option<Self> {
        match node.text(CONNECTIONS_ALLOWED)? {
            "new" => Some(Self::New),
            "keep-alive" => Some(Self::KeepAlive),
            _ => node.refuse(CONNECTIONS_ALLOWED),
        }
    }

    fn to_value(self) -> Value {
        Value::text(match self {
            Self::New => "new",
            Self::KeepAlive => "keep-alive",
        })
    }
}
