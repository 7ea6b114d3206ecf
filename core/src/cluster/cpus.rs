//! How many processors this process may use: affinity and CPU quota.
//!
//! `model` picks `workers = "auto"` by it. The quota is read from the control groups of version 1
//! and 2, this process's and those above it; what cannot be read or understood is no quota.

use procfs::Current;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The processors that this process may use.
///
/// ```
/// let cpus = gvl_lab::cluster::cpus::Cpus::here();
/// assert!(cpus.available >= 1 && cpus.affinity <= cpus.online);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cpus {
    /// Processors that the machine runs.
    pub online: u32,
    /// Those of them that this process may run on.
    pub affinity: u32,
    /// So many processors' time, at most, all threads together.
    pub quota: Option<f64>,
    /// What there is to use: the affinity, or the quota rounded down where that is less; at least 1.
    pub available: u32,
}

impl Cpus {
    /// Looks at this process and this machine.
    pub fn here() -> Self {
        let online = procfs::CpuInfo::current().map_or(0, |info| info.num_cores() as u32);
        let mask = rustix::thread::sched_getaffinity(None);
        let affinity = mask.map_or(online, |mask| mask.count()).max(1);
        Self::read(Path::new("/"), affinity, online.max(affinity))
    }

    /// Those of a machine of so many, all of them to use.
    pub fn of_machine(cores: u32) -> Self {
        Self { online: cores, affinity: cores, quota: None, available: cores.max(1) }
    }

    /// The same with a CPU quota of so many processors' time.
    ///
    /// ```
    /// use gvl_lab::cluster::cpus::Cpus;
    /// let cpus = Cpus::of_machine(8).with_quota(2.5);
    /// assert_eq!((cpus.available, cpus.puma_auto()), (2, 2));
    /// ```
    pub fn with_quota(self, quota: f64) -> Self {
        let available = self.affinity.min(quota as u32).max(1);
        Self { quota: Some(quota), available, ..self }
    }

    /// Looks at the control groups below `root`, which is `/` outside of tests.
    pub fn read(root: &Path, affinity: u32, online: u32) -> Self {
        let cpus = Self { online, affinity, quota: None, available: affinity.max(1) };
        quota(root).map_or(cpus, |quota| cpus.with_quota(quota))
    }

    /// What Puma's `workers :auto` comes to: the processors rounded down, where half of one gives 0
    /// and so single mode (Puma 7.2 `dsl.rb`, concurrent-ruby's `available_processor_count`).
    pub fn puma_auto(&self) -> u32 {
        let quota = self.quota.unwrap_or(f64::INFINITY);
        f64::from(self.affinity).min(quota) as u32
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} processors", self.available, self.online)?;
        if self.affinity < self.online {
            write!(f, ", affinity {}", self.affinity)?;
        }
        self.quota.map_or(Ok(()), |quota| write!(f, ", quota {quota}"))
    }
}

/// The smallest quota of this process's control groups.
fn quota(root: &Path) -> Option<f64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let quotas = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next())
        else {
            return Vec::new();
        };
        match controllers {
            "" => of_group(&mounts, root, group, |fields| fields == "cgroup2", of_v2),
            named if named.split(',').any(|name| name == "cpu") => {
                of_group(&mounts, root, group, |kind| kind == "cgroup", of_v1)
            }
            _ => Vec::new(),
        }
    });
    quotas.min_by(f64::total_cmp)
}

/// The quotas of a group and of those above it, up to where its hierarchy is mounted.
fn of_group(
    mounts: &str,
    root: &Path,
    group: &str,
    is_kind: impl Fn(&str) -> bool,
    read: impl Fn(&Path) -> Option<f64>,
) -> Vec<f64> {
    let mount = mounts.lines().find_map(|line| mount(line, &is_kind));
    let Some((inside, at)) = mount else { return Vec::new() };
    // What is mounted may be a part of the hierarchy, as in a container.
    let group = Path::new(group);
    let below = group.strip_prefix(&inside).unwrap_or(Path::new(""));
    let at = root.join(at.strip_prefix("/").unwrap_or(&at));
    let mut folder = at.join(below.strip_prefix("/").unwrap_or(below));
    let mut quotas = Vec::new();
    while folder.starts_with(&at) {
        quotas.extend(read(&folder));
        if !folder.pop() {
            break;
        }
    }
    quotas
}

