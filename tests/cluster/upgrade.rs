//! A master whose program is replaced on the disk while it runs.

use crate::trials;
use crate::watch::{pids, small};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

trials![a_restart_runs_what_has_the_programs_name_now];

/// How the program of a master of this test is replaced, from the environment.
const ROLE: &str = "GVL_LAB_TEST_UPGRADE";

/// Where this program was started as a master by the test: does that, and never returns.
pub fn be_upgraded_if_told() {
    let Ok(how) = std::env::var(ROLE) else { return };
    let program = std::env::current_exe().unwrap();
    let other = program.with_extension("other");
    let cluster = small(1).build().unwrap();
    let before = fs::metadata(&program).unwrap().ino();
    fs::copy(&program, &other).unwrap();
    if how == "moved away" {
        fs::rename(&program, program.with_extension("old")).unwrap();
    }
    fs::rename(&other, &program).unwrap();
    cluster.restart().unwrap();
    let runs = fs::metadata(format!("/proc/{}/exe", pids(&cluster)[0])).unwrap().ino();
    assert_ne!(runs, before);
    assert_eq!(runs, fs::metadata(&program).unwrap().ino());
    drop(cluster);
    std::process::exit(0);
}

fn a_restart_runs_what_has_the_programs_name_now() {
    for how in ["written over", "moved away"] {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        assert!(Command::new(program).env(ROLE, how).status().unwrap().success(), "{how}");
    }
}
