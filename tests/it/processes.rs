//! `--ps`: the processes of each row before the load and under it.

use crate::command::Folder;
use serde_json::Value as Json;

const CLUSTER: &str = r#"
repeat = 2
[workload]
steps = [{ cpu = "200us" }, { io = "2ms" }]
[load]
closed = { users = 8, requests = 400 }
[[model]]
puma = { workers = 2, threads = 3 }
[[model]]
puma = { threads = 2 }
"#;

/// A line of the table of threads.
#[derive(Debug)]
struct Line {
    role: String,
    pid: u32,
    ppid: u32,
    lwp: u32,
    nlwp: usize,
    name: String,
}

/// The lines below a title, up to the table of memory.
fn lines(text: &str, title: &str) -> Vec<Line> {
    let (_, below) = text.split_once(&format!("\n{title}:\n")).expect("a title");
    let mut lines = below.lines();
    let head: Vec<_> = lines.next().expect("a head").split_whitespace().collect();
    assert_eq!(head, ["ROLE", "PID", "PPID", "LWP", "C", "NLWP", "S", "TIME", "NAME"]);
    lines.map_while(line).collect()
}

/// `None` for an empty line. A worker's role is two words, and a name may be several.
fn line(text: &str) -> Option<Line> {
    let words: Vec<_> = text.split_whitespace().collect();
    let (role, rest) = words.split_at(if *words.first()? == "worker" { 2 } else { 1 });
    let figure = |n: usize| rest[n].parse::<u32>().expect("a figure");
    Some(Line {
        role: role.join(" "),
        pid: figure(0),
        ppid: figure(1),
        lwp: figure(2),
        nlwp: figure(4) as usize,
        name: rest[7..].join(" "),
    })
}

#[test]
fn threads_are_named_by_worker_and_counted_by_process() {
    let ran = Folder::with("x.toml", CLUSTER).run(&["run", "x.toml", "--ps"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    for title in ["puma 2x3, before", "puma 2x3, under load"] {
        let lines = lines(&ran.out, title);
        let processes: Vec<_> = lines.chunk_by(|a, b| a.pid == b.pid).collect();
        let roles: Vec<_> = processes.iter().map(|of| of[0].role.as_str()).collect();
        assert_eq!(roles, ["master", "worker 0", "worker 1"], "{}", ran.out);
        let master = lines[0].pid;
        for of in processes {
            let pid = of[0].pid;
            assert!(of.iter().all(|line| line.nlwp == of.len()), "{of:?}");
            assert!(of.iter().any(|line| line.lwp == pid), "the main thread: {of:?}");
            assert_eq!(of[0].ppid == master, pid != master, "{of:?}");
        }
    }
    let under_load = lines(&ran.out, "puma 2x3, under load");
    for (role, names) in
        [("worker 0", ["w0 t0", "w0 t1", "w0 t2"]), ("worker 1", ["w1 t0", "w1 t1", "w1 t2"])]
    {
        for name in names {
            let of_name = under_load.iter().filter(|line| line.name == name);
            assert_eq!(of_name.map(|line| &*line.role).collect::<Vec<_>>(), [role], "{}", ran.out);
        }
    }
    // A single process is the master itself.
    let single = lines(&ran.out, "puma 0x2, under load");
    assert!(single.iter().all(|line| line.role == "master" && line.pid == single[0].pid));
    assert_eq!(single.iter().filter(|line| ["puma 0", "puma 1"].contains(&&*line.name)).count(), 2);
}

#[test]
fn the_document_has_the_processes_of_the_first_replication() {
    let folder = Folder::with("x.toml", CLUSTER);
    let document = |args: &[&str]| -> Json {
        let ran = folder.run(args);
        assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
        serde_json::from_str(&ran.out).expect("one document")
    };
    let json = document(&["run", "x.toml", "--ps", "--json"]);
    let row = &json["rows"][0];
    for at in ["before", "under_load"] {
        let processes = row["snapshots"][at]["processes"].as_array().expect("processes");
        let roles: Vec<_> = processes.iter().map(|process| &process["role"]).collect();
        assert_eq!(roles, ["master", "worker 0", "worker 1"]);
        for process in processes {
            assert_eq!(
                process["threads"].as_array().map(|t| t.len() as u64),
                process["nlwp"].as_u64()
            );
            for figure in ["rss_bytes", "pss_bytes", "shared_bytes", "private_bytes"] {
                assert!(process["memory"][figure].is_u64(), "{process}");
            }
        }
        for (n, worker) in processes[1..].iter().enumerate() {
            // Of two replications: which is the first, their order does not tell.
            let pids = row["by_worker"][n]["pids"].as_array().expect("two replications");
            assert!(pids.len() == 2 && pids.contains(&worker["pid"]), "{row}");
        }
    }
    let pids = |at: &str| -> Vec<Json> {
        let all = row["snapshots"][at]["processes"].as_array().expect("processes");
        all.iter().map(|process| process["pid"].clone()).collect()
    };
    assert_eq!(pids("before"), pids("under_load"), "one replication is looked at");
    let single = &json["rows"][1]["snapshots"]["under_load"]["processes"];
    assert_eq!((&single[0]["role"], single.as_array().map(Vec::len)), (&"master".into(), Some(1)));
    let json = document(&["run", "x.toml", "--json"]);
    assert!(json["rows"][0].get("snapshots").is_none(), "nobody asked");
}
