//! The exit status: 0, 1 (failed or impossible), 2 (bad input, in `bad_input`).

use crate::command::{Folder, SHORT};
use serde_json::Value as Json;

fn check(text: &str, status: i32) -> Json {
    let folder = Folder::with("x.toml", text);
    let ran = folder.run(&["run", "x.toml", "--json"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(status), ""), "{text}");
    serde_json::from_str(&ran.out).expect("one document")
}

fn kinds(json: &Json) -> Vec<&str> {
    let warnings = json.pointer("/rows/0/warnings").and_then(Json::as_array);
    warnings.into_iter().flatten().filter_map(|warning| warning["kind"].as_str()).collect()
}

#[test]
fn a_sound_run_is_0() {
    check(SHORT, 0);
}

#[test]
fn a_published_figure_above_its_ceiling_is_1() {
    let json = check(&format!("{SHORT}published = {{ reported_rps = 1e9 }}"), 1);
    assert_eq!(kinds(&json)[0], "impossible");
    // What was measured here is sound all the same.
    assert_eq!(json["rows"][0]["ok"], 40);
}

#[test]
fn no_success_is_1_and_has_no_throughput() {
    let json = check(&SHORT.replace(r#"{ io = "exp(1ms)" }"#, "{ fail = 500 }"), 1);
    let row = &json["rows"][0];
    assert_eq!((&row["ok"], &row["requests"]), (&Json::from(0), &Json::from(40)));
    assert_eq!(row["failed"], serde_json::json!({ "status 500": 40 }));
    assert_eq!(row["throughput_rps"], Json::Null);
    assert_eq!(row["latency_ms"]["p99"], Json::Null);
    assert_eq!(kinds(&json)[0], "no success");
}

#[test]
fn failures_of_some_requests_are_0_and_told() {
    let text = SHORT.replace(
        r#"{ io = "exp(1ms)" }"#,
        "{ choose = [{ weight = 1, steps = [{ fail = 503 }] }, { weight = 1, steps = [] }] }",
    );
    let json = check(&text, 0);
    let row = &json["rows"][0];
    let (ok, failed) = (row["ok"].as_u64(), row["failed"]["status 503"].as_u64());
    assert_eq!(ok.zip(failed).map(|(ok, failed)| ok + failed), Some(40));
    assert!(kinds(&json).contains(&"failures"));
}

#[test]
fn the_worst_of_several_files_counts() {
    let folder = Folder::with("good.toml", SHORT);
    folder.write("impossible.toml", format!("{SHORT}published = {{ reported_rps = 1e9 }}"));
    let ran = folder.run(&["run", "impossible.toml", "good.toml", "--json"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(1), ""));
    let documents: Vec<Json> = serde_json::from_str(&ran.out).expect("a list of documents");
    assert_eq!(documents.len(), 2);
}
