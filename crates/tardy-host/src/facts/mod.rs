//! What this machine is, and how that is known.
//!
//! Everything comes from kernel files under one root and from a few answers of system calls, which are passed in; so
//! a directory can stand in for any machine. Nothing here needs privileges: what this user may not read is unknown,
//! and says why. Nothing is taken for granted of a file's content either, and so nothing panics on it.
//!
//! The road not taken: asking `dmidecode`, `lscpu`, `cpupower` and the like. They are not there on a small board, and
//! their output changes with their version.

mod answers;
mod clock;
mod co_kernel;
mod cpu;
mod evidence;
mod hypervisor;
mod kernel;
mod kernel_config;
mod look;
mod machine;
mod parameters;
mod preemption;
pub mod process_stat;
mod scheduling;
pub mod threads;

pub use answers::SystemAnswers;
pub use kernel::major_minor;
pub use scheduling::may_set_priorities;

use tardy_record::facts::{Facts, Tardy};
use tardy_sys::kernel_files::KernelFiles;

/// Collects everything that is known of a machine.
///
/// `answers` must be of the same machine as `files`: [`SystemAnswers::ask`] with [`KernelFiles::real`], and
/// [`SystemAnswers::none`] with a directory that stands in for another machine.
pub fn collect(files: &KernelFiles, answers: &SystemAnswers) -> Facts {
    let config = kernel_config::find(files, answers);
    let kernel = kernel::collect(files, answers, config);
    let clock = clock::collect(files, answers);
    let cpu = cpu::collect(files, &kernel, &clock);
    let scheduling = scheduling::collect(files, &kernel);
    let machine = machine::collect(files);
    Facts { kernel, clock, cpu, scheduling, machine, tardy: tardy() }
}

/// What is known of this program at compile time.
fn tardy() -> Tardy {
    let environment = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    Tardy {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: format!("{}-linux-{environment}, {profile}", std::env::consts::ARCH),
    }
}
