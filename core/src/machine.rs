//! The machine that the simulator has, as an experiment describes it.
//!
//! `experiment` reads and prints it, `sim` runs on it. What it leaves out has one default
//! everywhere, so that a simulated result does not depend on where it was made.

use crate::clock::{Nanos, nanos};
use crate::cluster::cpus::Cpus;
use crate::error::Error;
use crate::value::{Fields, Node, Value};
use crate::workload::{Dist, duration, lognormal};
use std::path::Path;
use std::time::Duration;

const KEYS: [&str; 11] = [
    "cores",
    "wake",
    "switch",
    "slice",
    "together",
    "client",
    "receive",
    "answer",
    "quota",
    "quota_period",
    "somaxconn",
];
const CORES_MAX: i64 = 4096;
const COST_MAX: Duration = Duration::from_millis(100);
const SLICE: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(10)..=Duration::from_secs(1);
const QUOTA: std::ops::RangeInclusive<f64> = 0.001..=4096.0;
/// What the kernel takes (`max_cfs_quota_period` and `min_cfs_quota_period`, kernel/sched/core.c).
const QUOTA_PERIOD: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(1);
/// The least CPU time of a period that the kernel takes (`min_cfs_quota_period`, the same).
const QUOTA_MIN: Nanos = 1_000_000;
const SOMAXCONN_MAX: i64 = 65_535;
const TOGETHER: std::ops::RangeInclusive<f64> = 0.1..=1.0;

/// The machine that the simulator has; the other engines use the one they run on.
///
/// ```
/// use gvl_lab::machine::Machine;
/// use std::time::Duration;
///
/// let machine = Machine { cores: Some(64), ..Machine::default() };
/// assert_eq!(machine.cores(), 64);
/// assert_eq!(machine.switch(), Duration::from_micros(2));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Machine {
    /// Processors, 1 to 4,096; by default 8.
    pub cores: Option<u32>,
    /// From the moment a thread is woken, by another one or by its timer, until it could run: 100 ms
    /// at most in the mean; by default `lognormal(5us, 0.5)`. The latency of a futex, and of moving to
    /// another core.
    pub wake: Option<Dist>,
    /// CPU time that a core needs to go from one thread to another one that waited for it, 0 to
    /// 100 ms, and at most a slice; by default 2 us.
    pub switch: Option<Duration>,
    /// How long a thread may keep a core while others wait for one, 10 us to 1 s; by default 3 ms,
    /// as Linux's scheduler has it on 8 cores and more (`sysctl_sched_base_slice` of 0.75 ms x 4).
    pub slice: Option<Duration>,
    /// How fast each core is while all of them compute, 0.1 to 1, which is the default: as fast as
    /// one alone. In between the speed falls evenly with the cores that compute. Two
    /// hyperthreads of one core have about 0.6; clocks that fall when more cores are busy count, too.
    pub together: Option<f64>,
    /// CPU time that the load generator needs to open a connection, and once more to send a request,
    /// 0 to 100 ms; by default nought. It stands for a program whose threads share one lock (Ruby,
    /// Python), on a core of its own: who connects together with others sends only when the others
    /// have connected, and a server may have accepted a connection long before.
    pub client: Option<Duration>,
    /// CPU time that a worker needs, with its lock, to take a request in: to accept its connection or
    /// to find it readable, and to read it; 0 to 100 ms, by default nought. Servers of one process and
    /// workers that a master hands requests to need none, as in the real engine.
    pub receive: Option<Duration>,
    /// CPU time that a worker needs, with its lock, to answer a request, 0 to 100 ms, by default
    /// nought. An event loop uses it as it begins the request, with `receive`.
    pub answer: Option<Duration>,
    /// How many processors' time the server may use, all its processes together, 0.001 to 4,096 (no
    /// bound): in each period that many times as long as the period, and then every thread stands
    /// still until the next one, with the locks that it holds. This is `cpu.max` of a control group,
    /// so the CPU limit of a container (the kernel's Documentation/scheduler/sched-bwc.rst). As there, more
    /// than the cores has no effect. `workers = "auto"` follows it.
    pub quota: Option<f64>,
    /// The period of the quota, 1 ms to 1 s; by default 100 ms, as Linux has it. It has to make the
    /// quota 1 ms of CPU time at least. Periods begin with the run.
    pub quota_period: Option<Duration>,
    /// The most connections that the system lets a listening socket keep to be accepted
    /// (`net.core.somaxconn`), 1 to 65,535; by default 4,096, as Linux has it since 5.4.
    pub somaxconn: Option<u32>,
}

impl Machine {
    /// A machine of so many cores on which waking and switching take no time: that of queueing
    /// theory.
    pub fn ideal(cores: u32) -> Self {
        let none = Duration::ZERO;
        let (wake, switch) = (Some(none.into()), Some(none));
        Self { cores: Some(cores), wake, switch, ..Self::default() }
    }

    /// Gives the processors.
    pub fn cores(&self) -> u32 {
        self.cores.unwrap_or(8)
    }

