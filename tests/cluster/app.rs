//! The application of the tests' workers.

use gvl_lab::cluster::App;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Duration;

/// Made when the application is loaded: once in each worker, or once in a template.
static LOADED_BY: OnceLock<u32> = OnceLock::new();

/// Made with a heavy application, and never written again.
static HEAVY: OnceLock<Vec<u8>> = OnceLock::new();

/// Much more than a worker has for itself.
pub const HEAVY_BYTES: usize = 64 << 20;

pub fn load(app: &mut App) -> Result<(), Box<dyn std::error::Error>> {
    if app.setup() == "refuse" {
        return Err("this application does not want to be loaded".into());
    }
    if app.setup() == "exit" {
        std::process::exit(7);
    }
    if app.setup() == "panic" {
        panic!("the application panics as it is loaded");
    }
    if app.setup() == "threads" {
        let own = std::thread::Builder::new().name("app's own".to_owned());
        // It takes its name as it begins.
        let (begins, begun) = std::sync::mpsc::channel();
        own.spawn(move || {
            begins.send(()).expect("the one who waits for it");
            std::thread::sleep(Duration::from_secs(3600));
        })?;
        begun.recv()?;
    }
    if app.setup() == "joined" {
        std::thread::spawn(|| {}).join().expect("it does nothing");
    }
    if app.setup() == "heavy" {
        let heavy = HEAVY.get_or_init(|| vec![7; HEAVY_BYTES]);
        app.handler("heavy", move |_, _| Ok(format!("{:p}", heavy.as_ptr())));
    }
    if app.setup() == "loop" {
        app.async_handler("async echo", |bytes| async move {
            tokio_yield().await;
            Ok(bytes)
        });
        app.async_handler("async hour", |_| async {
            std::future::pending::<()>().await;
            Ok(Vec::new())
        });
    }
    LOADED_BY.get_or_init(std::process::id);
    app.handler("echo", |_, bytes| Ok(bytes));
    app.handler("pid", |_, _| Ok(std::process::id().to_string()));
    app.handler("loaded by", |_, _| Ok(LOADED_BY.get().map_or(0, |pid| *pid).to_string()));
    app.handler("length", |_, bytes| Ok(bytes.len().to_string()));
    app.handler("make", |_, bytes| Ok(vec![7_u8; number(&bytes) as usize]));
    app.handler("fail", |_, bytes| {
        Err::<Vec<u8>, _>(format!("told to fail: {}", String::from_utf8_lossy(&bytes)))
    });
    app.handler("panic", |_, bytes| -> Result<Vec<u8>, String> {
        panic!("told to panic: {}", String::from_utf8_lossy(&bytes))
    });
    app.handler("exit", |_, bytes| -> Result<Vec<u8>, String> {
        std::process::exit(number(&bytes) as i32)
    });
    app.handler("abort", |_, _| -> Result<Vec<u8>, String> { std::process::abort() });
    app.handler("sleep", |cx, bytes| {
        cx.blocking(|| std::thread::sleep(Duration::from_millis(number(&bytes))));
        Ok(Vec::new())
    });
    // Ends at a checkpoint, when it is told to.
    app.handler("obey", |cx, _| -> Result<Vec<u8>, String> {
        loop {
            cx.blocking(|| std::thread::sleep(Duration::from_millis(1)));
            cx.checkpoint();
        }
    });
    // Ends with its process.
    app.handler("hang", |_, _| -> Result<Vec<u8>, String> {
        loop {
            std::hint::spin_loop();
        }
    });
    // Notes that it ran: "file task".
    app.handler("note", |_, bytes| {
        let text = std::str::from_utf8(&bytes).map_err(|e| e.to_string())?;
        let (file, task) = text.rsplit_once(' ').ok_or("no task")?;
        note(file, task).map_err(|e| e.to_string())?;
        if task.parse::<u64>().is_ok_and(|task| task.is_multiple_of(997)) {
            panic!("task {task} panics");
        }
        Ok(task.to_owned())
    });
    app.typed("add", |_, (a, b): (i64, i64)| a.checked_add(b).ok_or("too much".to_owned()));
    app.report(|| serde_json::json!({ "loaded": LOADED_BY.get() }));
    Ok(())
}

async fn tokio_yield() {
    let mut done = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut done, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// Appends a line: one write, so that those of several processes do not mix.
fn note(file: &str, task: &str) -> std::io::Result<()> {
    OpenOptions::new().append(true).open(file)?.write_all(format!("{task}\n").as_bytes())
}

fn number(bytes: &[u8]) -> u64 {
    std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}
