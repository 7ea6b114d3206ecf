//! The ways in which a worker comes to be.

use crate::app::HEAVY_BYTES;
use crate::trials;
use crate::watch::{descriptors, is_alive, leaves_nothing, pids, send, small, stat, until};
use gvl_lab::cluster::Launcher;
use gvl_lab::cluster::snapshot::Role;
use rustix::process::Signal;
use std::collections::BTreeSet;

trials![
    a_template_loads_the_application_once,
    a_template_that_dies_is_started_again,
    a_template_with_threads_is_refused,
    a_template_whose_threads_have_ended_is_none_of_these,
    forks_share_what_their_template_loaded,
    processes_say_what_they_are,
    a_command_is_a_worker_too,
    a_command_that_is_none_says_so,
    a_program_that_is_not_there_is_one_error,
    workers_inherit_nothing,
    threads_are_named_for_their_worker,
];

fn loaded_by(cluster: &gvl_lab::cluster::Cluster) -> u32 {
    let reply = cluster.submit("loaded by", "").unwrap().wait().unwrap();
    String::from_utf8_lossy(&reply.bytes).parse().unwrap()
}

fn a_template_loads_the_application_once() {
    leaves_nothing(|| {
        let cluster = small(3).launcher(Launcher::fork()).build().unwrap();
        let workers = pids(&cluster);
        let template = stat(workers[0]).unwrap().1;
        assert_eq!(stat(template).unwrap().1, std::process::id());
        assert!(workers.iter().all(|pid| stat(*pid).unwrap().1 == template));
        assert_eq!(loaded_by(&cluster), template);
        // A replacement is forked from it too.
        send(workers[0], Signal::KILL);
        until("it is replaced", || {
            let now = pids(&cluster);
            now.len() == 3 && !now.contains(&workers[0])
        });
        assert!(pids(&cluster).iter().all(|pid| stat(*pid).unwrap().1 == template));
        let roles: Vec<_> =
            cluster.snapshot().processes.iter().map(|p| p.role.to_string()).collect();
        assert_eq!(roles, ["master", "template", "worker 0", "worker 1", "worker 2"]);
        // A restart loads it anew.
        cluster.restart().unwrap();
        let next = loaded_by(&cluster);
        assert_ne!(next, template);
        assert!(!is_alive(template));
        assert!(pids(&cluster).iter().all(|pid| stat(*pid).unwrap().1 == next));
    });
}

fn a_template_that_dies_is_started_again() {
    leaves_nothing(|| {
        let cluster = small(2).launcher(Launcher::fork()).build().unwrap();
        let before = pids(&cluster);
        let template = stat(before[0]).unwrap().1;
        send(template, Signal::KILL);
        until("there are others", || {
            let now = pids(&cluster);
            now.len() == 2 && !now.iter().any(|pid| before.contains(pid))
        });
        let next = loaded_by(&cluster);
        assert_ne!(next, template);
        assert_eq!(stat(next).unwrap().1, std::process::id());
    });
}

fn a_template_with_threads_is_refused() {
    leaves_nothing(|| {
        let error = small(2).app("threads").launcher(Launcher::fork()).build().unwrap_err();
        assert!(error.to_string().contains("1 thread of its own"), "{error}");
        assert!(error.to_string().contains("(app's own)"), "{error}");
        // A worker that is no template may have any.
        assert!(small(1).app("threads").build().is_ok());
    });
}

fn a_template_whose_threads_have_ended_is_none_of_these() {
    leaves_nothing(|| {
        for _ in 0..20 {
            small(1).app("joined").launcher(Launcher::fork()).build().unwrap();
        }
    });
}

fn forks_share_what_their_template_loaded() {
    let heavy = HEAVY_BYTES as u64;
    for (launcher, is_shared) in [(Launcher::fork(), true), (Launcher::exec(), false)] {
        let cluster = small(2).app("heavy").launcher(launcher).build().unwrap();
        let processes = cluster.snapshot().processes;
        let workers = processes.iter().filter(|process| matches!(process.role, Role::Worker(_)));
        for worker in workers {
            let memory = worker.memory.expect("it lives, and is this user's");
            let (shares, has) = (memory.shared_bytes >= heavy, memory.private_bytes >= heavy);
            assert_eq!((shares, has), (is_shared, !is_shared), "{memory:?}");
        }
        let addresses: BTreeSet<_> = (0..20)
            .map(|_| cluster.submit("heavy", "").unwrap())
            .map(|task| task.wait().unwrap().bytes)
            .collect();
        assert!(!is_shared || addresses.len() == 1, "{addresses:?}");
    }
}

fn processes_say_what_they_are() {
    for launcher in [Launcher::exec(), Launcher::fork()] {
        let cluster = small(12).name("pool").launcher(launcher).build().unwrap();
        for process in &cluster.snapshot().processes[1..] {
            let title = match process.role {
                Role::Worker(number) => format!("gvl-lab: worker {number} of pool"),
                _ => "gvl-lab: template of the workers of pool".to_owned(),
            };
            assert_eq!(process.command.trim_end(), title);
        }
    }
}

fn a_command_is_a_worker_too() {
    leaves_nothing(|| {
        let launcher = Launcher::command(std::env::current_exe().unwrap()).arg("ignored");
        let cluster = small(2).launcher(launcher).build().unwrap();
        assert_eq!(cluster.submit("echo", "x").unwrap().wait().unwrap().bytes, "x");
    });
}

fn a_command_that_is_none_says_so() {
    leaves_nothing(|| {
        for (program, arguments) in
            [("true", &[][..]), ("false", &[]), ("sh", &["-c", "echo nonsense >&0"])]
        {
            let launcher = Launcher::command(program).args(arguments);
            let error = small(2).launcher(launcher).build().unwrap_err();
            assert!(error.to_string().starts_with("workers: "), "{error}");
        }
    });
}

fn a_program_that_is_not_there_is_one_error() {
    leaves_nothing(|| {
        let launcher = Launcher::command("/nowhere/at all");
        let error = small(2).launcher(launcher).build().unwrap_err();
        assert!(error.to_string().contains("/nowhere/at all"), "{error}");
    });
}

fn workers_inherit_nothing() {
    for launcher in [Launcher::exec(), Launcher::fork()] {
        // A file of this process, and the sockets of the other workers.
        let _file = std::fs::File::open("/dev/zero").unwrap();
        let cluster = small(3).launcher(launcher).build().unwrap();
        assert!(descriptors().iter().any(|path| path == "/dev/zero"));
        for pid in pids(&cluster) {
            let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
            let targets: Vec<_> = fds
                .map(|fd| std::fs::read_link(fd.unwrap().path()).unwrap())
                .map(|path| path.to_string_lossy().into_owned())
                .collect();
            assert!(!targets.iter().any(|path| path == "/dev/zero"), "{targets:?}");
            let sockets = targets.iter().filter(|path| path.starts_with("socket:"));
            assert!(sockets.collect::<std::collections::BTreeSet<_>>().len() <= 1, "{targets:?}");
        }
    }
}

fn threads_are_named_for_their_worker() {
    let cluster = small(2).threads(2, 2).build().unwrap();
    // A thread takes its name as it begins, which may be after its worker serves.
    until("all threads have their names", || {
        let snapshot = cluster.snapshot();
        snapshot.processes[1..].iter().enumerate().all(|(number, process)| {
            let has = |name: &str| process.threads.iter().any(|thread| thread.name == name);
            has(&format!("w{number} t0")) && has(&format!("w{number} t1"))
        })
    });
}