/// Of a line of mountinfo: which part of a hierarchy is mounted, and where; if it is of that kind and
/// has the processors.
fn mount(line: &str, is_kind: impl Fn(&str) -> bool) -> Option<(PathBuf, PathBuf)> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (inside, at) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (kind, _, options) = (after.next()?, after.next()?, after.next().unwrap_or(""));
    let has_cpu = kind == "cgroup2" || options.split(',').any(|option| option == "cpu");
    (is_kind(kind) && has_cpu).then(|| (inside.into(), at.into()))
}

/// `cpu.max`: quota and period, or `max`.
fn of_v2(folder: &Path) -> Option<f64> {
    let text = fs::read_to_string(folder.join("cpu.max")).ok()?;
    let mut parts = text.split_whitespace();
    ratio(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?)
}

/// `cpu.cfs_quota_us`, -1 for none, and `cpu.cfs_period_us`.
fn of_v1(folder: &Path) -> Option<f64> {
    let number = |file: &str| -> Option<i64> {
        fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
    };
    ratio(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
}

fn ratio(quota: i64, period: i64) -> Option<f64> {
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these files; `affinity` of 12 processors.
    fn machine(name: &str, files: &[(&str, &str)], affinity: u32) -> Cpus {
        let root = std::env::temp_dir().join(format!("gvl_lab cpus {} {name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let cpus = Cpus::read(&root, affinity, 12);
        fs::remove_dir_all(&root).unwrap_or(());
        cpus
    }

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const V1: &str = "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";

    #[test]
    fn the_smallest_quota_on_the_way_up_counts() {
        let cpus = machine(
            "v2",
            &[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("proc/self/mountinfo", V2),
                ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/a/cpu.max", "250000 100000\n"),
            ],
            12,
        );
        assert_eq!((cpus.quota, cpus.available, cpus.puma_auto()), (Some(2.5), 2, 2));
        assert_eq!(cpus.to_string(), "2 of 12 processors, quota 2.5");
    }

    #[test]
    fn half_a_processor_is_one_and_none_for_puma() {
        let cpus = machine(
            "v1",
            &[
                ("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/docker/x\n0::/x\n"),
                ("proc/self/mountinfo", V1),
                ("sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "50000\n"),
                ("sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n"),
            ],
            12,
        );
        assert_eq!((cpus.quota, cpus.available, cpus.puma_auto()), (Some(0.5), 1, 0));
    }

    #[test]
    fn a_container_sees_only_its_part() {
        let mounted = "31 23 0:27 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let cpus = machine(
            "container",
            &[
                ("proc/self/cgroup", "0::/docker/x\n"),
                ("proc/self/mountinfo", mounted),
                ("sys/fs/cgroup/cpu.max", "100000 100000\n"),
            ],
            12,
        );
        assert_eq!((cpus.quota, cpus.available), (Some(1.0), 1));
    }

    #[test]
    fn both_versions_at_once_are_read() {
        let cpus = machine(
            "hybrid",
            &[
                ("proc/self/cgroup", "3:cpu:/x\n0::/y\n"),
                (
                    "proc/self/mountinfo",
                    &format!("{V1}{}", V2.replace("cgroup rw", "cgroup/unified rw")),
                ),
                ("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1"),
                ("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000"),
                ("sys/fs/cgroup/unified/y/cpu.max", "300000 100000"),
            ],
            2,
        );
        assert_eq!((cpus.quota, cpus.available), (Some(3.0), 2));
        assert_eq!(cpus.to_string(), "2 of 12 processors, affinity 2, quota 3");
    }

    #[test]
    fn what_makes_no_sense_is_no_quota() {
        for (n, text) in ["", "max", "x y", "100000 0", "-5 100000", "100000"].iter().enumerate() {
            let cpus = machine(
                &format!("odd {n}"),
                &[
                    ("proc/self/cgroup", "0::/../..\nnonsense\n"),
                    ("proc/self/mountinfo", &format!("nonsense\n{V2}")),
                    ("sys/fs/cgroup/cpu.max", text),
                ],
                4,
            );
            assert_eq!((cpus.quota, cpus.available), (None, 4), "{text:?}");
        }
        assert_eq!(machine("nothing", &[], 3).available, 3);
    }

    #[test]
    fn this_machine_has_some() {
        let cpus = Cpus::here();
        assert!(cpus.online >= 1 && cpus.affinity >= 1 && cpus.available >= 1, "{cpus:?}");
        // The standard library reads the affinity and the quota too, and rounds as it likes.
        let std = std::thread::available_parallelism().unwrap().get() as u32;
        assert!(std <= cpus.affinity.max(1));
    }
}
