//! The part of the build scripts of tardy's executables that names the build, for `tardy_identity::identity!`.

use std::env;
use std::path::Path;
use std::process::Command;

/// Passes the commit, whether the tree was modified, and the target to the compiler.
pub(crate) fn name_the_build() {
    println!("cargo::rerun-if-env-changed=TARDY_COMMIT");
    let variable = |name| env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let manifest = variable("CARGO_MANIFEST_DIR");
    let root = Path::new(&manifest).join("../..");
    for path in [".git/HEAD", ".git/logs/HEAD", "crates", "recipes", "Cargo.lock"] {
        let path = root.join(path);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    println!("cargo::rustc-env=TARDY_COMMIT={}", commit(&root));
    println!("cargo::rustc-env=TARDY_TARGET={}", variable("TARGET").to_string_lossy());
}

/// The commit, and `modified` if a tracked file differs from it; empty without git or outside a checkout. TARDY_COMMIT
/// replaces it: the lab's guests are built with an empty one, so that a commit that changes no code leaves them as they are.
fn commit(root: &Path) -> String {
    if let Ok(given) = env::var("TARDY_COMMIT") {
        return given;
    }
    let git = |arguments: &[&str]| {
        // Without locks git leaves its index as it is, which other commands watch.
        let output =
            Command::new("git").arg("--no-optional-locks").arg("-C").arg(root).args(arguments).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return String::new() };
    let changes = git(&["status", "--porcelain", "--untracked-files=no"]);
    if changes.is_some_and(|changes| changes.is_empty()) { commit } else { format!("{commit}, modified") }
}
