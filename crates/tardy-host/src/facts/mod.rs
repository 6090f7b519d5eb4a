//! Facts about this machine, each with its source.
//!
//! Every fact comes from kernel files under one root and from a few system calls whose results are passed in, so a
//! directory can represent any machine. Nothing here needs privileges: a fact that this user may not read is unknown,
//! with the reason. File contents are untrusted; no content causes a panic.
//!
//! Alternative not chosen: running `dmidecode`, `lscpu` or `cpupower`. They are missing on small boards, and their
//! output changes with the version.

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
mod release;
mod scheduling;
pub mod threads;
mod tuning;

pub use answers::SystemAnswers;
pub use kernel_config::has_option;
pub use release::major_minor;
pub use scheduling::may_set_priorities;
pub(crate) use tuning::container;
pub use tuning::{collect as collect_tuning, cpu_quotas};

use tardy_record::facts::{Facts, Tardy};
use tardy_sys::kernel_files::KernelFiles;

/// Collects all facts about a machine.
///
/// `answers` must belong to the same machine as `files`: [`SystemAnswers::ask`] with [`KernelFiles::real`], and
/// [`SystemAnswers::none`] with a directory that represents another machine.
pub fn collect(files: &KernelFiles, answers: &SystemAnswers) -> Facts {
    let config = kernel_config::find(files, answers);
    let kernel = kernel::collect(files, answers, config);
    let clock = clock::collect(files, answers);
    let cpu = cpu::collect(files, &kernel, &clock);
    let scheduling = scheduling::collect(files, &kernel);
    let machine = machine::collect(files);
    Facts { kernel, clock, cpu, scheduling, machine, tardy: tardy() }
}

/// This program's version and build.
fn tardy() -> Tardy {
    let environment = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    Tardy {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: format!("{}-linux-{environment}, {profile}", std::env::consts::ARCH),
    }
}
