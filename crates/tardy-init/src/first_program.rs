//! tardy as the init process of a guest: it prepares the machine, carries out its orders, sends the results to the
//! host, and shuts the machine down.

use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tardy_sys::emulator_port::EmulatorPort;
use tardy_sys::{clock, kernel_modules, mounts};

use crate::messages::Message;
use crate::orders::{self, LoadedModule, Orders};
use crate::peer_namespace;
use crate::wait_until_idle::wait_until_idle;

/// The kernel's file systems. tardy keeps its counters in /dev/shm; programs expect the others.
const MOUNTS: [(&str, &str); 7] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("tracefs", "/sys/kernel/tracing"),
];
/// A small kernel may lack these. The run then states what could not be measured.
const OPTIONAL: [&str; 1] = ["tracefs"];

/// Carries out the guest's orders and shuts the machine down. Returns only if this is not a guest.
///
/// # Errors
/// If this process is not the first program of a machine that the lab emulates.
pub fn main() -> io::Result<Infallible> {
    let mut port = EmulatorPort::open()?;
    let (status, error) = match carry_out_orders(&mut port) {
        Ok(status) => (status, None),
        Err(error) => (1, Some(error)),
    };
    // A failure means that the host has stopped reading.
    let _ = port.write_all(&Message::End { status, error }.line());
    port.end_machine(status);
    Err(io::Error::other("the emulator has no device to end the machine with"))
}

fn carry_out_orders(port: &mut EmulatorPort) -> Result<u8, String> {
    let booted_at_ns = clock::monotonic_ns();
    send(port, &Message::Booted { at_ns: booted_at_ns })?;
    mount_all()?;
    let orders = read_orders()?;
    load_modules(&orders, false)?;
    peer_namespace::set_up_loopback()?;
    if orders.peer {
        peer_namespace::create(&orders.peer_commands)?;
    }
    let settled = wait_until_idle(&orders.idle, booted_at_ns).map_err(|error| error.to_string())?;
    send(port, &Message::Idle(settled))?;
    load_modules(&orders, true)?;
    // This sleep is part of the orders; it does not wait for a condition.
    std::thread::sleep(Duration::from_nanos(orders.start_delay_ns));
    let status = run_all(port, &orders)?;
    send_results(port)?;
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
    tardy_sys::files::make_directories(Path::new(orders::RESULTS))
        .map_err(|error| format!("{}: {error}", orders::RESULTS))
}

fn read_orders() -> Result<Orders, String> {
    let text = std::fs::read(orders::PATH).map_err(|error| format!("{}: {error}", orders::PATH))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", orders::PATH))
}

/// Loads the modules that are needed at the start or, with `at_rest`, those that are loaded once the CPUs are idle.
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

/// Runs the commands in sequence, sends their output to the host, and returns the first status that is not 0.
fn run_all(port: &mut EmulatorPort, orders: &Orders) -> Result<u8, String> {
    for command in &orders.commands {
        let status = run(port, command)?;
        if status != 0 {
            return Ok(status);
        }
    }
    Ok(0)
}

fn run(port: &mut EmulatorPort, command: &[String]) -> Result<u8, String> {
    let (program, arguments) = command.split_first().ok_or("a command for the guest is empty")?;
    let failed = |error: io::Error| format!("{program}: {error}");
    let (out, into) = io::pipe().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(orders::RESULTS).stdin(Stdio::null());
    command.stdout(into.try_clone().map_err(failed)?).stderr(into);
    let mut child = command.spawn().map_err(failed)?;
    // `command` holds the write end of the pipe. The output would never end while it is open.
    drop(command);
    for line in BufReader::new(out).split(b'\n') {
        let text = String::from_utf8_lossy(&line.map_err(failed)?).into_owned();
        send(port, &Message::Output { text })?;
    }
    let ended = child.wait().map_err(failed)?;
    match ended.code() {
        Some(status) => Ok(status as u8),
        None => Err(format!(
            "{program} was killed: {ended}; if the guest ran out of memory, use --memory to give it more"
        )),
    }
}

fn send_results(port: &mut EmulatorPort) -> Result<(), String> {
    let fail = |error: io::Error| format!("{}: {error}", orders::RESULTS);
    let listed: Result<Vec<_>, _> = std::fs::read_dir(orders::RESULTS).map_err(fail)?.collect();
    let mut paths: Vec<_> = listed.map_err(fail)?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.is_file()) {
        let content = std::fs::read(path).map_err(fail)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        send(port, &Message::File { name, bytes: content.len() as u64 })?;
        port.write_all(&content).map_err(|error| format!("the emulator's port: {error}"))?;
    }
    Ok(())
}

fn send(port: &mut EmulatorPort, message: &Message) -> Result<(), String> {
    port.write_all(&message.line()).map_err(|error| format!("the emulator's port: {error}"))
}
