//! The YANG data, checked by yanglint against modules with the nodes that tardy writes, and against IEEE's own where
//! `TARDY_YANG_MODULES` names their directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use tardy_tsn::file;
use tardy_tsn::plan::yang::{self, Model};
use tardy_tsn::settings;

/// A switch with VLANs, operations, limits, a cycle time extension and a port of tagged frames only.
const SWITCH: &str = r#"
about = "everything that the models have"
priority_map = [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
[[class]]
[[class]]
max_sdu = 1500
[[class]]
[switch]
name = "br-1"
[[switch.port]]
interface = "swp0"
tagged = [5]
pvid = 1
[[switch.port]]
interface = "swp1"
tagged = [5, 7]
base_time = "-300us"
cycle_time = "1ms"
cycle_time_extension = "10us"
gates = [
  { open = [0, 1], for = "400us", operation = "hold" },
  { open = [2], for = "300us", operation = "release" },
  { open = "all", for = "300us" },
]
"#;

const MODELS: [(Model, &[&str]); 3] = [
    (
        Model::Bridge,
        &["ieee802-dot1q-bridge", "ieee802-dot1q-sched-bridge", "ieee802-dot1q-sched", "iana-if-type"],
    ),
    (
        Model::Interface,
        &["ieee802-dot1q-bridge", "ieee802-dot1dc-sched-if", "ieee802-dot1q-sched", "iana-if-type"],
    ),
    (Model::Of2018, &["ieee802-dot1q-bridge", "ieee802-dot1q-sched", "iana-if-type"]),
];

fn modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/yang")
}

/// The directories of a model's modules, the first one first.
fn directories(model: Model, root: &Path) -> Vec<PathBuf> {
    let own = (model == Model::Of2018).then(|| root.join("2018"));
    own.into_iter().chain([root.to_owned()]).collect()
}

/// The file of a module: `NAME.yang` or `NAME@REVISION.yang`.
fn module_file(directories: &[PathBuf], name: &str) -> Option<PathBuf> {
    directories.iter().find_map(|directory| {
        let entries = std::fs::read_dir(directory).ok()?;
        let is_it = |path: &PathBuf| {
            let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let stem = file.strip_suffix(".yang");
            stem.is_some_and(|stem| {
                stem == name || stem.split_once('@').is_some_and(|(stem, _)| stem == name)
            })
        };
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_it).max()
    })
}

/// What yanglint reports about data; `None`, with the reason printed, if it is not there.
fn linted(
    model: Model,
    names: &[&str],
    root: &Path,
    data: &str,
    extension: &str,
) -> Option<Result<(), String>> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(format!("data.{extension}"));
    std::fs::write(&file, data).unwrap();
    let directories = directories(model, root);
    let mut command = Command::new("yanglint");
    // Own modules: also the conditions on nodes, which an edit is not checked for. IEEE's have nodes that only the device knows.
    let kind = if root == modules() { "config" } else { "edit" };
    command.args(["-t", kind, "-i"]);
    for directory in &directories {
        command.arg("-p").arg(directory);
    }
    for name in names {
        let module = module_file(&directories, name);
        command.arg(module.unwrap_or_else(|| panic!("{}: no module {name}", root.display())));
    }
    match command.arg(&file).output() {
        Err(error) => {
            eprintln!("skipped: yanglint: {error}; it is in Debian's package libyang2-tools");
            None
        }
        Ok(output) if output.status.success() && output.stderr.is_empty() => Some(Ok(())),
        Ok(output) => Some(Err(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

fn document(model: Model) -> yang::Document {
    let network = file::parse(SWITCH).unwrap();
    yang::document(&settings::of(&network.switches[0]), model).unwrap()
}

#[test]
fn every_model_is_valid_in_json_and_in_xml() {
    let others = std::env::var_os("TARDY_YANG_MODULES").map(PathBuf::from);
    for (model, names) in MODELS {
        let document = document(model);
        let json = serde_json::to_string_pretty(&document).unwrap();
        for (data, extension) in [(json, "json"), (document.xml(), "xml")] {
            for root in std::iter::once(modules()).chain(others.clone()) {
                let Some(result) = linted(model, names, &root, &data, extension) else { return };
                assert_eq!(result, Ok(()), "{model:?} in {}:\n{data}", root.display());
            }
        }
    }
}

/// The modules and yanglint would not find mistakes otherwise.
#[test]
fn a_wrong_node_or_value_is_rejected() {
    for (model, names) in MODELS {
        let xml = document(model).xml();
        let changes = [
            (">300000<", ">-1<"),
            ("gate-enabled", "gate-enable"),
            ("x:set-and-hold-mac", "x:set-and-hold"),
            ("<pvid>1<", "<pvid>0<"),
            ("<component-name>br-1</component-name>", ""),
        ];
        for (right, wrong) in changes {
            assert!(xml.contains(right), "{right}:\n{xml}");
            let Some(result) = linted(model, names, &modules(), &xml.replace(right, wrong), "xml") else {
                return;
            };
            assert!(result.is_err(), "{model:?}: '{wrong}' for '{right}' is accepted");
        }
    }
}

#[test]
fn the_models_in_xml() {
    let all: Vec<String> =
        MODELS.iter().map(|(model, _)| format!("{model:?}\n{}", document(*model).xml())).collect();
    insta::assert_snapshot!(all.join("\n"));
}
