//! Processes that are started, told, ended and counted.
//!
//! A template needs a `main` of its own: `tests/cluster` has one.

use super::orders::{Order, Told, put, take};
use super::socket::send_some;
use super::*;
use crate::cluster::setup::Serving;
use crate::executor::Exit;
use bytes::BytesMut;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::future::Future;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};
use tokio::task::LocalSet;

/// What the peer of a test is to be, from the environment.
const PEER: &str = "GVL_LAB_TEST_PEER";

/// Where a peer says that it got an order.
const HEARD: &str = "GVL_LAB_TEST_HEARD";

/// The arguments with which this program is a peer of its own tests.
const AS_PEER: [&str; 5] =
    ["--exact", "cluster::launch::tests::peer", "--include-ignored", "--nocapture", "-q"];

fn setup(app: String) -> Setup {
    Setup {
        name: "pool".to_owned(),
        number: 0,
        frame_max: wire::FRAME_MAX,
        gvl: serde_json::Value::Null,
        serving: Serving::Threads { min: 1, max: 1, one_task: false },
        accept: None,
        workers: 1,
        app,
    }
}

fn pad(launcher: Launcher) -> Launchpad {
    Launchpad::new(launcher, setup("the application's".to_owned()))
}

fn shell(script: &str) -> Launchpad {
    pad(Launcher::command("sh").args(["-c", script]))
}

fn this_program_as(peer: &str) -> Launcher {
    Launcher::command(std::env::current_exe().unwrap()).args(AS_PEER).env(PEER, peer)
}

/// Runs a test on a thread as the cluster's.
fn on_one_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

/// Runs a test in a process of its own, so that what it counts is its own.
fn in_a_process(peer: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    assert!(command.args(AS_PEER).env(PEER, peer).status().unwrap().success(), "{peer}");
}

/// The children of this process, zombies too.
fn children() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |task: io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.unwrap().path().join("children")).unwrap()
    };
    let all: Vec<_> = tasks.map(of).collect();
    all.concat().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn descriptors(pid: u32) -> Vec<String> {
    let all = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let mut all: Vec<_> = all.map(|fd| fd.unwrap().file_name().into_string().unwrap()).collect();
    all.sort();
    all
}

#[test]
#[ignore = "what the other tests start"]
fn peer() {
    let Ok(role) = std::env::var(PEER) else { return };
    if let Some(orders) = role.strip_prefix("template of ") {
        return answer(orders.parse().unwrap());
    }
    match role.as_str() {
        "worker" => tell_what_it_was_told(),
        "counts" => on_one_thread(launch_many()),
        "ignores" => on_one_thread(ignore_children()),
        "adopts" => on_one_thread(adopt()),
        other => panic!("{other}"),
    }
}

/// The socket that a process is started with.
fn given() -> UnixStream {
    UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap())
}

/// As a worker: tells its setup, then whoever connects to its listener that it was reached.
fn tell_what_it_was_told() {
    let mut socket = given();
    let (setup, listener) = worker::read_setup(&socket).unwrap();
    writeln!(socket, "{} {} {}", setup.number, setup.app, std::env::var(worker::ROLE).unwrap())
        .unwrap();
    if let Some(listener) = listener {
        let (mut caller, _) = UnixListener::from(listener).accept().unwrap();
        caller.write_all(b"reached").unwrap();
    }
}

#[test]
fn a_worker_gets_its_setup_and_the_listener() {
    on_one_thread(async {
        let address = SocketAddr::from_abstract_name(format!("gvl-lab {}", std::process::id()));
        let address = address.unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let mut pad = pad(this_program_as("worker"));
        let (mut process, mut socket) = pad.launch(3, Some(listener.as_fd())).await.unwrap();
        // The worker's is the last one.
        drop(listener);
        let (mut reached, mut told) = (String::new(), String::new());
        let mut caller = UnixStream::connect_addr(&address).unwrap();
        caller.read_to_string(&mut reached).unwrap();
        assert_eq!(reached, "reached");
        assert_eq!(process.exited().await, Exit::Status(0));
        socket.set_nonblocking(false).unwrap();
        socket.read_to_string(&mut told).unwrap();
        assert_eq!(told, "3 the application's worker\n");
    });
}

#[test]
fn an_end_is_told_as_it_was() {
    on_one_thread(async {
        for (script, exit) in [
            ("exit 0", Exit::Status(0)),
            ("exit 7", Exit::Status(7)),
            ("kill -TERM $$", Exit::Signal(15)),
            ("kill -KILL $$", Exit::Signal(9)),
        ] {
            let (mut process, _socket) = shell(script).launch(0, None).await.unwrap();
            assert_eq!(process.exited().await, exit, "{script}");
            assert_eq!(process.exited().await, exit, "{script}, asked again");
            process.kill();
        }
    });
}

