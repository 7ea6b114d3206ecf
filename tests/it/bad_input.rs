//! Bad input: status 2, nothing on standard output, one line for each mistake that names the field
//! and what is allowed. All of it in little memory.

use crate::command::{Folder, SHORT};
use std::fs::File;
use std::os::unix::fs::symlink;

const DURATION: &str = "a duration from 0ns to 24h with a unit, such as \"100ms\", or \
     \"exp(100ms)\", \"lognormal(80ms, 0.5)\" (sigma 0 to 4), { empirical = [\"1ms\", ...] }";
const STEPS: &str = "one of cpu, io, native, hold, checkout, repeat, choose, fail";
const FILE: &str = "a readable file of TOML or JSON";

/// An experiment with other parts than the sound ones.
#[derive(Clone, Copy)]
struct Parts<'a> {
    steps: &'a str,
    load: &'a str,
    model: &'a str,
    rest: &'a str,
}

const SOUND: Parts<'_> = Parts {
    steps: r#"[{ io = "1ms" }]"#,
    load: "closed = { users = 2, requests = 4 }",
    model: "puma = { threads = 2 }",
    rest: "",
};

impl Parts<'_> {
    fn toml(self) -> String {
        let Self { steps, load, model, rest } = self;
        format!("[workload]\nsteps = {steps}\n[load]\n{load}\n[[model]]\n{model}\n{rest}\n")
    }
}

/// Runs the folder's file and compares the lines, each without the file's name before it.
fn check_file(folder: &Folder, file: &str, expected: &[&str]) {
    let ran = folder.run_in_little_memory(&["run", file]);
    let expected: Vec<_> = expected.iter().map(|line| format!("{file}: {line}")).collect();
    assert_eq!(ran.complaints(), expected, "{file}");
    assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{file}");
}

fn check_text(text: impl AsRef<[u8]>, expected: &[&str]) {
    check_file(&Folder::with("x.toml", text), "x.toml", expected);
}

fn check(parts: Parts<'_>, expected: &[&str]) {
    check_text(parts.toml(), expected);
}

fn check_steps(steps: &str, expected: &[&str]) {
    check(Parts { steps, ..SOUND }, expected);
}

fn check_load(load: &str, expected: &[&str]) {
    check(Parts { load, ..SOUND }, expected);
}

fn check_model(model: &str, expected: &[&str]) {
    check(Parts { model, ..SOUND }, expected);
}

/// The line of a value that is not allowed.
fn not(field: &str, given: &str, expected: &str) -> String {
    format!("{field}: {given} is not allowed, expected {expected}")
}

#[test]
fn the_sound_parts_are_sound() {
    let folder = Folder::with("x.toml", SOUND.toml());
    assert_eq!(folder.run_in_little_memory(&["run", "x.toml"]).status, Some(0));
}

