//! tardy as the first program of a guest: makes the machine ready, does as it is ordered, hands out the results, and
//! ends the machine.

use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use tardy_sys::emulator_port::EmulatorPort;
use tardy_sys::{clock, kernel_modules, mounts};

use super::orders::{self, LoadedModule, Orders};
use super::peer;
use super::settle::settle;
use super::words::Word;

/// Where the kernel's file systems go. tardy counts in /dev/shm; the rest is what programs expect.
const MOUNTS: [(&str, &str); 7] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("tracefs", "/sys/kernel/tracing"),
];
/// These may be missing from a small kernel, and then the run says what could not be measured.
const OPTIONAL: [&str; 1] = ["tracefs"];

/// Does all that the guest is there for. Returns only where this is no guest: with the reason.
///
/// # Errors
/// When this process is not the first of a machine that the lab emulates.
pub fn main() -> io::Result<Infallible> {
    let mut port = EmulatorPort::open()?;
    let (status, trouble) = match serve(&mut port) {
        Ok(status) => (status, None),
        Err(trouble) => (1, Some(trouble)),
    };
    // Whoever listens has everything by now, or is gone.
    let _ = port.write_all(&Word::End { status, trouble }.line());
    port.end_machine(status);
    Err(io::Error::other("the emulator has no device to end the machine with"))
}

fn serve(port: &mut EmulatorPort) -> Result<u8, String> {
    let booted_at_ns = clock::monotonic_ns();
    say(port, &Word::Booted { at_ns: booted_at_ns })?;
    mount_all()?;
    let orders = read_orders()?;
    load_modules(&orders, false)?;
    peer::loopback()?;
    if orders.peer {
        peer::connect(&orders.outside)?;
    }
    let settled = settle(&orders.settle, booted_at_ns).map_err(|error| error.to_string())?;
    say(port, &Word::Settled(settled))?;
    load_modules(&orders, true)?;
    let status = run_all(port, &orders)?;
    hand_out(port)?;
    Ok(status)
}

fn mount_all() -> Result<(), String> {
    for (kind, place) in MOUNTS {
        match mounts::mount(kind, Path::new(place)) {
            Err(error) if !OPTIONAL.contains(&kind) => {
                return Err(format!("{place} cannot be mounted: {error}"));
            }
            _ => {}
        }
    }
    std::fs::create_dir_all(orders::RESULTS).map_err(|error| format!("{}: {error}", orders::RESULTS))
}

fn read_orders() -> Result<Orders, String> {
    let text = std::fs::read(orders::PATH).map_err(|error| format!("{}: {error}", orders::PATH))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", orders::PATH))
}

/// Loads the modules that come before everything else, or those that wait until it is quiet.
fn load_modules(orders: &Orders, at_rest: bool) -> Result<(), String> {
    for LoadedModule { path, parameters, .. } in
        orders.modules.iter().filter(|module| module.at_rest == at_rest)
    {
        let image = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        kernel_modules::load(&image, parameters)
            .map_err(|error| format!("module {path} does not load: {error}"))?;
    }
    Ok(())
}

/// Runs the commands one after the other and passes on what they say.
fn run_all(port: &mut EmulatorPort, orders: &Orders) -> Result<u8, String> {
    for words in &orders.commands {
        let status = run(port, words)?;
        if status != 0 {
            return Ok(status);
        }
    }
    Ok(0)
}

fn run(port: &mut EmulatorPort, words: &[String]) -> Result<u8, String> {
    let (program, arguments) = words.split_first().ok_or("the guest was ordered to run nothing")?;
    let cannot = |error: io::Error| format!("{program}: {error}");
    let (out, into) = io::pipe().map_err(cannot)?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(orders::RESULTS).stdin(Stdio::null());
    command.stdout(into.try_clone().map_err(cannot)?).stderr(into);
    let mut child = command.spawn().map_err(cannot)?;
    // The writing end lives on in `command`, and no end of file would come while it does.
    drop(command);
    for line in BufReader::new(out).split(b'\n') {
        let text = String::from_utf8_lossy(&line.map_err(cannot)?).into_owned();
        say(port, &Word::Say { text })?;
    }
    let ended = child.wait().map_err(cannot)?;
    match ended.code() {
        Some(status) => Ok(status as u8),
        None => Err(format!("{program} was ended: {ended}; if the guest's memory was full, give it more")),
    }
}

fn hand_out(port: &mut EmulatorPort) -> Result<(), String> {
    let fail = |error: io::Error| format!("{}: {error}", orders::RESULTS);
    let listed: Result<Vec<_>, _> = std::fs::read_dir(orders::RESULTS).map_err(fail)?.collect();
    let mut paths: Vec<_> = listed.map_err(fail)?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.is_file()) {
        let content = std::fs::read(path).map_err(fail)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        say(port, &Word::File { name, bytes: content.len() as u64 })?;
        port.write_all(&content).map_err(|error| format!("the emulator's port: {error}"))?;
    }
    Ok(())
}

fn say(port: &mut EmulatorPort, word: &Word) -> Result<(), String> {
    port.write_all(&word.line()).map_err(|error| format!("the emulator's port: {error}"))
}
