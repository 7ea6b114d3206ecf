//! What the command prints: documents with the design's keys, records, other tools' summaries.

use crate::command::{Folder, SHORT, TWO_ENDPOINTS};
use crate::examples::reference;
use serde_json::Value as Json;
use std::io;

fn print(text: &str, args: &[&str]) -> String {
    let folder = Folder::with("x.toml", text);
    let ran = folder.run(&[&["run", "x.toml"], args].concat());
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{args:?}");
    assert!(!ran.out.contains('\x1b') && !ran.out.contains('\r'), "{args:?}: escape codes");
    assert!(ran.out.ends_with('\n') && !ran.out.ends_with("\n\n"), "{args:?}");
    ran.out
}

fn document(text: &str, args: &[&str]) -> Json {
    let printed = print(text, &[&["--json"], args].concat());
    serde_json::from_str(&printed).expect("one document of JSON, nothing else")
}

/// Checks that the value at `pointer` is of a type, given by its predicate.
fn check(json: &Json, pointer: &str, is: fn(&Json) -> bool) {
    let value = json.pointer(pointer);
    assert!(value.is_some_and(is), "{pointer}: {value:?}");
}

#[test]
fn json_has_the_keys_and_types_of_the_design() {
    let json = document(TWO_ENDPOINTS, &["--repeat", "2"]);
    check(&json, "/experiment", Json::is_object);
    check(&json, "/engine", |engine| engine == "real");
    check(&json, "/seed", Json::is_u64);
    check(&json, "/machine/cores", Json::is_u64);
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(2));
    for n in 0..2 {
        let row = &json["rows"][n];
        check(row, "/model", Json::is_string);
        for key in ["workers", "threads", "requests", "ok"] {
            check(row, &format!("/{key}"), Json::is_u64);
        }
        // An event loop's slots have no bound.
        check(row, "/slots", if n == 0 { Json::is_u64 } else { Json::is_null });
        check(row, "/failed", |failed| *failed == serde_json::json!({}));
        check(row, "/throughput_rps", Json::is_f64);
        for key in ["mean", "p50", "p90", "p95", "p99", "p999", "max"] {
            check(row, &format!("/latency_ms/{key}"), Json::is_number);
        }
        for key in ["wait_share", "hold_share"] {
            check(row, &format!("/gvl/{key}"), Json::is_number);
        }
        for key in ["handoffs", "forced_yields"] {
            check(row, &format!("/gvl/{key}"), Json::is_u64);
        }
        check(row, "/cpu_share", Json::is_number);
        check(row, "/interval/throughput_rps/low", Json::is_number);
        check(row, "/warnings", Json::is_array);
        for warning in row["warnings"].as_array().into_iter().flatten() {
            check(warning, "/kind", Json::is_string);
            check(warning, "/text", Json::is_string);
        }
        let answered = row["processes"].as_object().expect("answers by process");
        assert!(answered.keys().all(|pid| pid.parse::<u32>().is_ok()));
        let answered: u64 = answered.values().filter_map(Json::as_u64).sum();
        assert_eq!((Some(answered), &row["requests"]), (row["ok"].as_u64(), &Json::from(80)));
        let names: Vec<_> = row["endpoints"].as_array().into_iter().flatten().collect();
        assert_eq!((&names[0]["name"], &names[1]["name"]), (&"io".into(), &"cpu".into()));
        for endpoint in names {
            check(endpoint, "/latency_ms/p99", Json::is_number);
        }
    }
}

#[test]
fn figures_are_in_order_and_below_their_ceilings() {
    let json = document(SHORT, &[]);
    let row = &json["rows"][0];
    let latency = |key: &str| row["latency_ms"][key].as_f64().expect("a latency");
    let rising = ["p50", "p90", "p95", "p99", "p999", "max"].map(latency);
    assert!(rising.is_sorted(), "{rising:?}");
    let rps = row["throughput_rps"].as_f64().expect("a throughput");
    let ceilings = row["ceilings"].as_array().expect("ceilings");
    let lowest = ceilings.iter().filter_map(|c| c["rps"].as_f64()).fold(f64::MAX, f64::min);
    assert!(rps <= lowest * 1.01, "{rps} above {lowest}");
    assert_eq!(row["interval"], Json::Null);
    assert!(row.get("endpoints").is_none());
}

