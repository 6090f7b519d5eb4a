//! A separate Open vSwitch for a test: ovsdb-server(1) and ovs-vswitchd(8) inside the switch's network namespace, with an empty
//! database and with sockets in the test's directory. The system's instance, in another namespace, is not touched.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use tardy_sys::clock::Clock;
use tardy_sys::files::PrivateDirectory;
use tardy_sys::{child, waiting};

use crate::OpenVSwitch;
use crate::open_vswitch::database_in;
use crate::program;

/// The database schema that the package openvswitch-switch installs.
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// Before the monotonic clock reaches 10 s, ovs-vswitchd assumes that the machine has no CPUs and starts no thread for
/// frames of unknown flows, so all such frames are lost (count_cpu_cores() in lib/ovs-thread.c of Open vSwitch 3.1).
const COUNTS_CPUS_FROM_NS: i64 = 10_100_000_000;

/// A running Open vSwitch. Dropping it ends it.
#[derive(Debug)]
pub(super) struct OwnOpenVSwitch {
    /// Removed once the programs have ended.
    directory: PrivateDirectory,
    stop: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl OwnOpenVSwitch {
    /// Starts an Open vSwitch in the calling thread's network namespace.
    ///
    /// # Errors
    /// A message for the user: the program that is not installed, or the error of a program.
    pub(super) fn start() -> Result<Self, String> {
        let directory = PrivateDirectory::create("tardy-openvswitch-")
            .map_err(|error| format!("cannot create a directory for Open vSwitch: {error}"))?;
        let (stop, stopped) = mpsc::channel();
        let (started, outcome) = mpsc::channel();
        let mut own = Self { directory, stop: Some(stop), keeper: None };
        let directory = own.directory.path().to_owned();
        // The programs end with the thread that started them, even if this process is killed.
        let keep = move || keep(&directory, &started, &stopped);
        let keeper = std::thread::Builder::new().name("tardy-ovs".to_owned()).spawn(keep);
        own.keeper =
            Some(keeper.map_err(|error| format!("cannot start a thread for Open vSwitch: {error}"))?);
        outcome.recv().map_err(|_| "Open vSwitch was not started".to_owned())??;
        Ok(own)
    }

    /// The instance, for ovs-vsctl.
    pub(super) fn handle(&self) -> OpenVSwitch {
        OpenVSwitch::Own(self.directory.path().to_owned())
    }
}

impl Drop for OwnOpenVSwitch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// Starts the programs, reports the result, and ends them once the other end of `stopped` is gone.
fn keep(directory: &Path, started: &Sender<Result<(), String>>, stopped: &Receiver<()>) {
    let mut children = Vec::new();
    let _ = started.send(start_programs(directory, &mut children));
    let _ = stopped.recv();
    // The switch ends before its database.
    for mut child in children.into_iter().rev() {
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn start_programs(directory: &Path, children: &mut Vec<Child>) -> Result<(), String> {
    let file = |name: &str| directory.join(name).display().to_string();
    let (tables, socket) = (file("conf.db"), database_in(directory));
    program::run("ovsdb-tool", &["create", &tables, SCHEMA])?;
    let (remote, control) = (format!("--remote=p{socket}"), format!("--unixctl={}", file("db.ctl")));
    children.push(spawn("ovsdb-server", directory, &[&tables, &remote, &control])?);
    let database = format!("--db={socket}");
    program::run("ovs-vsctl", &[&database, "--retry", "--timeout=10", "--no-wait", "init"])?;
    // This waits only on a machine that has just booted, such as a guest of the lab.
    waiting::sleep_until(Clock::Monotonic, COUNTS_CPUS_FROM_NS).map_err(|error| error.to_string())?;
    let control = format!("--unixctl={}", file("switch.ctl"));
    children.push(spawn("ovs-vswitchd", directory, &[&socket, &control])?);
    Ok(())
}

fn spawn(name: &str, directory: &Path, arguments: &[&str]) -> Result<Child, String> {
    let mut command = program::command(name)?;
    command.args(arguments).arg("--verbose=console:off").env("OVS_RUNDIR", directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    child::prepare(&mut command, &[]);
    command.spawn().map_err(|error| program::not_run(name, &error))
}
