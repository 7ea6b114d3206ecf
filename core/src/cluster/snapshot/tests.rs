//! Against this very process, and against `ps` where there is one.

use super::*;
use std::process::Command;
use std::sync::mpsc::channel;

fn own() -> Snapshot {
    Snapshot::of(&[(std::process::id(), Role::Master)])
}

#[test]
fn threads_are_those_that_ps_shows() {
    let (stop, stopped) = channel::<()>();
    let (begun, begins) = channel();
    let thread = std::thread::Builder::new().name("w7 t11".to_owned()).spawn(move || {
        begun.send(()).unwrap();
        let _ = stopped.recv();
    });
    begins.recv().unwrap();
    let snapshot = own();
    let process = &snapshot.processes[0];
    let named = process.threads.iter().find(|thread| thread.name == "w7 t11").unwrap();
    assert_eq!(process.nlwp as usize, process.threads.len());
    assert_eq!(process.ppid, std::os::unix::process::parent_id());
    let pid = process.pid.to_string();
    let line = format!("{} w7 t11", named.tid);
    let began = std::time::Instant::now();
    loop {
        let ps = Command::new("ps").args(["-L", "-o", "lwp=,comm=", "-p", &pid]).output();
        let Ok(output) = ps else {
            println!("no ps here: not compared with it");
            break;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        if text.lines().any(|l| l.trim() == line) {
            break;
        }
        // It misses some where a thread of another test ends meanwhile.
        assert!(began.elapsed() < Duration::from_secs(60), "{line} in {text}");
    }
    drop(stop);
    thread.unwrap().join().unwrap();
    assert!(!own().processes[0].threads.iter().any(|thread| thread.name == "w7 t11"));
}

#[test]
fn memory_of_its_own_is_private() {
    let private = || own().processes[0].memory.unwrap().private_bytes;
    let before = private();
    let bytes = std::hint::black_box(vec![1_u8; 64 << 20]);
    let after = private();
    // Other tests free memory meanwhile, though not as much.
    assert!(after >= before + (48 << 20), "{before} and {after}");
    drop(bytes);
    let memory = own().processes[0].memory.unwrap();
    assert!(memory.pss_bytes <= memory.rss_bytes);
    assert!(memory.shared_bytes + memory.private_bytes <= memory.rss_bytes + (1 << 20));
}

#[test]
fn a_process_that_is_gone_is_left_out() {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    // A zombie is there, without memory.
    while Snapshot::of(&[(pid, Role::Worker(0))]).processes[0].state != 'Z' {
        std::thread::yield_now();
    }
    assert_eq!(Snapshot::of(&[(pid, Role::Worker(0))]).processes[0].memory, None);
    child.wait().unwrap();
    assert_eq!(Snapshot::of(&[(pid, Role::Worker(0)), (u32::MAX, Role::Template)]).processes, []);
}

#[test]
fn shares_are_of_the_time_between_two() {
    let mut earlier = own();
    let mut later = earlier.clone();
    let (first, last) = (&mut earlier.processes[0], &mut later.processes[0]);
    let s = Duration::from_secs;
    (first.cpu, first.age, last.cpu, last.age) = (s(10), s(100), s(13), s(102));
    first.threads.truncate(1);
    last.threads.truncate(1);
    (first.threads[0].cpu, first.threads[0].age) = (s(1), s(50));
    (last.threads[0].cpu, last.threads[0].age) = (s(2), s(52));
    let since = later.since(&earlier);
    assert_eq!(since.processes[0].cpu_share, Some(1.5));
    assert_eq!(since.processes[0].threads[0].cpu_share, Some(0.5));
}

#[test]
fn it_prints_as_ps_does_and_as_json() {
    let snapshot = own();
    let text = snapshot.to_string();
    let first = text.lines().next().unwrap();
    let columns: Vec<_> = first.split_whitespace().collect();
    assert_eq!(columns, ["ROLE", "PID", "PPID", "LWP", "C", "NLWP", "S", "TIME", "NAME"]);
    assert!(text.contains("RSS MiB") && !text.contains("all"), "{text}");
    let json = serde_json::to_value(&snapshot).unwrap();
    assert_eq!(json["processes"][0]["role"], "master");
    assert!(json["processes"][0]["cpu_ms"].is_number());
}
