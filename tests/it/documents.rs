//! The documents: what their commands and tables name is there.

use crate::examples::{folder, names};
use gvl_lab::Experiment;
use std::path::PathBuf;

fn root() -> PathBuf {
    folder().join("..")
}

/// The READMEs that there are, with their text.
fn documents() -> Vec<(PathBuf, String)> {
    let paths = ["README.md", "examples/README.md"].map(|path| root().join(path));
    let read = |path: PathBuf| std::fs::read_to_string(&path).ok().map(|text| (path, text));
    paths.into_iter().filter_map(read).collect()
}

/// What stands between the fences of code blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let after = text.split(&fence).skip(1);
    after.filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

#[test]
fn every_experiment_is_in_the_table_of_the_examples() {
    let text = std::fs::read_to_string(folder().join("README.md")).expect("a README");
    for name in names() {
        assert_eq!(text.matches(&format!("| `{name}.toml` |")).count(), 1, "{name}");
    }
    let rows = text.lines().filter(|line| line.starts_with("| `") && line.contains(".toml` |"));
    assert_eq!(rows.count(), names().len());
}

#[test]
fn every_path_and_program_that_a_document_names_is_there() {
    for (path, text) in documents() {
        for word in text.split(|c: char| c.is_whitespace() || "`()|'\"".contains(c)) {
            let word = word.trim_end_matches(['.', ',', ';', ':']);
            let is_path =
                ["examples/", "tests/", "core/", ".ci/"].iter().any(|p| word.starts_with(p));
            if is_path && !word.contains(['*', '<', '{']) {
                assert!(root().join(word).exists(), "{}: {word}", path.display());
            }
        }
        for rest in text.split("--bin ").skip(1) {
            let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next();
            let file = root().join("examples/rust").join(name.unwrap_or_default());
            assert!(file.with_extension("rs").exists(), "{}: {name:?}", path.display());
        }
    }
}

#[test]
fn every_experiment_in_a_document_reads() {
    for (path, text) in documents() {
        for block in blocks(&text, "toml").iter().filter(|block| block.contains("[[model]]")) {
            let read = Experiment::from_toml(block);
            assert!(read.is_ok(), "{}: {read:?}\n{block}", path.display());
        }
    }
}