#[test]
fn waiting_for_an_end_can_be_given_up() {
    on_one_thread(async {
        let (mut process, _socket) = shell("exec sleep 1000").launch(0, None).await.unwrap();
        for _ in 0..3 {
            tokio::select! {
                biased;
                exit = process.exited() => panic!("it has ended: {exit}"),
                () = tokio::task::yield_now() => {}
            }
        }
        process.kill();
        assert_eq!(process.exited().await, Exit::Signal(9));
    });
}

#[test]
fn nothing_of_the_master_is_inherited() {
    on_one_thread(async {
        // As a library in C would open it: `exec` leaves it open.
        let file = std::fs::File::open("/dev/zero").unwrap();
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
        let listener = UnixStream::pair().unwrap().0;
        let mut pad = pad(Launcher::command("sleep").arg("1000"));
        let (first, _one) = pad.launch(0, Some(listener.as_fd())).await.unwrap();
        let (second, _two) = pad.launch(1, None).await.unwrap();
        let began = std::time::Instant::now();
        for process in [&first, &second] {
            // It has one more while it loads its libraries.
            while descriptors(process.pid()) != ["0", "1", "2"] {
                assert!(
                    began.elapsed() < Duration::from_secs(60),
                    "{:?}",
                    descriptors(process.pid())
                );
                tokio::task::yield_now().await;
            }
        }
    });
}

#[test]
fn a_program_that_is_not_there_is_named() {
    on_one_thread(async {
        let launched = pad(Launcher::command("/nowhere/at all")).launch(0, None).await;
        let error = launched.err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().starts_with("/nowhere/at all: "), "{error}");
    });
}

#[test]
fn a_program_without_init_is_told_what_it_lacks() {
    let error = Launchpad::check(&Launcher::exec(), &setup(String::new())).unwrap_err();
    assert!(error.to_string().contains("gvl_lab::init(...) as the first line of main"), "{error}");
    assert!(Launchpad::check(&Launcher::command("sh"), &setup(String::new())).is_ok());
}

#[test]
fn who_does_not_read_a_long_setup_holds_nobody_up() {
    on_one_thread(async {
        let long = setup("x".repeat(4 << 20));
        let mut deaf = Launchpad::new(Launcher::command("sleep").arg("1000"), long);
        let mut other = shell("exit 3");
        let other = async {
            let (mut process, _socket) = other.launch(0, None).await.unwrap();
            process.exited().await
        };
        tokio::select! {
            biased;
            launched = deaf.launch(0, None) => panic!("it has read: {}", launched.is_ok()),
            exit = other => assert_eq!(exit, Exit::Status(3)),
        }
    });
}

#[test]
fn who_ends_before_it_was_told_says_how_by_its_exit() {
    on_one_thread(async {
        let long = setup("x".repeat(4 << 20));
        let mut pad = Launchpad::new(Launcher::command("false"), long);
        let (mut process, _socket) = pad.launch(0, None).await.unwrap();
        assert_eq!(process.exited().await, Exit::Status(1));
    });
}

#[test]
fn launches_leave_no_process_and_no_descriptor() {
    in_a_process("counts");
}

/// 200 launches of processes that end by themselves, are killed, and are dropped.
async fn launch_many() {
    // What the process has for its runtime is there before anything is counted.
    drop(shell("exit 0").launch(0, None).await.unwrap());
    let before = descriptors(std::process::id()).len();
    let mut ends = shell("exit 0");
    let mut stays = shell("exec sleep 1000");
    for number in 0..50 {
        let (mut process, _socket) = ends.launch(number, None).await.unwrap();
        assert_eq!(process.exited().await, Exit::Status(0));
        let (mut process, _socket) = stays.launch(number, None).await.unwrap();
        process.kill();
        assert_eq!(process.exited().await, Exit::Signal(9));
        drop(ends.launch(number, None).await.unwrap());
        drop(stays.launch(number, None).await.unwrap());
    }
    assert_eq!(children(), [0; 0]);
    assert_eq!(descriptors(std::process::id()).len(), before);
}

#[test]
fn where_the_system_reaps_children_nobody_knows_how_they_ended() {
    in_a_process("ignores");
}

async fn ignore_children() {
    // SAFETY: ignoring a signal runs no code of ours in a handler.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
    }
    let (mut process, _socket) = shell("exec sleep 1000").launch(0, None).await.unwrap();
    process.kill();
    assert_eq!(process.exited().await, Exit::Unknown);
    drop(shell("exec sleep 1000").launch(0, None).await.unwrap());
    assert_eq!(children(), [0; 0]);
}

/// Hears of the orders that a template got.
struct Heard(tokio::net::UnixListener, String);