    /// Gives the time from a wake-up to the first instruction.
    pub fn wake(&self) -> Dist {
        self.wake.clone().unwrap_or(lognormal(Duration::from_micros(5), 0.5))
    }

    /// Gives the CPU time of a switch of threads.
    pub fn switch(&self) -> Duration {
        self.switch.unwrap_or(Duration::from_micros(2))
    }

    /// Gives how long a thread may keep a core that others wait for.
    pub fn slice(&self) -> Duration {
        self.slice.unwrap_or(Duration::from_millis(3))
    }

    /// Gives how fast each core is while all of them compute, of what one alone is.
    pub fn together(&self) -> f64 {
        self.together.unwrap_or(1.0)
    }

    /// Gives the CPU time of the load generator, to open a connection and again to send a request.
    pub fn client(&self) -> Duration {
        self.client.unwrap_or_default()
    }

    /// Gives the CPU time to take a request in.
    pub fn receive(&self) -> Duration {
        self.receive.unwrap_or_default()
    }

    /// Gives the CPU time to answer a request.
    pub fn answer(&self) -> Duration {
        self.answer.unwrap_or_default()
    }

    /// Gives the period of the CPU quota.
    pub fn quota_period(&self) -> Duration {
        self.quota_period.unwrap_or(Duration::from_millis(100))
    }

    /// Gives the processors as a process on it finds them, with its quota.
    pub fn cpus(&self) -> Cpus {
        let cpus = Cpus::of_machine(self.cores());
        self.quota.map_or(cpus, |quota| cpus.with_quota(quota))
    }

    /// The quota, where all cores together could use more.
    pub(crate) fn binding_quota(&self) -> Option<f64> {
        self.quota.filter(|cpus| *cpus < f64::from(self.cores()))
    }

    /// The CPU time that a quota comes to in each period, in whole nanoseconds.
    pub(crate) fn budget_of(&self, quota: f64) -> Nanos {
        (quota * nanos(self.quota_period()) as f64).round() as Nanos
    }

    /// Refuses what only a simulated machine can have; the other keys describe one, and are not used
    /// on a real one.
    pub(crate) fn check_for_real(&self) -> Result<(), Error> {
        self.quota.map_or(Ok(()), |quota| {
            let why = "no quota on the real engine, which has that of the control group it runs in";
            Err(Error::invalid("machine.quota", quota, format!("{why}, or the simulator")))
        })
    }

    /// Gives the most connections that a listening socket keeps to be accepted.
    pub fn somaxconn(&self) -> u32 {
        self.somaxconn.unwrap_or(4096)
    }

    /// Reads a machine file: TOML with a table `[machine]`, as [`Machine::to_toml`] writes it.
    ///
    /// # Errors
    /// Where the text stops being TOML, or every mistake in it.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        Self::from_value(&Value::from_toml(text)?)
    }

    /// Reads a machine file named `*.toml` or `*.json`, of at most 1 MiB.
    ///
    /// # Errors
    /// A file that cannot be read, is too large or is not text; or every mistake in it.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_value(&Value::from_path(path.as_ref())?)
    }

    fn from_value(value: &Value) -> Result<Self, Error> {
        Node::read_all(value, "", |root| {
            let fields = root.table(&["machine"])?;
            fields.need("machine", "a [machine]").and_then(Self::read)
        })
    }

    /// Writes the machine as TOML.
    pub fn to_toml(&self) -> String {
        Value::table([("machine", self.to_value())]).to_toml()
    }

    /// Reads the table `[machine]`.
    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        let fields = node.table(&KEYS)?;
        let cores = match fields.get("cores") {
            Some(node) => node.int(1..=CORES_MAX).map(|n| Some(n as u32)),
            None => Some(None),
        };
        let wake = match fields.get("wake") {
            Some(node) => match Dist::read(node) {
                Some(wake) if wake.mean() > COST_MAX => {
                    node.refuse(format!("{} at most in the mean", duration::print(COST_MAX)))
                }
                wake => wake.map(Some),
            },
            None => Some(None),
        };
        let switch = span(&fields, "switch", Duration::ZERO..=COST_MAX);
        let slice = span(&fields, "slice", SLICE);
        let together = match fields.get("together") {
            Some(node) => node.float(TOGETHER).map(Some),
            None => Some(None),
        };
        let cost = |key| span(&fields, key, Duration::ZERO..=COST_MAX);
        let (client, receive, answer) = (cost("client"), cost("receive"), cost("answer"));
        let quota = match fields.get("quota") {
            Some(node) => node.float(QUOTA).map(Some),
            None => Some(None),
        };
        let quota_period = span(&fields, "quota_period", QUOTA_PERIOD);
        let somaxconn = match fields.get("somaxconn") {
            Some(node) => node.int(1..=SOMAXCONN_MAX).map(|n| Some(n as u32)),
            None => Some(None),
        };
        let machine = Self {
            cores: cores?,
            wake: wake?,
            switch: switch?,
            slice: slice?,
            together: together?,
            client: client?,
            receive: receive?,
            answer: answer?,
            quota: quota?,
            quota_period: quota_period?,
            somaxconn: somaxconn?,
        };
        if machine.switch() > machine.slice() {
            let slice = duration::print(machine.slice());
            return fields.get("switch").unwrap_or(node).refuse(format!(
                "at most the slice of {slice}: the cores would do little but switch"
            ));
        }
        machine.check_quota(&fields)?;
        Some(machine)
    }

    /// Checks that quota and period go together.
    fn check_quota(&self, fields: &Fields<'_>) -> Option<()> {
        let (node, period) = (fields.get("quota"), fields.get("quota_period"));
        match (self.quota.zip(node), period) {
            (None, Some(period)) => period.refuse("a quota beside it, which it is the period of"),
            (Some((quota, node)), _) if self.budget_of(quota) < QUOTA_MIN => {
                let period = duration::print(self.quota_period());
                node.refuse(format!(
                    "a quota that comes to 1ms of CPU time or more in each period of {period}"
                ))
            }
            _ => Some(()),
        }
    }

    /// Writes what [`Machine::read`] reads back.
    pub(crate) fn to_value(&self) -> Value {
        let mut fields = Vec::new();
        fields.extend(self.cores.map(|cores| ("cores", Value::Int(cores.into()))));
        fields.extend(self.wake.as_ref().map(|wake| ("wake", wake.to_value())));
        let costs = [("client", self.client), ("receive", self.receive), ("answer", self.answer)];
        for (key, d) in [("switch", self.switch), ("slice", self.slice)].into_iter().chain(costs) {
            fields.extend(d.map(|d| (key, Value::text(duration::print(d)))));
        }
        fields.extend(self.quota.map(|cpus| ("quota", Value::Float(cpus))));
        let period = self.quota_period.map(|d| Value::text(duration::print(d)));
        fields.extend(period.map(|period| ("quota_period", period)));
        fields.extend(self.together.map(|speed| ("together", Value::Float(speed))));
        fields.extend(self.somaxconn.map(|n| ("somaxconn", Value::Int(n.into()))));
        Value::table(fields)
    }
}