#[test]
fn unknown_steps_are_told_with_the_known_ones() {
    let line = not("workload.steps[0]", "a table of {sleep}", &format!("a step: {STEPS}"));
    check_steps(r#"[{ sleep = "1ms" }]"#, &[&line]);
    let line = not("workload.steps[0]", "a table of {io, cpu}", &format!("one step: only {STEPS}"));
    check_steps(r#"[{ io = "1ms", cpu = "1ms" }]"#, &[&line]);
    check_steps("[]", &[&not("workload.steps", "a list of 0", "at least one step")]);
    check_steps("5", &[&not("workload.steps", "5", "a list of steps")]);
}

#[test]
fn durations_need_a_unit_and_a_number_that_is_one() {
    for (written, given) in [
        ("\"100\"", "\"100\""),
        ("100", "100"),
        ("1.5", "1.5"),
        ("\"-5ms\"", "\"-5ms\""),
        ("-5", "-5"),
        ("nan", "NaN"),
        ("inf", "inf"),
        ("\"NaNms\"", "\"NaNms\""),
        ("\"25h\"", "\"25h\""),
        ("\"5 ms\"", "\"5 ms\""),
        ("\"5mins\"", "\"5mins\""),
        ("\"exp(5)\"", "\"exp(5)\""),
        ("\"exp(-1ms)\"", "\"exp(-1ms)\""),
        ("\"lognormal(1ms)\"", "\"lognormal(1ms)\""),
        ("\"lognormal(1ms, nan)\"", "\"lognormal(1ms, nan)\""),
        ("\"lognormal(1ms, -1)\"", "\"lognormal(1ms, -1)\""),
        ("true", "true"),
        ("[]", "a list of 0"),
    ] {
        let line = not("workload.steps[0].io", given, DURATION);
        check_steps(&format!("[{{ io = {written} }}]"), &[&line]);
    }
    let field = "workload.steps[0].io.empirical";
    check_steps(
        "[{ io = { empirical = [] } }]",
        &[&not(field, "a list of 0", "1 to 100000 durations")],
    );
}

#[test]
fn every_mistake_of_a_file_is_told() {
    check(
        Parts {
            steps: r#"[{ sleep = "1ms" }, { cpu = "1" }, { fail = 200 }]"#,
            load: "closed = { users = 0, requests = 4 }",
            model: "puma = { thread = 2 }",
            rest: "[machines]",
        },
        &[
            &not(
                "machines",
                "this key",
                "one of name, seed, repeat, machine, workload, load, warmup, model",
            ),
            &not("workload.steps[0]", "a table of {sleep}", &format!("a step: {STEPS}")),
            &not("workload.steps[1].cpu", "\"1\"", DURATION),
            &not("workload.steps[2].fail", "200", "a whole number in 400..=599"),
            &not("load.closed.users", "0", "a whole number in 1..=1000000"),
            &not(
                "model[0].puma.thread",
                "this key",
                "one of workers, threads, min_threads, queue_requests, version, ruby, timeslice, priority, backlog",
            ),
        ],
    );
}

#[test]
fn loads_without_users_or_an_end_are_refused() {
    let users = |given: &str| not("load.closed.users", given, "a whole number in 1..=1000000");
    check_load("closed = { users = 0, requests = 4 }", &[&users("0")]);
    check_load("closed = { users = -1, requests = 4 }", &[&users("-1")]);
    check_load("closed = { users = 1.5, requests = 4 }", &[&users("1.5")]);
    check_load("closed = { users = 99999999999, requests = 4 }", &[&users("99999999999")]);
    check_load(
        "closed = { requests = 4 }",
        &[&not("load.closed.users", "nothing", "a number of users")],
    );
    check_load(
        "closed = { users = 1 }",
        &[&not("load.closed", "neither requests nor duration", "one of the two")],
    );
    let end = "a duration from 1ns to 24h with a unit, such as \"60s\"";
    check_load(
        "closed = { users = 1, duration = \"0s\" }",
        &[&not("load.closed.duration", "\"0s\"", end)],
    );
    check_load("closed = { users = 1, duration = 60 }", &[&not("load.closed.duration", "60", end)]);
    let rate = |given: &str| not("load.open.rate", given, "a number above 0, at most 1000000");
    for (written, given) in [("0", "0"), ("-1.0", "-1"), ("nan", "NaN"), ("inf", "inf")] {
        check_load(&format!("open = {{ rate = {written}, requests = 4 }}"), &[&rate(given)]);
    }
}

#[test]
fn unknown_models_locks_and_versions_are_told_with_the_known_ones() {
    let models =
        "puma, unicorn, pitchfork, webrick, uvicorn, gunicorn, apache, nginx, pool, custom";
    check_model(
        "pumma = { threads = 2 }",
        &[&not("model[0]", "a table of {pumma}", &format!("a model: one of {models}"))],
    );
    check_model(
        "puma = { ruby = \"1.9.3\" }",
        &[&not("model[0].puma.ruby", "\"1.9.3\"", "a CRuby version from 3.1 on")],
    );
    check_model(
        "puma = { threads = 0 }",
        &[&not("model[0].puma.threads", "0", "a whole number in 1..=1024")],
    );
    check_model(
        "uvicorn = { handlers = \"sync\" }",
        &[&not("model[0].uvicorn.handlers", "\"sync\"", "\"async\", \"def\" or \"blocking\"")],
    );
    check_model(
        "pool = { gvl = \"gil\" }",
        &[&not(
            "model[0].pool.gvl",
            "\"gil\"",
            &format!("one of {}, or a table with a base", gvl_lab::gvl::NAMES.join(", ")),
        )],
    );
}

#[test]
fn a_cycle_of_pools_is_refused() {
    let parts = Parts {
        steps: r#"[{ checkout = "a", steps = [{ checkout = "b", steps = [{ checkout = "a", steps = [{ io = "1ms" }] }] }] }]"#,
        rest: "[workload.pools]\na = { size = 1 }\nb = { size = 1 }",
        ..SOUND
    };
    check(
        parts,
        &[&not(
            "workload.steps[0].steps[0].steps[0].checkout",
            "\"a\"",
            "a pool that the request does not hold (it would wait for itself)",
        )],
    );
    let parts = Parts { steps: r#"[{ checkout = "db", steps = [{ io = "1ms" }] }]"#, ..SOUND };
    check(
        parts,
        &[&not("workload.steps[0].checkout", "\"db\"", "one of the workload's pools (none)")],
    );
}

/// `repeat`s inside each other, around a millisecond of I/O.
fn nested(times: u64, levels: usize) -> String {
    let open = format!("{{ repeat = {times}, steps = [").repeat(levels);
    format!("[{open}{{ io = \"1ms\" }}{}]", "] }".repeat(levels))
}

#[test]
fn repeats_of_absurd_size_cost_nothing() {
    check_steps(
        &nested(1_000_000, 6),
        &[&not(
            "workload.steps",
            "18446744073709551615 steps run by one request",
            "at most 1000000 after all repeats",
        )],
    );
    check_steps(
        &nested(1_000_001, 1),
        &[&not("workload.steps[0].repeat", "1000001", "a whole number in 1..=1000000")],
    );
    check_steps(
        &nested(0, 1),
        &[&not("workload.steps[0].repeat", "0", "a whole number in 1..=1000000")],
    );
    let field = format!("workload.steps{}", "[0].steps".repeat(32));
    check_steps(&nested(1, 34), &[&not(&field, "one level more", "at most 32 of steps")]);
}

#[test]
fn nesting_that_would_exhaust_a_parser_is_one_line() {
    for levels in [100, 30_000] {
        let folder = Folder::with("x.toml", Parts { steps: &nested(1, levels), ..SOUND }.toml());
        let open = r#"{"repeat":1,"steps":["#.repeat(levels);
        let json = format!(r#"{{"workload":{{"steps":[{open}{}]}}}}"#, "]}".repeat(levels));
        folder.write("x.json", json);
        for file in ["x.toml", "x.json"] {
            let ran = folder.run_in_little_memory(&["run", file]);
            assert_eq!((ran.status, ran.complaints().len()), (Some(2), 1), "{}", ran.err);
            assert!(ran.err.starts_with(&format!("{file}: line ")), "{}", ran.err);
            assert!(ran.err.contains("recurs"), "{}", ran.err);
        }
    }
}

#[test]
fn files_that_are_none_are_refused_unread() {
    let folder = Folder::with("text", "");
    File::create(folder.path().join("gigabyte.toml"))
        .and_then(|file| file.set_len(1 << 30))
        .expect("a sparse file");
    std::fs::create_dir(folder.path().join("folder.toml")).expect("a folder");
    symlink("/dev/zero", folder.path().join("endless.toml")).expect("a link");
    symlink("loop.toml", folder.path().join("loop.toml")).expect("a link");
    let name = "a name that ends in .toml or .json";
    for (file, line) in [
        ("gigabyte.toml", "1073741824 bytes, expected at most 1048576 bytes".to_owned()),
        ("folder.toml", format!("a directory, expected {FILE}")),
        ("endless.toml", format!("not a regular file, expected {FILE}")),
        ("/dev/zero", format!("no extension, expected {name}")),
        ("text", format!("no extension, expected {name}")),
        ("text.yaml", format!("named *.yaml, expected {name}")),
        ("missing.toml", format!("No such file or directory (os error 2), expected {FILE}")),
    ] {
        check_file(&folder, file, &[&line]);
    }
    let ran = folder.run_in_little_memory(&["run", "loop.toml"]);
    assert_eq!((ran.status, ran.complaints().len()), (Some(2), 1), "{}", ran.err);
}

#[test]
fn what_is_no_text_and_no_document_is_refused() {
    check_text(b"name = \"\xff\"", &[&format!("not UTF-8 at byte 8, expected {FILE}")]);
    check_text(
        "",
        &[
            &not("workload", "nothing", "a [workload] with steps or endpoints"),
            &not("load", "nothing", "a [load], closed or open"),
            &not("model", "nothing", "at least one [[model]]"),
        ],
    );
    let folder = Folder::with("x.json", "");
    let eof = "JSON (EOF while parsing a value at line 1 column 0)";
    check_file(&folder, "x.json", &[&not("line 1", "``", eof)]);
    folder.write("x.json", "[1]");
    check_file(&folder, "x.json", &[&not("experiment", "a list of 1", "a table")]);
    folder.write("x.json", r#"{"name": "a", "name": "b"}"#);
    let ran = folder.run_in_little_memory(&["run", "x.json"]);
    assert!(ran.err.contains("duplicate key `name`"), "{}", ran.err);
    assert_eq!((ran.status, ran.complaints().len()), (Some(2), 1));
}

#[test]
fn both_formats_tell_the_same_mistakes() {
    let folder = Folder::with("x.toml", "seed = -1\nrepeat = 0\nname = ''");
    folder.write("x.json", r#"{"seed": -1, "repeat": 0, "name": ""}"#);
    let told = |file: &str| {
        let err = folder.run(&["run", file]).err;
        err.replace(&format!("{file}: "), "")
    };
    assert_eq!(told("x.toml"), told("x.json"));
    assert!(told("x.toml").starts_with("name: \"\" is not allowed, expected text of 1 to 200"));
}

#[test]
fn a_message_stays_on_one_line_and_short() {
    let key = "k".repeat(100_000);
    let text = "x\\n".repeat(100_000);
    let ran = Folder::with("x.toml", format!("{key} = 1\nname = \"{text}\"\n{}", SOUND.toml()))
        .run_in_little_memory(&["run", "x.toml"]);
    assert_eq!((ran.status, ran.complaints().len()), (Some(2), 2));
    assert!(ran.complaints().iter().all(|line| line.len() < 2500), "{}", ran.err.len());
}

#[test]
fn one_bad_file_of_two_runs_nothing() {
    let folder = Folder::with("good.toml", SHORT);
    folder
        .write("bad.toml", Parts { load: "closed = { users = 0, requests = 1 }", ..SOUND }.toml());
    for files in [["good.toml", "bad.toml"], ["bad.toml", "good.toml"]] {
        let ran = folder.run(&["run", files[0], files[1], "--json"]);
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""));
        assert_eq!(
            ran.complaints(),
            [
                "bad.toml: load.closed.users: 0 is not allowed, expected a whole number in 1..=1000000"
            ]
        );
    }
}

#[test]
fn arguments_that_are_wrong_are_bad_input() {
    let folder = Folder::with("x.toml", SHORT);
    for (args, first) in [
        (&["run"][..], "error: the following required arguments were not provided:"),
        (&["run", "x.toml", "--json", "--csv"], "error: the argument '--json' cannot be used with"),
        (
            &["run", "x.toml", "--ps", "--csv"],
            "error: '--ps' cannot be shown as csv, expected a table",
        ),
        (&["compare", "--view=siege", "--ps"], "error: '--ps' cannot be shown as siege, expected"),
        (&["run", "x.toml", "--view", "png"], "error: invalid value 'png' for '--view <VIEW>'"),
        (&["run", "x.toml", "--engine", "x"], "error: invalid value 'x' for '--engine <ENGINE>'"),
        (&["run", "x.toml", "--seed", "-1"], "error: invalid value '-1' for '--seed <SEED>'"),
        (&["run", "x.toml", "--seed", "1e3"], "error: invalid value '1e3' for '--seed <SEED>'"),
        (&["run", "x.toml", "--repeat", "0"], "error: invalid value '0' for '--repeat <REPEAT>'"),
        (&["run", "x.toml", "--repeat", "99999999999"], "error: invalid value '99999999999'"),
        (&["walk"], "error: unrecognized subcommand 'walk'"),
    ] {
        let ran = folder.run(args);
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.err.starts_with(first), "{args:?}: {}", ran.err);
    }
}
