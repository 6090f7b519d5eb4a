//! cyclictest's JSON, with the colons in its keys that parsers of the format expect.

use tardy_record::Run;
use tardy_record::facts::Fact;

use super::{ExportOptions, cyclictest_threads};
use crate::cyclictest::{self, Circumstances, System};
use crate::error::ExportError;
use crate::imported::Unit;

/// The text of `run`.
pub(super) fn text(run: &Run, options: &ExportOptions) -> Result<String, ExportError> {
    let threads = cyclictest_threads::of(run, options.unit, "cyclictest-json")?;
    let kernel = &run.facts.kernel;
    let known = |fact: &Fact<String>| fact.get().cloned().unwrap_or_default();
    let circumstances = Circumstances {
        command_line: command_line(run),
        version: format!("tardy {}", env!("CARGO_PKG_VERSION")),
        start_time: crate::dates::rfc2822_of(&run.origin.started_at),
        end_time: None,
        return_code: u8::from(!run.validity.valid),
        system: System {
            sysname: "Linux".to_owned(),
            nodename: run.origin.host.clone(),
            release: known(&kernel.release),
            version: known(&kernel.version),
            machine: known(&kernel.machine),
            realtime: kernel.real_time.get().map(|is| u8::from(*is)),
        },
        in_ns: options.unit == Unit::Ns,
    };
    Ok(cyclictest::json(&threads, &circumstances))
}

/// The command line of the tool that measured. For an imported run, it is the one in the file.
fn command_line(run: &Run) -> String {
    let foreign = run.plan.phases.iter().find_map(|phase| phase.probe.foreign()?.command.known().cloned());
    foreign.unwrap_or_else(|| run.origin.command.join(" "))
}
