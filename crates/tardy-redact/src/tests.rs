//! Markers in every text of real runs, and the lists of fields against the schema.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;

use super::fields::{self, CHOICES, KEPT, KEPT_MAPS, Treatment};
use super::*;
use tardy_record::plan::Plan;
use tardy_record::run::Origin;

const MARKER: &str = "Secret marker";

/// The run files of earlier versions, of every kind of measurement and import.
fn run_files() -> Vec<(String, Value)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tardy/tests/run_files");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let runs = files.filter(|path| name(path).ends_with(".run.json"));
    runs.map(|path| (name(&path), serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap())).collect()
}

/// Calls `visit` with each text, its field and the object that holds the field.
fn texts(value: &mut Value, field: &str, parent: &str, visit: &mut impl FnMut(&mut String, &str, &str)) {
    match value {
        Value::String(text) => visit(text, field, parent),
        Value::Array(values) => values.iter_mut().for_each(|value| texts(value, field, parent, visit)),
        Value::Object(members) => {
            for (key, value) in members {
                let path = if field.is_empty() { key.clone() } else { format!("{field}.{key}") };
                texts(value, &path, field, visit);
            }
        }
        _ => {}
    }
}

fn is_argued_safe(field: &str, parent: &str) -> bool {
    use Treatment::{Keep, KernelThread, SourceOfCgroup};
    matches!(fields::treatment(field, parent), Keep | KernelThread | SourceOfCgroup)
}

#[test]
fn a_marker_in_any_text_of_a_run_is_removed_unless_its_field_is_listed() {
    let mut seen = BTreeSet::new();
    for (name, mut value) in run_files() {
        let mut number = 0;
        texts(&mut value, "", "", &mut |text, field, _| {
            if !CHOICES.contains(&field) && text != "unknown" {
                number += 1;
                *text = format!("{MARKER} {number}");
                seen.insert(field.to_owned());
            }
        });
        let run: Run = serde_json::from_value(value).unwrap_or_else(|error| panic!("{name}: {error}"));
        let redacted = redact(&run).unwrap_or_else(|error| panic!("{name}: {error}"));
        texts(&mut serde_json::to_value(&redacted.run).unwrap(), "", "", &mut |text, field, parent| {
            assert!(!text.contains(MARKER) || is_argued_safe(field, parent), "{name}: {field}: {text}");
        });
        assert!(!redacted.changed.is_empty() && redacted.run.redacted.contains(&"origin.host".to_owned()));
    }
    // Most texts of the format occur in these files.
    assert!(seen.len() > 90, "{}: {seen:?}", seen.len());
}

#[test]
fn redacting_twice_is_the_same_and_numbers_stay() {
    for (name, value) in run_files() {
        let run: Run = serde_json::from_value(value).unwrap();
        let once = redact(&run).unwrap();
        let twice = redact(&once.run).unwrap();
        assert!(twice.run == once.run, "{name}");
        assert_eq!(twice.changed, BTreeMap::new(), "{name}");
        let numbers = |run: &Run| {
            let one = |series: &tardy_record::Series| {
                (series.tally.recorded, series.min_ns, series.max_ns, series.measured.clone())
            };
            run.series.iter().map(one).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&once.run), numbers(&run), "{name}");
        assert_eq!(once.run.validity.valid, run.validity.valid, "{name}");
        let text = tardy_record::file::to_text(&once.run);
        assert_eq!(tardy_record::file::from_text(text.as_bytes()).unwrap(), once.run, "{name}");
    }
}

#[test]
fn the_command_line_of_origin_keeps_its_subcommand() {
    let command = |words: &[&str]| {
        let origin =
            Origin { command: words.iter().map(|word| (*word).to_owned()).collect(), ..Origin::default() };
        redact(&Run::begun(origin, Plan::default(), tardy_record::facts::Facts::default()))
            .unwrap()
            .run
            .origin
            .command
    };
    assert_eq!(command(&["/home/jane/tardy", "run", "--peer", "10.0.0.2"]), ["tardy", "run"]);
    assert_eq!(command(&["tardy", "lab", "run", "secret.toml"]), ["tardy", "lab", "run"]);
    assert_eq!(command(&["tardy", "tsn", "test", "plant.toml"]), ["tardy", "tsn", "test"]);
    assert_eq!(command(&["cyclictest", "-q"]), ["tardy"]);
    assert_eq!(command(&[]), Vec::<String>::new());
}

