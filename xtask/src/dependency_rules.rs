//! Which crates of this workspace may depend on which: the table of ARCHITECTURE.md, checked with `cargo metadata`.
//!
//! Every kind of dependency counts, those of tests too. A test that needs another crate belongs in a crate that may
//! depend on both, for example `tardy`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::repository::cargo;
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
    ("tardy-compare", &["tardy-record", "tardy-statistics", "tardy-analyse"]),
    ("tardy-search", &["tardy-record", "tardy-statistics", "tardy-analyse", "tardy-compare"]),
    ("tardy-probe", &["tardy-record", "tardy-sys"]),
    ("tardy-load", &["tardy-record", "tardy-sys"]),
    ("tardy-host", &["tardy-record", "tardy-sys"]),
    ("tardy-attach", &["tardy-host", "tardy-record", "tardy-sys"]),
    ("tardy-round-trip", &["tardy-record", "tardy-sys"]),
    ("tardy-switch", &["tardy-host", "tardy-measure", "tardy-tsn", "tardy-record", "tardy-sys"]),
    (
        "tardy-measure",
        &[
            "tardy-probe",
            "tardy-host",
            "tardy-load",
            "tardy-redact",
            "tardy-round-trip",
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
    ("tardy-plot", &["tardy-record", "tardy-analyse", "tardy-compare"]),
    ("tardy-gate", &["tardy-record", "tardy-statistics", "tardy-analyse", "tardy-compare", "tardy-plot"]),
    ("tardy-identity", &[]),
    ("tardy-picture", &["tardy-identity"]),
    // Its tests convert every plot.
    ("tardy-present", &["tardy-record", "tardy-analyse", "tardy-compare", "tardy-picture", "tardy-plot"]),
    (
        "tardy-tsn-report",
        &[
            "tardy-analyse",
            "tardy-bounds",
            "tardy-plot",
            "tardy-present",
            "tardy-record",
            "tardy-synthesis",
            "tardy-tsn",
        ],
    ),
    ("tardy-lab-report", &["tardy-compare", "tardy-plot", "tardy-present", "tardy-record", "tardy-search"]),
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
        &[
            "tardy-alert",
            "tardy-analyse",
            "tardy-archive",
            "tardy-compare",
            "tardy-plot",
            "tardy-present",
            "tardy-search",
        ],
    ),
    (
        "tardy-args",
        &[
            "tardy-analyse",
            "tardy-archive",
            "tardy-compare",
            "tardy-formats",
            "tardy-gate",
            "tardy-lab",
            "tardy-measure",
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
            "tardy-gate",
            "tardy-identity",
            "tardy-measure",
            "tardy-plot",
            "tardy-present",
            "tardy-recipe",
            "tardy-record",
            "tardy-redact",
            "tardy-share",
            "tardy-sys",
            "tardy-tsn",
        ],
    ),
    (
        "tardy-archive-command",
        &[
            "tardy-analyse",
            "tardy-archive",
            "tardy-args",
            "tardy-command",
            "tardy-compare",
            "tardy-fleet",
            "tardy-identity",
            "tardy-load",
            "tardy-measure",
            "tardy-plot",
            "tardy-present",
            "tardy-push",
            "tardy-recipe",
            "tardy-record",
            "tardy-server",
            "tardy-site",
            "tardy-sys",
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
        "tardy-lab-command",
        &[
            "tardy-analyse",
            "tardy-archive",
            "tardy-args",
            "tardy-command",
            "tardy-compare",
            "tardy-host",
            "tardy-identity",
            "tardy-init",
            "tardy-kbuild",
            "tardy-lab",
            "tardy-lab-report",
            "tardy-load",
            "tardy-measure",
            "tardy-microscope",
            "tardy-present",
            "tardy-recipe",
            "tardy-record",
            "tardy-search",
            "tardy-site",
            "tardy-sys",
            "tardy-tsn",
            "tardy-tsn-command",
        ],
    ),
    (
        "tardy-fuzz",
        &[
            "tardy-analyse",
            "tardy-archive",
            "tardy-attach",
            "tardy-compare",
            "tardy-formats",
            "tardy-gate",
            "tardy-host",
            "tardy-init",
            "tardy-lab",
            "tardy-measure",
            "tardy-plot",
            "tardy-present",
            "tardy-probe",
            "tardy-record",
            "tardy-server",
            "tardy-site",
            "tardy-switch",
            "tardy-sys",
            "tardy-unpack",
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
            "tardy-identity",
            "tardy-switch",
            "tardy-measure",
            "tardy-recipe",
            "tardy-init",
            "tardy-lab",
            "tardy-live",
            "tardy-search",
            "tardy-statistics",
            "tardy-gate",
            "tardy-plot",
            "tardy-present",
            "tardy-archive",
            "tardy-args",
            "tardy-attach",
            "tardy-watch",
            "tardy-round-trip",
            "tardy-redact",
            "tardy-share",
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

/// A crate of this workspace with its dependencies.
#[derive(Debug)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// Its directory, from the root of the repository.
    pub directory: String,
    /// What it depends on, of each kind.
    pub dependencies: Vec<Dependency>,
}

impl Crate {
    /// The names of the crates of this workspace that it depends on.
    fn ours(&self) -> impl Iterator<Item = &str> {
        self.dependencies.iter().filter(|one| one.is_ours).map(|one| one.name.as_str())
    }
}

/// A line of a Cargo.toml.
#[derive(Debug)]
pub struct Dependency {
    /// The name of the crate.
    pub name: String,
    /// What needs it.
    pub kind: Kind,
    /// Whether it is a crate of this workspace.
    pub is_ours: bool,
}

/// What needs a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The crate itself.
    Normal,
    /// Its tests, benchmarks and examples.
    Tests,
    /// Its build script.
    BuildScript,
}

/// The crates of the workspace that `repository` is.
///
/// # Errors
///
/// Cargo cannot be run, or its output is not understood.
pub fn workspace_crates(repository: &Repository) -> Result<Vec<Crate>, String> {
    let output = Command::new(cargo())
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
    let root = Path::new(metadata.get("workspace_root")?.as_str()?);
    let packages = metadata.get("packages")?.as_array()?;
    packages.iter().map(|package| crate_of(root, package)).collect()
}

fn crate_of(root: &Path, package: &Value) -> Option<Crate> {
    let manifest = Path::new(package.get("manifest_path")?.as_str()?);
    let dependencies = package.get("dependencies")?.as_array()?.iter().map(|dependency| {
        Some(Dependency {
            name: dependency.get("name")?.as_str()?.to_owned(),
            kind: match dependency.get("kind").and_then(Value::as_str) {
                Some("dev") => Kind::Tests,
                Some("build") => Kind::BuildScript,
                _ => Kind::Normal,
            },
            // Only crates of the workspace have a path.
            is_ours: dependency.get("path").is_some_and(Value::is_string),
        })
    });
    Some(Crate {
        name: package.get("name")?.as_str()?.to_owned(),
        directory: manifest.parent()?.strip_prefix(root).ok()?.to_str()?.to_owned(),
        dependencies: dependencies.collect::<Option<_>>()?,
    })
}

/// Looks for dependencies that are not in the table.
pub fn check(crates: &[Crate]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for krate in crates {
        let name = &krate.name;
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| known == name) else {
            complaints.push(format!(
                "crate {name}: has no entry in the table of allowed dependencies. Add it to ALLOWED in \
                 xtask/src/dependency_rules.rs and to ARCHITECTURE.md"
            ));
            continue;
        };
        for forbidden in krate.ours().filter(|dependency| !allowed.contains(dependency)) {
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
        let dependency =
            |name: &&str| Dependency { name: (*name).to_owned(), kind: Kind::Normal, is_ours: true };
        Crate {
            name: name.to_owned(),
            directory: format!("crates/{name}"),
            dependencies: ours.iter().map(dependency).collect(),
        }
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
        let metadata = serde_json::json!({ "workspace_root": "/here", "packages": [{
            "name": "tardy-measure",
            "manifest_path": "/here/crates/tardy-measure/Cargo.toml",
            "dependencies": [
                { "name": "libc", "source": "registry" },
                { "name": "tardy-sys", "source": null, "path": "crates/tardy-sys", "kind": "dev" },
            ],
        }]});
        let crates = crates_of(&metadata).unwrap();
        assert_eq!(crates[0].name, "tardy-measure");
        assert_eq!(crates[0].directory, "crates/tardy-measure");
        assert_eq!(crates[0].ours().collect::<Vec<_>>(), ["tardy-sys"]);
        assert_eq!(crates[0].dependencies[0].kind, Kind::Normal);
        assert_eq!(crates[0].dependencies[1].kind, Kind::Tests);
    }
}
