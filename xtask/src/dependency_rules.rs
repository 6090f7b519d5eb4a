//! Which crates of this workspace may depend on which: the table of ARCHITECTURE.md, checked with `cargo metadata`.
//!
//! Every kind of dependency counts, those of tests too. A test that needs another crate belongs in a crate that may
//! depend on both, for example `tardy`.

use std::process::Command;

use serde_json::Value;

use crate::{Complaint, Repository};

/// Each crate with those that it may depend on. A crate of the workspace that is not listed is an error.
const ALLOWED: &[(&str, &[&str])] = &[
    ("tardy-record", &[]),
    ("tardy-sys", &[]),
    ("tardy-unpack", &[]),
    ("tardy-statistics", &[]),
    ("tardy-ftrace", &["tardy-record"]),
    ("tardy-formats", &["tardy-unpack", "tardy-ftrace", "tardy-record"]),
    ("tardy-cyclictest", &["tardy-formats", "tardy-probe", "tardy-record", "tardy-sys"]),
    ("tardy-tsn", &["tardy-record"]),
    ("tardy-bounds", &["tardy-record", "tardy-tsn"]),
    ("tardy-synthesis", &["tardy-bounds", "tardy-record", "tardy-tsn"]),
    ("tardy-analyse", &["tardy-record", "tardy-statistics"]),
    ("tardy-search", &["tardy-record", "tardy-statistics", "tardy-analyse"]),
    ("tardy-compare", &["tardy-record", "tardy-statistics", "tardy-analyse", "tardy-search"]),
    ("tardy-probe", &["tardy-record", "tardy-sys"]),
    ("tardy-load", &["tardy-record", "tardy-sys"]),
    ("tardy-host", &["tardy-record", "tardy-sys"]),
    ("tardy-attach", &["tardy-host", "tardy-record", "tardy-sys"]),
    ("tardy-round-trip", &["tardy-record", "tardy-sys"]),
    ("tardy-switch", &["tardy-host", "tardy-tsn", "tardy-record", "tardy-sys"]),
    (
        "tardy-measure",
        &[
            "tardy-probe",
            "tardy-host",
            "tardy-load",
            "tardy-redact",
            "tardy-round-trip",
            "tardy-switch",
            "tardy-tsn",
            "tardy-record",
            "tardy-sys",
        ],
    ),
    (
        "tardy-watch",
        &[
            "tardy-attach",
            "tardy-measure",
            "tardy-plot",
            "tardy-present",
            "tardy-probe",
            "tardy-record",
            "tardy-sys",
        ],
    ),
    ("tardy-init", &["tardy-record", "tardy-sys"]),
    ("tardy-microscope", &["tardy-record"]),
    ("tardy-lab", &["tardy-init", "tardy-record", "tardy-sys"]),
    ("tardy-kbuild", &["tardy-lab", "tardy-search", "tardy-sys"]),
    ("tardy-warehouse", &["tardy-archive", "tardy-record", "tardy-sys"]),
    ("tardy-recipe", &["tardy-probe", "tardy-host", "tardy-record", "tardy-sys"]),
    ("tardy-plot", &["tardy-record", "tardy-analyse", "tardy-compare", "tardy-tsn"]),
    ("tardy-gate", &["tardy-record", "tardy-statistics", "tardy-analyse", "tardy-compare", "tardy-plot"]),
    (
        "tardy-present",
        &["tardy-record", "tardy-analyse", "tardy-compare", "tardy-search", "tardy-plot", "tardy-tsn"],
    ),
    (
        "tardy-tsn-report",
        &["tardy-analyse", "tardy-bounds", "tardy-plot", "tardy-present", "tardy-record", "tardy-synthesis"],
    ),
    (
        "tardy-live",
        &[
            "tardy-measure",
            "tardy-recipe",
            "tardy-host",
            "tardy-load",
            "tardy-record",
            "tardy-statistics",
            "tardy-analyse",
            "tardy-plot",
            "tardy-present",
            "tardy-sys",
        ],
    ),
    ("tardy-fleet", &["tardy-record", "tardy-sys", "tardy-load", "tardy-plot"]),
    ("tardy-redact", &["tardy-record"]),
    ("tardy-share", &["tardy-record", "tardy-redact"]),
    ("tardy-archive", &["tardy-record", "tardy-analyse", "tardy-compare", "tardy-sys"]),
    ("tardy-alert", &["tardy-archive", "tardy-compare", "tardy-gate", "tardy-present", "tardy-record"]),
    ("tardy-push", &["tardy-archive", "tardy-load", "tardy-record", "tardy-sys"]),
    (
        "tardy-server",
        &[
            "tardy-alert",
            "tardy-analyse",
            "tardy-archive",
            "tardy-compare",
            "tardy-plot",
            "tardy-present",
            "tardy-push",
            "tardy-record",
            "tardy-site",
            "tardy-sys",
        ],
    ),
    (
        "tardy-site",
        &["tardy-alert", "tardy-analyse", "tardy-archive", "tardy-compare", "tardy-plot", "tardy-present"],
    ),
    (
        "tardy-args",
        &[
            "tardy-analyse",
            "tardy-archive",
            "tardy-compare",
            "tardy-formats",
            "tardy-gate",
            "tardy-kbuild",
            "tardy-lab",
            "tardy-measure",
            "tardy-microscope",
            "tardy-present",
            "tardy-recipe",
            "tardy-record",
            "tardy-search",
            "tardy-share",
            "tardy-tsn",
        ],
    ),
    (
        "tardy-web",
        &[
            "tardy-record",
            "tardy-unpack",
            "tardy-formats",
            "tardy-bounds",
            "tardy-synthesis",
            "tardy-tsn",
            "tardy-tsn-report",
            "tardy-analyse",
            "tardy-compare",
            "tardy-gate",
            "tardy-plot",
            "tardy-present",
            "tardy-redact",
            "tardy-share",
        ],
    ),
    (
        "tardy-python",
        &[
            "tardy-record",
            "tardy-unpack",
            "tardy-formats",
            "tardy-analyse",
            "tardy-compare",
            "tardy-gate",
            "tardy-plot",
            "tardy-present",
        ],
    ),
    (
        "tardy-command",
        &[
            "tardy-analyse",
            "tardy-archive",
            "tardy-args",
            "tardy-compare",
            "tardy-measure",
            "tardy-plot",
            "tardy-present",
            "tardy-record",
            "tardy-redact",
            "tardy-share",
            "tardy-sys",
            "tardy-tsn",
            "tardy-warehouse",
        ],
    ),
    (
        "tardy-tsn-command",
        &[
            "tardy-args",
            "tardy-bounds",
            "tardy-command",
            "tardy-host",
            "tardy-measure",
            "tardy-plot",
            "tardy-present",
            "tardy-recipe",
            "tardy-record",
            "tardy-switch",
            "tardy-synthesis",
            "tardy-sys",
            "tardy-tsn",
            "tardy-tsn-report",
        ],
    ),
    (
        "tardy",
        &[
            "tardy-record",
            "tardy-sys",
            "tardy-unpack",
            "tardy-formats",
            "tardy-tsn",
            "tardy-tsn-command",
            "tardy-analyse",
            "tardy-command",
            "tardy-compare",
            "tardy-cyclictest",
            "tardy-probe",
            "tardy-load",
            "tardy-host",
            "tardy-switch",
            "tardy-measure",
            "tardy-recipe",
            "tardy-init",
            "tardy-kbuild",
            "tardy-lab",
            "tardy-live",
            "tardy-microscope",
            "tardy-search",
            "tardy-statistics",
            "tardy-gate",
            "tardy-plot",
            "tardy-present",
            "tardy-archive",
            "tardy-warehouse",
            "tardy-args",
            "tardy-attach",
            "tardy-watch",
            "tardy-round-trip",
            "tardy-fleet",
            "tardy-push",
            "tardy-redact",
            "tardy-server",
            "tardy-share",
            "tardy-site",
        ],
    ),
    (
        "tardy-guest",
        &[
            "tardy-record",
            "tardy-sys",
            "tardy-tsn",
            "tardy-attach",
            "tardy-probe",
            "tardy-load",
            "tardy-host",
            "tardy-switch",
            "tardy-measure",
            "tardy-recipe",
            "tardy-init",
        ],
    ),
    ("xtask", &[]),
];