#[test]
fn the_document_holds_the_experiment_that_it_ran() {
    let json = document(SHORT, &["--seed", "7", "--repeat", "3"]);
    assert_eq!((&json["seed"], &json["experiment"]["seed"]), (&7.into(), &7.into()));
    assert_eq!(json["experiment"]["repeat"], 3);
    // The report's own experiment is a file that runs.
    let folder = Folder::with("again.json", json["experiment"].to_string());
    let ran = folder.run(&["run", "again.json", "--json"]);
    let again: Json = serde_json::from_str(&ran.out).expect("one document");
    assert_eq!(again["experiment"], json["experiment"]);
    assert_eq!(again["rows"][0]["ceilings"], json["rows"][0]["ceilings"]);
}

#[test]
fn a_seed_decides_what_requests_ask_for() {
    // What all requests asked for is behind the ceilings, to the nanosecond.
    let ceilings = |seed| document(SHORT, &["--seed", seed])["rows"][0]["ceilings"].clone();
    let (first, again, other) = (ceilings("11"), ceilings("11"), ceilings("12"));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn csv_has_a_record_for_each_row_and_endpoint() {
    let text = print(TWO_ENDPOINTS, &["--csv"]);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().expect("a head").clone();
    let records: Vec<_> = reader.records().map(|record| record.expect("a record")).collect();
    let of = |record: &csv::StringRecord, head: &str| -> String {
        let place = heads.iter().position(|h| h == head).expect("a known column");
        record[place].to_owned()
    };
    let endpoints: Vec<_> = records.iter().map(|record| of(record, "endpoint")).collect();
    assert_eq!(endpoints, ["", "io", "cpu", "", "io", "cpu"]);
    for record in &records {
        let count = |head| of(record, head).parse::<u64>().expect("a count");
        assert_eq!(count("ok") + count("failed"), count("requests"));
        for head in ["throughput_rps", "mean_ms", "p50_ms", "p99_ms", "max_ms"] {
            of(record, head).parse::<f64>().expect("a figure");
        }
    }
}

#[test]
fn csv_of_several_files_is_one_table() {
    let folder = Folder::with("a.toml", SHORT);
    folder.write("b.toml", SHORT);
    let ran = folder.run(&["run", "a.toml", "b.toml", "--csv"]);
    assert_eq!(ran.out.lines().filter(|line| line.starts_with("experiment,")).count(), 1);
    assert_eq!(ran.out.lines().count(), 3);
}

#[test]
fn the_view_siege_has_the_fields_that_siege_prints() {
    let text = print(SHORT, &["--view", "siege"]);
    let published = reference("siege-2013");
    let fields = published["report"]["fields"].as_array().expect("siege's fields");
    assert_eq!(fields.len(), 12);
    for field in fields {
        let field = format!("{}:", field.as_str().expect("a name"));
        assert_eq!(text.lines().filter(|l| l.starts_with(&field)).count(), 1, "{field}\n{text}");
    }
    assert!(text.contains("Transactions:                      40 hits"), "{text}");
    assert!(text.contains("Availability:                  100.00 %"), "{text}");
}

#[test]
fn the_view_locust_has_the_columns_that_locust_prints() {
    let text = print(TWO_ENDPOINTS, &["--view", "locust"]);
    for head in ["Name", "# reqs", "# fails", "Avg", "Min", "Max", "Med", "req/s", "failures/s"] {
        assert!(text.contains(head), "{head}\n{text}");
    }
    // Two tables of two endpoints and their sum, for each of two models.
    assert_eq!(text.matches("Aggregated").count(), 4, "{text}");
    assert_eq!(text.matches("99.99%").count(), 2, "{text}");
    assert!(text.contains("0(0.00%)"), "{text}");
}

#[test]
fn the_table_names_each_model_and_doubt() {
    let text = print(TWO_ENDPOINTS, &[]);
    for word in ["two endpoints", "puma", "uvicorn async", "io", "cpu", "ok/requests", "p99 ms"] {
        assert!(text.contains(word), "{word}\n{text}");
    }
    assert_eq!(text, text.trim_start(), "the first line has the first word");
}

#[test]
fn models_are_listed_with_their_keys() {
    let ran = Folder::new().run(&["models"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    for word in [
        "puma",
        "unicorn",
        "webrick",
        "uvicorn",
        "gunicorn",
        "apache",
        "pool",
        "min_threads",
        "\"auto\"",
        "cruby-master",
        "none",
    ] {
        assert!(ran.out.contains(word), "{word}\n{}", ran.out);
    }
}

#[test]
fn a_reader_that_went_away_is_no_mistake() {
    let folder = Folder::with("x.toml", SHORT);
    for args in [&["run", "x.toml"][..], &["run", "x.toml", "--json"], &["models"]] {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let output = folder.command(args).stdout(writer).output().expect("the command starts");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*err), (Some(0), ""), "{args:?}");
    }
}
