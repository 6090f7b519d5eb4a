//! Which numbers a run file may have.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tardy_record::file;

/// Run files of this and of earlier versions.
fn run_files() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = ["../tardy/tests/run_files", "../tardy-present/tests/runs", "../../examples"];
    let entries = places.iter().flat_map(|place| fs::read_dir(here.join(place)).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_string_lossy().ends_with(".run.json")).collect()
}

#[test]
fn files_of_earlier_versions_open() {
    let all = run_files();
    assert!(all.len() > 70, "{all:?}");
    for path in all {
        let text = fs::read(&path).unwrap();
        file::from_text(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// The pointers to all numbers of `value`, one for each sequence of keys.
fn numbers(value: &Value, pointer: String, keys: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            numbers(value, format!("{pointer}/{key}"), &format!("{keys}.{key}"), found);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| {
            numbers(value, format!("{pointer}/{index}"), keys, found);
        }),
        Value::Number(_) if !found.iter().any(|(_, known)| known == keys) => {
            found.push((pointer, keys.to_owned()));
        }
        _ => {}
    }
}

#[test]
fn no_number_of_a_run_file_is_beyond_what_can_be_measured() {
    let mut tried = 0;
    for name in ["levels", "noise", "lab-causes", "timer-1ms", "wiggle-with-echo", "switch-simulated"] {
        let path = format!("{}/../tardy/tests/run_files/{name}.run.json", env!("CARGO_MANIFEST_DIR"));
        let run: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let mut found = Vec::new();
        numbers(&run, String::new(), "", &mut found);
        for (pointer, keys) in found {
            let name = keys.rsplit('.').next().unwrap();
            // The seeds of random numbers are never calculated with.
            if ["seed", "order_seed"].contains(&name) {
                continue;
            }
            for value in [json!(u64::MAX), json!(i64::MIN), json!(1e300)] {
                let mut changed = run.clone();
                *changed.pointer_mut(&pointer).unwrap() = value.clone();
                let outcome = file::from_text(changed.to_string().as_bytes());
                assert!(outcome.is_err(), "{pointer} = {value}");
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "{tried}");
}