/// A crate of this workspace with its dependencies in the workspace.
#[derive(Debug)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// The names of the crates of this workspace that it depends on.
    pub ours: Vec<String>,
}

/// The crates of the workspace that `repository` is.
///
/// # Errors
///
/// Cargo cannot be run, or its output is not understood.
pub fn workspace_crates(repository: &Repository) -> Result<Vec<Crate>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(&repository.root)
        .output()
        .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("the output of cargo metadata is not JSON: {error}"))?;
    crates_of(&metadata).ok_or_else(|| {
        "expected packages with names and dependencies in the output of cargo metadata".to_owned()
    })
}

fn crates_of(metadata: &Value) -> Option<Vec<Crate>> {
    let packages = metadata.get("packages")?.as_array()?;
    packages
        .iter()
        .map(|package| {
            let dependencies = package.get("dependencies")?.as_array()?;
            Some(Crate {
                name: package.get("name")?.as_str()?.to_owned(),
                // Only crates of the workspace have a path.
                ours: dependencies
                    .iter()
                    .filter(|dependency| dependency.get("path").is_some_and(Value::is_string))
                    .filter_map(|dependency| Some(dependency.get("name")?.as_str()?.to_owned()))
                    .collect(),
            })
        })
        .collect()
}

/// Looks for dependencies that are not in the table.
pub fn check(crates: &[Crate]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for Crate { name, ours } in crates {
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| known == name) else {
            complaints.push(format!(
                "crate {name}: has no entry in the table of allowed dependencies. Add it to ALLOWED in \
                 xtask/src/dependency_rules.rs and to ARCHITECTURE.md"
            ));
            continue;
        };
        for forbidden in ours.iter().filter(|dependency| !allowed.contains(&dependency.as_str())) {
            let may =
                if allowed.is_empty() { "no crate of this workspace".to_owned() } else { allowed.join(", ") };
            complaints.push(format!(
                "crate {name}: depends on {forbidden}; allowed: {may}. Move the code that needs it to a crate that \
                 may depend on both (see ARCHITECTURE.md), and remove it from {name}'s Cargo.toml"
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn krate(name: &str, ours: &[&str]) -> Crate {
        Crate { name: name.to_owned(), ours: ours.iter().map(|&name| name.to_owned()).collect() }
    }

    #[test]
    fn an_allowed_dependency_passes() {
        let crates = [krate("tardy-record", &[]), krate("tardy-measure", &["tardy-record", "tardy-sys"])];
        assert_eq!(check(&crates), Vec::<String>::new());
    }

    #[test]
    fn a_forbidden_dependency_is_reported() {
        let complaints = check(&[krate("tardy-present", &["tardy-record", "tardy-sys"])]);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].contains("tardy-present: depends on tardy-sys"), "{}", complaints[0]);
    }

    #[test]
    fn an_unknown_crate_is_reported() {
        assert!(check(&[krate("tardy-extra", &[])])[0].contains("tardy-extra"));
    }

    #[test]
    fn crates_and_their_workspace_dependencies_are_read() {
        let metadata = serde_json::json!({ "packages": [{
            "name": "tardy-measure",
            "dependencies": [
                { "name": "libc", "source": "registry" },
                { "name": "tardy-sys", "source": null, "path": "crates/tardy-sys", "kind": "dev" },
            ],
        }]});
        let crates = crates_of(&metadata).unwrap();
        assert_eq!(crates[0].name, "tardy-measure");
        assert_eq!(crates[0].ours, ["tardy-sys"]);
    }
}