impl Heard {
    fn new(test: &str) -> Self {
        let name = format!("gvl-lab {test} {}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(tokio::net::UnixListener::from_std(listener).unwrap(), name)
    }

    /// Its template answers when it has so many orders.
    fn pad(&self, orders: usize) -> Launchpad {
        pad(this_program_as(&format!("template of {orders}")).env(HEARD, &self.1).preload())
    }

    /// Waits for an order; the process that got it.
    async fn order(&self) -> Pid {
        let (teller, _) = self.0.accept().await.unwrap();
        Pid::from_raw(teller.peer_cred().unwrap().pid().unwrap()).unwrap()
    }
}

/// As a template: answers when it has so many orders. The last worker exits with 42 when its socket
/// ends, those before it wait for ever.
fn answer(orders: usize) {
    let control = given();
    worker::read_setup(&control).unwrap();
    let say = |told: &Told, handle: Option<&OwnedFd>| {
        send_some(&control, &put(told), handle.map(AsFd::as_fd)).unwrap();
    };
    say(&Told::Ready, None);
    let sockets: Vec<_> = (0..orders).map(|_| ordered(&control)).collect();
    let mut workers = Vec::new();
    for socket in sockets {
        let is_last = workers.len() + 1 == orders;
        let script = if is_last { "read setup; exit 42" } else { "exec sleep 1000" };
        let mut command = Command::new("sh");
        workers.push(command.args(["-c", script]).stdin(Stdio::from(socket)).spawn().unwrap());
    }
    for worker in &workers {
        let pid = Pid::from_child(worker);
        let handle = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        say(&Told::Forked { pid: worker.id() }, Some(&handle));
    }
    for worker in &mut workers {
        say(&exited(worker), None);
    }
    assert_eq!((&control).read(&mut [0]).unwrap(), 0);
}

/// Waits for an order, and says that it came.
fn ordered(control: &UnixStream) -> OwnedFd {
    let mut buf = BytesMut::new();
    let mut socket = None;
    let order = loop {
        if let Some(order) = take(&mut buf) {
            break order.unwrap();
        }
        let mut byte = [0];
        assert_eq!(worker::receive(control, &mut byte, &mut socket).unwrap(), 1);
        buf.extend_from_slice(&byte);
    };
    assert!(matches!(order, Order::Fork));
    let heard = std::env::var(HEARD).unwrap();
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(heard).unwrap()).unwrap();
    socket.unwrap()
}

fn exited(worker: &mut Child) -> Told {
    use std::os::unix::process::ExitStatusExt;
    let status = worker.wait().unwrap();
    Told::Exited { pid: worker.id(), status: status.code(), signal: status.signal() }
}

#[test]
fn a_fork_that_nobody_waits_for_is_not_taken_for_the_next() {
    on_one_thread(async {
        let heard = Heard::new("next");
        let mut pad = heard.pad(2);
        give_up_a_launch(&mut pad, &heard).await;
        let (launched, _) = tokio::join!(pad.launch(1, None), heard.order());
        let (mut process, socket) = launched.unwrap();
        drop(socket);
        // The other one would have to be killed for it to end; the template tells them in order.
        assert_eq!(process.exited().await, Exit::Status(42));
        assert!(pad.template().is_some());
        pad.end().await;
    });
}

#[test]
fn a_template_that_is_gone_is_replaced_at_the_next_launch() {
    on_one_thread(async {
        let heard = Heard::new("gone");
        let mut pad = heard.pad(3);
        give_up_a_launch(&mut pad, &heard).await;
        let killed = async {
            // It has the order, and does not answer it.
            let first = heard.order().await;
            kill_process(first, Signal::KILL).unwrap();
            let second = heard.order().await;
            assert_ne!(first, second);
            second
        };
        let second = tokio::select! {
            biased;
            second = killed => second,
            launched = pad.launch(0, None) => panic!("it was answered: {:?}", launched.map(|(process, _)| process.pid())),
        };
        kill_process(second, Signal::KILL).unwrap();
        // Nobody has heard of that yet, and the launch does not fail for it.
        give_up_a_launch(&mut pad, &heard).await;
        assert_ne!(pad.template().unwrap().cast_signed(), second.as_raw_nonzero().get());
        give_up_a_launch(&mut pad, &heard).await;
        let (launched, _) = tokio::join!(pad.launch(1, None), heard.order());
        let (mut process, socket) = launched.unwrap();
        drop(socket);
        assert_eq!(process.exited().await, Exit::Status(42));
    });
}

/// Launches a worker, and waits for it only until its template has the order.
async fn give_up_a_launch(pad: &mut Launchpad, heard: &Heard) {
    tokio::select! {
        biased;
        _ = heard.order() => {}
        launched = pad.launch(0, None) => panic!("it was answered: {:?}", launched.map(|(process, _)| process.pid())),
    }
}

#[test]
fn a_master_that_adopts_the_workers_of_a_template_reaps_them() {
    in_a_process("adopts");
}

async fn adopt() {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let heard = Heard::new("adopt");
    let mut pad = heard.pad(1);
    let (launched, _) = tokio::join!(pad.launch(1, None), heard.order());
    let (mut process, socket) = launched.unwrap();
    drop(pad);
    // Its socket ends: it exits by itself, as the child of this process.
    drop(socket);
    assert_eq!(process.exited().await, Exit::Status(42));
    assert_eq!(children(), [0; 0]);
}
