//! `tardy check`: describes this machine, reports whether it is real-time, and suggests improvements.

mod measure;
mod program;

use anyhow::Result;
use serde::Serialize;
use tardy_analyse::readiness::{self, Readiness};
use tardy_host::container::{self, Lacking};
use tardy_host::facts::{self, SystemAnswers};
use tardy_present::check::{self, Extent};
use tardy_record::facts::Facts;
use tardy_record::tuning::Tuning;
use tardy_sys::kernel_files::KernelFiles;

use tardy_args::CheckArgs;
use tardy_command::{Exit, output};

#[derive(Serialize)]
struct Answer {
    facts: Facts,
    settings: Tuning,
    readiness: Readiness,
    /// What this container lacks; absent outside of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    container_lacks: Vec<Lacking>,
}

/// Examines this machine.
pub(crate) fn run(arguments: &CheckArgs) -> Result<Exit> {
    if let Some(program) = &arguments.program {
        return program::run(program, arguments.json);
    }
    if let [program, words @ ..] = &arguments.command[..] {
        return program::run_started(program, words, arguments.json);
    }
    if arguments.measure {
        return measure::run(arguments);
    }
    let files = KernelFiles::under(&arguments.kernel_root);
    let answers = if files.is_real() { SystemAnswers::ask() } else { SystemAnswers::none() };
    let facts = facts::collect(&files, &answers);
    let settings = facts::collect_tuning(&files, &facts);
    let readiness = readiness::judge(&facts, &settings);
    let exit = if readiness.ready { Exit::Done } else { Exit::Failed };
    let container = container::name(&files);
    let container_lacks = container.as_ref().map_or_else(Vec::new, |_| container::lacking(&files));
    if arguments.json {
        output::print_json(&Answer { facts, settings, readiness, container_lacks })?;
    } else {
        let extent = if arguments.full { Extent::Full } else { Extent::Short };
        output::print(&check::text(&facts, &readiness, extent, output::colour()))?;
        output::print(&container::text(&container.unwrap_or_default(), &container_lacks))?;
    }
    Ok(exit)
}
