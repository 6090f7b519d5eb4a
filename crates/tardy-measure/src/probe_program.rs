//! The program of the processes that measure.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;

use tardy_host::cgroups::processes_of;
use tardy_sys::child;
use tardy_sys::in_memory_program::InMemoryProgram;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::privileges;
use tardy_sys::privileges::capabilities::{Ambient, OF_A_PROBE, keep_only};
use tardy_sys::trace_files;

/// `tardy-probe`, which is small, executed from memory; or tardy itself, which has the same hidden commands, if there is
/// no `tardy-probe` or it cannot be executed.
#[derive(Clone, Debug)]
pub struct ProbeProgram {
    small: Option<Arc<InMemoryProgram>>,
    tardy: PathBuf,
}

impl ProbeProgram {
    /// The program `small`, or the executable `tardy` if `small` is empty or this system executes no programs in memory:
    /// before Linux 3.17, and with `vm.memfd_noexec=2`.
    pub fn new(small: &[u8], tardy: PathBuf) -> Self {
        let small = if small.is_empty() {
            None
        } else {
            InMemoryProgram::new("tardy-probe", small).ok().map(Arc::new)
        };
        Self { small, tardy }
    }

    /// Starts it. `prepare` completes the command: its arguments, its environment and its standard streams. The process
    /// has those capabilities of this one that measuring needs, and if tardy's file granted them, an empty environment.
    ///
    /// If `cgroup` is the directory of a cgroup, the process moves there before it executes the program.
    ///
    /// # Errors
    /// If the cgroup takes no process of this user, or tardy itself cannot be started either.
    pub(crate) fn spawn(
        &self,
        cgroup: Option<&str>,
        prepare: impl Fn(&mut Command),
    ) -> Result<Child, String> {
        let entrance = cgroup.map(entrance).transpose()?;
        let prepare = |command: &mut Command| -> io::Result<()> {
            prepare(command);
            if let Some(processes) = &entrance {
                child::join_cgroup(command, processes.try_clone()?);
            }
            Ok(())
        };
        if let Some(small) = &self.small {
            // Can fail where a security module forbids it, or where capabilities cannot be passed on.
            if let Ok(child) = Self::spawn_small(small, &prepare) {
                return Ok(child);
            }
        }
        let mut command = Command::new(&self.tardy);
        // Its own file grants the capabilities again, if it has any.
        restrict(&mut command, Ambient::UnlessGained);
        let place = cgroup.map(|directory| format!(" in the cgroup {directory}")).unwrap_or_default();
        prepare(&mut command)
            .and_then(|()| command.spawn())
            .map_err(|error| format!("{}, cannot be started{place}: {error}", self.tardy.display()))
    }

    fn spawn_small(
        small: &InMemoryProgram,
        prepare: &impl Fn(&mut Command) -> io::Result<()>,
    ) -> io::Result<Child> {
        let mut command = small.command();
        restrict(&mut command, Ambient::Required);
        prepare(&mut command)?;
        command.spawn()
    }
}

/// The file through which a process moves into a cgroup.
fn entrance(directory: &str) -> Result<File, String> {
    let path = KernelFiles::real().resolve(&processes_of(directory));
    trace_files::open_to_write(&path).map_err(|error| {
        format!(
            "{}, cannot be opened: {error}; the probe has to move into that cgroup, which owns its CPUs",
            path.display()
        )
    })
}

/// Limits what the process may do, and what the user can make it do.
fn restrict(command: &mut Command, ambient: Ambient) {
    keep_only(command, OF_A_PROBE, ambient);
    if privileges::were_gained() {
        // With ambient capabilities, no C library treats the environment as hostile.
        command.env_clear();
    }
}
