//! Names the build (the commit, whether the tree was modified, the target), and builds `tardy-probe`, which tardy contains
//! and starts from memory, statically and for the same target.
//!
//! It is built by another cargo, with its own profile, in `probe-program` next to the profiles' directories, which all
//! profiles share. That takes as long as compiling four small crates, and nothing if they have not changed. An optimised
//! build links musl if Rust's standard library for it is installed: all of the probe's program is locked in memory, and
//! glibc's part of it is four times as large (docs/performance.md). If TARDY_PROBE names a program, that is taken instead:
//! scripts/build-static sets it.

#[path = "../tardy-identity/name_the_build.rs"]
mod name_the_build;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates that `tardy-probe` consists of.
const CRATES: [&str; 3] = ["tardy-probe", "tardy-record", "tardy-sys"];
/// Separates the compiler's flags in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\u{1f}";

fn main() {
    name_the_build::name_the_build();
    let out = Path::new(&variable("OUT_DIR")).join("tardy-probe");
    println!("cargo::rerun-if-env-changed=TARDY_PROBE");
    let program = match env::var_os("TARDY_PROBE") {
        Some(program) => PathBuf::from(program),
        None => build(),
    };
    println!("cargo::rerun-if-changed={}", program.display());
    let content = fs::read(&program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    if fs::read(&out).ok().as_deref() != Some(&content) {
        fs::write(&out, content).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
    }
}

/// Builds the program and returns its path.
fn build() -> PathBuf {
    let manifest = variable("CARGO_MANIFEST_DIR");
    let workspace = Path::new(&manifest).join("../..");
    for file in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(file).display());
    }
    for name in CRATES {
        for part in ["Cargo.toml", "src"] {
            println!("cargo::rerun-if-changed={}", workspace.join("crates").join(name).join(part).display());
        }
    }
    let directory = target_directory().join("probe-program");
    // Profiles of Cargo.toml. Cargo calls every profile without optimisation `debug`.
    let is_debug = variable("PROFILE") == "debug";
    let profile = if is_debug { "probe-of-development" } else { "probe" };
    let target = variable("TARGET").into_string().expect("a target's name is ASCII");
    if let Some(musl) = with_musl(&target).filter(|_| !is_debug)
        && run_cargo(&workspace, &directory, profile, &musl, "+crt-static")
    {
        return directory.join(&musl).join(profile).join("tardy-probe");
    }
    // Fedora, among others, has glibc's static library in a separate package.
    if !run_cargo(&workspace, &directory, profile, &target, "+crt-static") {
        println!("cargo::warning=no static tardy-probe can be linked here, so it is linked dynamically");
        let dynamic = run_cargo(&workspace, &directory, profile, &target, "-crt-static");
        assert!(dynamic, "tardy-probe cannot be built; see the errors above");
    }
    directory.join(&target).join(profile).join("tardy-probe")
}

/// The target with musl of the same processor, if its standard library is installed.
fn with_musl(target: &str) -> Option<String> {
    let musl = target.strip_suffix("-linux-gnu").map(|system| format!("{system}-linux-musl"))?;
    let output =
        Command::new(variable("RUSTC")).args(["--print", "target-libdir", "--target", &musl]).output();
    let directory = output.ok().filter(|output| output.status.success())?.stdout;
    Path::new(String::from_utf8(directory).ok()?.trim()).is_dir().then_some(musl)
}

fn run_cargo(workspace: &Path, directory: &Path, profile: &str, target: &str, linked: &str) -> bool {
    let mut flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if !flags.is_empty() {
        flags.push_str(SEPARATOR);
    }
    flags.push_str("-Ctarget-feature=");
    flags.push_str(linked);
    let mut cargo = Command::new(variable("CARGO"));
    // The outer cargo has downloaded everything and has written the lock file.
    cargo.args([
        "build",
        "--quiet",
        "--locked",
        "--offline",
        "--package",
        "tardy-probe",
        "--bin",
        "tardy-probe",
    ]);
    cargo.args(["--profile", profile, "--target", target, "--target-dir"]).arg(directory);
    cargo.current_dir(workspace).env("CARGO_ENCODED_RUSTFLAGS", flags);
    // Rust's own linker needs no C compiler for the target.
    let musl = target.ends_with("-musl").then(|| target.to_uppercase().replace('-', "_"));
    cargo.envs(musl.map(|name| (format!("CARGO_TARGET_{name}_LINKER"), "rust-lld")));
    // Those of `cargo clippy` and of tests of coverage are meant for the outer build.
    for wrapper in ["RUSTC_WORKSPACE_WRAPPER", "RUSTC", "RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(wrapper);
    }
    cargo.status().unwrap_or_else(|error| panic!("cargo cannot be started: {error}")).success()
}

/// The outermost directory of this build, which cargo has marked.
fn target_directory() -> PathBuf {
    let out = PathBuf::from(variable("OUT_DIR"));
    let marked = out.ancestors().filter(|directory| directory.join("CACHEDIR.TAG").exists()).last();
    marked.unwrap_or(&out).to_owned()
}

fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"))
}
