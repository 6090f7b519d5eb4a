//! Which of our crates may depend on which: the arrows of ARCHITECTURE.md, held against `cargo metadata`.
//!
//! Every kind of dependency counts, those of tests too. A test that needs more than its crate may see belongs in
//! a crate that may see it, in the end in `tardy`.

use std::process::Command;

use serde_json::Value;

use crate::{Complaint, Repository};

/// Who may depend on what. A crate of ours that is not listed is a mistake here or there.
const ALLOWED: &[(&str, &[&str])] = &[
    ("tardy-record", &[]),
    ("tardy-sys", &[]),
    ("tardy-formats", &["tardy-record"]),
    ("tardy-tsn", &["tardy-record"]),
    ("tardy-analyse", &["tardy-record"]),
    ("tardy-probe", &["tardy-record", "tardy-sys"]),
    ("tardy-load", &["tardy-record", "tardy-sys"]),
    ("tardy-host", &["tardy-record", "tardy-sys"]),
    ("tardy-lab", &["tardy-record", "tardy-sys"]),
    ("tardy-switch", &["tardy-record", "tardy-sys", "tardy-tsn", "tardy-load", "tardy-host"]),
    (
        "tardy-measure",
        &[
            "tardy-record",
            "tardy-sys",
            "tardy-formats",
            "tardy-tsn",
            "tardy-probe",
            "tardy-load",
            "tardy-host",
            "tardy-switch",
        ],
    ),
    ("tardy-present", &["tardy-record", "tardy-analyse", "tardy-tsn"]),
    (
        "tardy",
        &[
            "tardy-record",
            "tardy-sys",
            "tardy-formats",
            "tardy-tsn",
            "tardy-analyse",
            "tardy-probe",
            "tardy-load",
            "tardy-host",
            "tardy-switch",
            "tardy-lab",
            "tardy-measure",
            "tardy-present",
        ],
    ),
    ("xtask", &[]),
];

/// A crate of this workspace, and those of its dependencies that are in the workspace too.
#[derive(Debug)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// The names of the crates of ours that it depends on.
    pub ours: Vec<String>,
}

/// The crates of the workspace that `repository` is.
///
/// # Errors
///
/// Where cargo cannot be run or its answer is not understood.
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
        .map_err(|error| format!("cargo metadata's answer is not JSON: {error}"))?;
    crates_of(&metadata).ok_or_else(|| "cargo metadata's answer has another form than expected".to_owned())
}

fn crates_of(metadata: &Value) -> Option<Vec<Crate>> {
    let packages = metadata.get("packages")?.as_array()?;
    packages
        .iter()
        .map(|package| {
            let dependencies = package.get("dependencies")?.as_array()?;
            Some(Crate {
                name: package.get("name")?.as_str()?.to_owned(),
                // Only what is ours has a path.
                ours: dependencies
                    .iter()
                    .filter(|dependency| dependency.get("path").is_some_and(Value::is_string))
                    .filter_map(|dependency| Some(dependency.get("name")?.as_str()?.to_owned()))
                    .collect(),
            })
        })
        .collect()
}

/// Holds the crates against the rules.
pub fn check(crates: &[Crate]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for Crate { name, ours } in crates {
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| known == name) else {
            complaints.push(format!(
                "crate {name}: nothing says what it may depend on. Decide it, then add it to ALLOWED in \
                 xtask/src/dependency_rules.rs and to ARCHITECTURE.md"
            ));
            continue;
        };
        for forbidden in ours.iter().filter(|dependency| !allowed.contains(&dependency.as_str())) {
            let may = if allowed.is_empty() { "none of ours".to_owned() } else { allowed.join(", ") };
            complaints.push(format!(
                "crate {name}: depends on {forbidden} and may depend on {may}. Move the code that needs it to a \
                 crate that may see both (see ARCHITECTURE.md), and remove it from {name}'s Cargo.toml"
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
    fn what_is_allowed_passes() {
        let crates = [krate("tardy-record", &[]), krate("tardy-measure", &["tardy-record", "tardy-sys"])];
        assert_eq!(check(&crates), Vec::<String>::new());
    }

    #[test]
    fn a_forbidden_dependency_is_named() {
        let complaints = check(&[krate("tardy-present", &["tardy-record", "tardy-sys"])]);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].contains("tardy-present: depends on tardy-sys"), "{}", complaints[0]);
    }

    #[test]
    fn an_unknown_crate_is_a_mistake() {
        assert!(check(&[krate("tardy-extra", &[])])[0].contains("tardy-extra"));
    }

    #[test]
    fn metadata_is_read() {
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