/// The texts of the schema: each field, and whether it is one of a few choices.
fn schema_texts() -> BTreeMap<String, bool> {
    fn walk(node: &Value, root: &Value, field: &str, depth: usize, found: &mut BTreeMap<String, bool>) {
        let Some(members) = node.as_object().filter(|_| depth < 24) else { return };
        let descend = |node: &Value, field: &str, found: &mut _| walk(node, root, field, depth + 1, found);
        if let Some(name) = members.get("$ref").and_then(Value::as_str) {
            descend(root.pointer(name.trim_start_matches('#')).unwrap(), field, found);
        }
        let is_text = |kind: &Value| {
            kind == "string" || kind.as_array().is_some_and(|kinds| kinds.contains(&"string".into()))
        };
        let choices = members.get("enum").or(members.get("const"));
        if choices.is_some() || members.get("type").is_some_and(is_text) {
            // "unknown" is a choice of every field that may be unknown.
            let is_choice = choices
                .is_some_and(|choices| *choices != "unknown" && *choices != serde_json::json!(["unknown"]));
            *found.entry(field.to_owned()).or_default() |= is_choice;
        }
        for several in ["anyOf", "oneOf", "allOf", "prefixItems"] {
            let nodes = members.get(several).and_then(Value::as_array).into_iter().flatten();
            nodes.for_each(|node| descend(node, field, found));
        }
        for (name, node) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
            descend(node, &path, found);
        }
        members.get("items").into_iter().for_each(|node| descend(node, field, found));
        members
            .get("additionalProperties")
            .into_iter()
            .for_each(|node| descend(node, &format!("{field}.*"), found));
    }
    let schema = serde_json::to_value(schemars::schema_for!(Run)).unwrap();
    let mut found = BTreeMap::new();
    walk(&schema, &schema, "", 0, &mut found);
    found
}

#[test]
fn the_lists_of_fields_match_the_schema() {
    let texts = schema_texts();
    for (field, is_choice) in &texts {
        assert!(!is_choice || CHOICES.contains(&field.as_str()), "{field} is a choice and would be removed");
    }
    let listed = KEPT.iter().chain(&CHOICES).copied().chain(fields::special());
    for field in listed.chain(KEPT_MAPS) {
        let is_there = texts.contains_key(field) || texts.contains_key(&format!("{field}.*"));
        assert!(is_there, "{field} is listed and not in the schema");
    }
}

proptest! {
    #[test]
    fn texts_of_any_form_are_redacted_once(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "phase '", "': ", "' ", " begins", " in phase '", " died, noticed at ", "3.0 s", "cmd:", "iperf3:-c ", "=", " ",
            "isolcpus", "root", "--", "\"", "a", "é", "b8:27:eb:01:23:45", "-", "1", "load ", "cpu 0", ", ", "it did nothing for ",
            "' recorded nothing", "redacted", "task 1", "phase 2", "/home/jane", "@", "-manager", "drbd_", "debian:", ",",
        ]), 0..9)
    ) {
        let text = pieces.concat();
        let once = [
            kernel_arguments::redacted(&text),
            arguments::load(&text),
            arguments::tool_command(&text),
            arguments::emulator_argument(&text),
            arguments::configuration(&text),
            identifiers::without(&text),
            identifiers::id(&text),
            identifiers::date(&text),
            identifiers::version(&text),
            names::kernel_thread(&text),
            arguments::kernel_of_lab(&text),
        ];
        let twice = [
            kernel_arguments::redacted(&once[0]),
            arguments::load(&once[1]),
            arguments::tool_command(&once[2]),
            arguments::emulator_argument(&once[3]),
            arguments::configuration(&once[4]),
            identifiers::without(&once[5]),
            identifiers::id(&once[6]),
            identifiers::date(&once[7]),
            identifiers::version(&once[8]),
            names::kernel_thread(&once[9]),
            arguments::kernel_of_lab(&once[10]),
        ];
        prop_assert_eq!(&once, &twice);
        let names = |labels: [&str; 2]| Names::of_phases(labels.map(str::to_owned).into());
        let sentence = sentences::redacted(&text, &mut names(["a", "/home/jane"]));
        prop_assert_eq!(sentences::redacted(&sentence, &mut names(["phase 1", "phase 2"])), sentence);
    }
}

#[test]
fn the_names_of_built_in_recipes_and_their_phases_stay() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let recipe: toml::Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        // A switch file, which is not the recipe of a measurement.
        if recipe.contains_key("switch") {
            continue;
        }
        for phase in recipe.get("phase").and_then(toml::Value::as_array).into_iter().flatten() {
            let label = phase["name"].as_str().unwrap();
            assert!(is_known_label(label), "{}: {label}", path.display());
        }
        names.insert(path.file_stem().unwrap().to_string_lossy().into_owned());
    }
    assert_eq!(names, RECIPES.map(str::to_owned).into());
}