/// Reads a duration that may be left out.
fn span(
    fields: &Fields<'_>,
    key: &str,
    allowed: std::ops::RangeInclusive<Duration>,
) -> Option<Option<Duration>> {
    let Some(node) = fields.get(key) else { return Some(None) };
    let (least, most) = (duration::print(*allowed.start()), duration::print(*allowed.end()));
    let words = format!("a duration from {least} to {most} with a unit, such as \"10us\"");
    duration::read_within(node, allowed, &words).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_file_reads_back() {
        let text = "[machine]\ncores = 64\nwake = \"lognormal(8us, 0.4)\"\nswitch = \"3us\"\nclient = \"1ms\"\nreceive = \"40us\"\nanswer = \"50us\"\ntogether = 0.6\nquota = 1.5\nquota_period = \"50ms\"\nsomaxconn = 128\n";
        let machine = Machine::from_toml(text).unwrap();
        assert_eq!((machine.cores(), machine.somaxconn()), (64, 128));
        assert_eq!(Machine::from_toml(&machine.to_toml()).unwrap(), machine);
        let mistake = |text: &str| Machine::from_toml(text).unwrap_err().to_string();
        assert_eq!(mistake(""), "machine: nothing is not allowed, expected a [machine]");
        for (text, expected) in [
            ("quota = 0", "machine.quota: 0 is not allowed, expected a number in 0.001..=4096"),
            (
                "quota = 0.005",
                "machine.quota: 0.005 is not allowed, expected a quota that comes to 1ms of CPU \
                 time or more in each period of 100ms",
            ),
            (
                "quota = 1\nquota_period = \"2s\"",
                "machine.quota_period: \"2s\" is not allowed, expected a duration from 1ms to 1s \
                 with a unit, such as \"10us\"",
            ),
            (
                "quota_period = \"50ms\"",
                "machine.quota_period: \"50ms\" is not allowed, expected a quota beside it, which \
                 it is the period of",
            ),
        ] {
            assert_eq!(mistake(&format!("[machine]\n{text}")), expected);
        }
        assert_eq!(
            mistake("[machine]\nsomaxconn = 0"),
            "machine.somaxconn: 0 is not allowed, expected a whole number in 1..=65535"
        );
        assert!(mistake("[machine]\nslice = \"1ns\"").starts_with("machine.slice: \"1ns\""));
        assert_eq!(
            mistake("[machine]\nswitch = \"4ms\""),
            "machine.switch: \"4ms\" is not allowed, expected at most the slice of 3ms: the cores \
             would do little but switch"
        );
    }

    /// Whatever this machine is, what is measured of it can be simulated.
    #[test]
    #[cfg(not(model_check))]
    fn what_is_measured_is_a_machine() {
        let machine = Machine::calibrate().unwrap();
        assert!(machine.cores() >= 1);
        assert!(machine.wake().mean() > Duration::ZERO);
        assert_eq!(Machine::from_toml(&machine.to_toml()).unwrap(), machine);
    }
}
