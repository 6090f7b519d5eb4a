//! Runs nft, tc, iptables and the programs of Open vSwitch.

use std::io::{ErrorKind, Write};
use std::process::{Command, Output, Stdio};

use tardy_sys::programs;

/// Debian's directory of ovs-vswitchd and ovsdb-server.
const OF_OPEN_VSWITCH: &str = "/usr/lib/openvswitch-switch";

/// Runs `program` with `arguments`.
///
/// # Errors
/// A message for the user: the program's error, or the package to install if the program is missing.
pub(super) fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    feed(program, arguments, "")
}

/// Runs `program` with `arguments` and `text` on its standard input.
///
/// # Errors
/// As [`run`].
pub(super) fn feed(program: &str, arguments: &[&str], text: &str) -> Result<(), String> {
    output(program, arguments, text).map(drop)
}

/// Runs `program`, and returns its standard output.
///
/// # Errors
/// As [`run`].
pub(super) fn output(program: &str, arguments: &[&str], text: &str) -> Result<String, String> {
    let mut command = command(program)?;
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = || {
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // Writing fails if the program ends early; its exit status then reports the error.
            let _ = input.write_all(text.as_bytes());
        }
        child.wait_with_output()
    };
    let output = run().map_err(|error| not_run(program, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{program} {}: {}", arguments.join(" "), error_message(&output)))
}

/// The command that runs `program`, which is also searched for in Debian's directory of ovs-vswitchd.
///
/// # Errors
/// A message for the user, if the program is missing.
pub(super) fn command(program: &str) -> Result<Command, String> {
    programs::command_in(program, &[OF_OPEN_VSWITCH]).map_err(|error| not_run(program, &error))
}

/// Why `program` was not run, as a message for the user.
pub(super) fn not_run(program: &str, error: &std::io::Error) -> String {
    if error.kind() != ErrorKind::NotFound {
        return format!("{program} cannot be run: {error}");
    }
    let package = match program {
        "nft" => "nftables",
        "tc" => "iproute2",
        "ovs-vsctl" | "ovs-vswitchd" | "ovsdb-server" | "ovsdb-tool" => "openvswitch-switch",
        other => other,
    };
    format!("{program} is not installed; on Debian it is in the package {package}")
}

fn error_message(output: &Output) -> String {
    let message =
        [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
    let message = message.into_iter().find(|text| !text.is_empty());
    message.unwrap_or_else(|| format!("{}, without a message", output.status))
}
