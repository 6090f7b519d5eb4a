//! The other executables of tardy, such as `tardy-picture`: where they are, and how they are started.
//!
//! They are installed with `tardy`. Each does what most users do not need, so its packages are not in `tardy`.

use std::convert::Infallible;
use std::env;
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};
use tardy_sys::{privileges, programs};

use crate::identity;

/// The variable of the environment in which `tardy` passes its path to the program that it starts.
const CALLER: &str = "TARDY_PROGRAM";
/// Where packages install them, seen from the directory of `tardy`.
const INSTALLED: &str = "../libexec/tardy";

/// The command that starts `tardy-NAME`, with the build of this executable, which the other compares with its own, and its path.
///
/// # Errors
/// If it is not installed: where it was looked for, and how to get it.
pub fn command(name: &str) -> Result<Command> {
    let own = own_path()?;
    let directories = directories_of(&own)?;
    let Some(path) = programs::in_directories(&file_name(name), &directories) else {
        let looked: Vec<String> =
            directories.iter().map(|directory| directory.display().to_string()).collect();
        bail!(
            "this needs the program tardy-{name}, which is in none of {}: packages of tardy install it, and in a clone 'make all' builds it",
            looked.join(", ")
        );
    };
    let mut command = Command::new(path);
    command.env(tardy_identity::VARIABLE, identity::get());
    command.env(CALLER, own);
    Ok(command)
}

/// Whether `tardy-NAME` is installed.
pub fn is_installed(name: &str) -> bool {
    let directories = own_path().and_then(|own| directories_of(&own));
    directories.is_ok_and(|directories| programs::in_directories(&file_name(name), &directories).is_some())
}

/// Executes `tardy-NAME` with the arguments of this process, without the first `skipped` of them, and in its place.
///
/// # Errors
/// If it is not installed, or cannot be executed.
pub fn replace(name: &str, skipped: usize) -> Result<Infallible> {
    let error = command(name)?.args(env::args_os().skip(1 + skipped)).exec();
    Err(error).with_context(|| format!("tardy-{name} cannot be started"))
}

fn file_name(name: &str) -> String {
    format!("tardy-{name}")
}

fn own_path() -> Result<PathBuf> {
    env::current_exe().context("the path of this program is unknown")
}

/// The path of the `tardy` that started this program.
///
/// # Errors
/// If another program did.
pub fn caller() -> Result<PathBuf> {
    let path = env::var_os(CALLER).filter(|path| !path.is_empty());
    path.map(PathBuf::from).context("the path of tardy is unknown: start this command with tardy")
}

fn directories_of(own: &Path) -> Result<Vec<PathBuf>> {
    own.parent().map(directories).context("the path of this program has no directory")
}

/// What `tardy-NAME ARGUMENTS` makes of `input`.
///
/// # Errors
/// If it is not installed, or if it fails: its own message.
pub fn converted(name: &str, arguments: &[impl AsRef<OsStr>], input: &[u8]) -> Result<Vec<u8>> {
    let context = || format!("tardy-{name} cannot be started");
    let mut command = command(name)?;
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(context)?;
    let mut stdin = child.stdin.take().expect("it is a pipe");
    let output = thread::scope(|scope| {
        // A program that refuses its arguments closes its input.
        let writer = scope.spawn(move || match stdin.write_all(input) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        });
        let output = child.wait_with_output();
        writer.join().unwrap_or_else(|_| Err(ErrorKind::Other.into())).and(output)
    });
    let output = output.with_context(context)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        match said.trim() {
            "" => bail!("tardy-{name} failed ({})", output.status),
            said => bail!("{said}"),
        }
    }
    Ok(output.stdout)
}

/// Where they are looked for. A user's PATH chooses no program for root, or with privileges that the user does not have.
fn directories(own: &Path) -> Vec<PathBuf> {
    let mut directories = vec![own.to_owned(), own.join(INSTALLED)];
    if !privileges::are_high() {
        directories.extend(programs::directories());
    }
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_beside_tardy_comes_first_and_roots_path_does_not_count() {
        let own = Path::new("/usr/bin");
        let known = directories(own);
        assert_eq!(known[..2], [own.to_owned(), own.join(INSTALLED)]);
        assert_eq!(known.len() == 2, privileges::are_high());
    }
}
