//! A phase that another program measures: a co-kernel's own. It runs under the house's loads and watchers, and what it
//! prints is imported as its file would be.

use std::io::{PipeReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use tardy_formats::ImportOptions;
use tardy_record::event::EventKind;
use tardy_record::foreign::ForeignPlan;
use tardy_record::plan::PhasePlan;
use tardy_record::run::Phase;
use tardy_sys::child::{self, signal};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::signals::wait_readable;

use super::house::House;
use super::observer::Standing;
use super::phase::{End, TICK_NS};
use super::tracer_phase::SignOfLife;
use crate::co_kernel::LATMUS_PLOT;
use crate::watch::Occasion;

/// How long it may take beyond what it was told: it warms up, and prints its histogram.
const GRACE_NS: u64 = 30_000_000_000;
/// How long it may take to end when it is asked to.
const STOP_GRACE_NS: u64 = 5_000_000_000;
/// How often a program that has said its last word is looked at.
const END_LOOK_NS: u64 = 5_000_000;
/// More than any histogram of it: a program that prints without end must not fill the memory.
const OUTPUT_BYTES_MAX: usize = 64 << 20;

/// Runs phase `index` of the plan, which `foreign` measures.
pub(super) fn run(
    house: &mut House<'_>,
    index: usize,
    plan: &PhasePlan,
    foreign: &ForeignPlan,
) -> Result<End, String> {
    house.start_loads(plan)?;
    let _sign = SignOfLife::make(&house.run.origin.id, index)?;
    let begin_ns = house.clock.now_ns();
    house.watchers.read_before(begin_ns);
    let program = Program::start(&foreign.run)?;
    let label = plan.label.clone();
    let early = |gravity: &String| format!("{} sets its timers early, by {gravity} (gravity)", foreign.tool);
    let remarks = foreign.gravity.iter().map(early).collect();
    house.run.phases.push(Phase { label, start_ns: begin_ns, end_ns: None, remarks, spoilt_by: Vec::new() });
    house.note(EventKind::Phase, &format!("phase '{}' begins", plan.label), 0);
    house.checkpoint();
    house.loads_begin(index);
    let until_ns = begin_ns + plan.planned_ns() + GRACE_NS;
    let mut watch =
        Watch { house, index, plan, begin_ns, until_ns, program, output: Vec::new(), stopping: false };
    let end = watch.until_the_end()?;
    watch.take_over(foreign);
    Ok(end)
}

/// The program. It is killed when this is dropped.
struct Program {
    child: Child,
    output: PipeReader,
}

impl Program {
    fn start(words: &[String]) -> Result<Self, String> {
        let (program, arguments) =
            words.split_first().ok_or("the plan names no program; please report it")?;
        let cannot = |error: std::io::Error| format!("{program} cannot be started: {error}");
        let (output, writer) = std::io::pipe().map_err(cannot)?;
        child::do_not_wait_on(&output).map_err(cannot)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        child::prepare(&mut command, &[]);
        command.stdout(writer.try_clone().map_err(cannot)?).stderr(writer);
        let child = command.spawn().map_err(cannot)?;
        Ok(Self { child, output })
    }

    /// Whether its output is at its end.
    fn read(&mut self, into: &mut Vec<u8>) -> bool {
        let mut chunk = [0; 16 << 10];
        loop {
            match self.output.read(&mut chunk) {
                Ok(0) => return true,
                Ok(count) => {
                    let room = OUTPUT_BYTES_MAX.saturating_sub(into.len());
                    into.extend_from_slice(&chunk[..count.min(room)]);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
            }
        }
    }
}

impl Program {
    /// How it ended. One that has closed its output and does not end is killed.
    fn end(&mut self) -> Option<ExitStatus> {
        let end_ns = monotonic_ns() + STOP_GRACE_NS;
        while monotonic_ns() < end_ns {
            if let Some(status) = self.child.try_wait().ok()? {
                return Some(status);
            }
            // The end of a process cannot be waited for together with a time; it is due at any moment.
            let _ = wait_readable(&[], END_LOOK_NS);
        }
        let _ = self.child.kill();
        self.child.wait().ok()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A phase that is under way. Times are ns from the start of the run.
struct Watch<'h, 'o, 'p> {
    house: &'h mut House<'o>,
    index: usize,
    plan: &'p PhasePlan,
    begin_ns: u64,
    until_ns: u64,
    program: Program,
    output: Vec<u8>,
    stopping: bool,
}

impl Watch<'_, '_, '_> {
    /// Waits until the program's output ends. A second interruption, or no end in time, kills it.
    fn until_the_end(&mut self) -> Result<End, String> {
        let mut next_tick_ns = self.house.clock.now_ns() + TICK_NS;
        loop {
            let now_ns = self.house.clock.now_ns();
            let fds = [self.house.signals.as_raw_fd(), self.program.output.as_raw_fd()];
            let ready = wait_readable(&fds, next_tick_ns.saturating_sub(now_ns))
                .map_err(|error| error.to_string())?;
            if ready[0] && self.house.signals.take().is_some() && !self.stop() {
                break;
            }
            if ready[1] && self.program.read(&mut self.output) {
                break;
            }
            let now_ns = self.house.clock.now_ns();
            if now_ns >= self.until_ns {
                let reason = format!("{} did not end in time, and was killed", self.name());
                self.spoil(reason);
                break;
            }
            if now_ns >= next_tick_ns {
                self.tick();
                next_tick_ns = now_ns + TICK_NS;
            }
        }
        Ok(if self.stopping { End::Interrupted } else { End::Complete })
    }

    /// Asks the program to end, as Ctrl-C would; it prints what it has. Whether that was the first time.
    fn stop(&mut self) -> bool {
        if std::mem::replace(&mut self.stopping, true) {
            return false;
        }
        self.house.note(EventKind::Interrupted, "asked to end", 0);
        self.house.observer.interrupted();
        let _ = child::send(self.program.child.id(), signal::INTERRUPT);
        self.until_ns = self.house.clock.now_ns() + STOP_GRACE_NS;
        true
    }

    fn name(&self) -> String {
        self.plan.probe.foreign().map_or_else(String::new, |foreign| foreign.tool.clone())
    }

    fn spoil(&mut self, reason: String) {
        self.house.observer.say(&reason);
        self.house.run.phases[self.index].spoilt_by.push(reason);
    }

    fn tick(&mut self) {
        let now_ns = self.house.clock.now_ns();
        self.house.watchers.read(now_ns, Occasion::Tick);
        self.house.read_loads(now_ns);
        let standing = Standing {
            phase: &self.plan.label,
            number: self.index + 1,
            of: self.house.request.plan.phases.len(),
            counted_ns: now_ns.saturating_sub(self.begin_ns),
            planned_ns: self.plan.planned_ns(),
            worst: None,
            missed: 0,
        };
        self.house.observer.progress(&standing);
        if self.house.file.is_due(now_ns) {
            self.house.refresh_surroundings();
            self.house.checkpoint();
        }
    }

    /// Makes series of what was printed, and writes the run.
    fn take_over(&mut self, foreign: &ForeignPlan) {
        let ended = self.program.end();
        let now_ns = self.house.clock.now_ns();
        self.house.loads_end();
        self.house.watchers.read(now_ns, Occasion::Boundary);
        if let Some(status) = ended
            && !status.success()
            && !self.stopping
        {
            let how = status.code().map_or_else(
                || format!("signal {}", status.signal().unwrap_or_default()),
                |code| format!("exit status {code}"),
            );
            self.spoil(format!("{} ended with {how}: {}", foreign.tool, last_line(&self.output)));
        }
        self.house.run.phases[self.index].end_ns = Some(now_ns);
        match self.import(foreign) {
            Ok(()) => {}
            Err(reason) => {
                let told = last_line(&self.output);
                self.spoil(format!(
                    "what {} printed makes no run: {reason}; its last line: {told}",
                    foreign.tool
                ));
            }
        }
        self.house.refresh_surroundings();
        self.house.run.refresh_progress();
        self.house.note(EventKind::Phase, &format!("phase '{}' ends", self.plan.label), 0);
        self.house.checkpoint();
    }

    fn import(&mut self, foreign: &ForeignPlan) -> Result<(), String> {
        let format = tardy_formats::detect::by_name(&foreign.format).ok_or("its format has no importer")?;
        let options = ImportOptions::default();
        let imported = tardy_formats::import_bytes(
            plot_in(&foreign.format, &self.output),
            &foreign.tool,
            Some(format),
            &options,
        );
        let run = imported.map_err(|error| error.to_string())?.run;
        let phase = &mut self.house.run.phases[self.index];
        for imported in run.phases {
            phase.remarks.extend(imported.remarks);
            phase.spoilt_by.extend(imported.spoilt_by);
        }
        self.house.run.series.extend(run.series.into_iter().map(|mut series| {
            series.phase = self.index;
            series
        }));
        Ok(())
    }
}

/// What is to be imported: of a plot that stands behind other lines, its own lines, which begin with a comment.
fn plot_in<'a>(format: &str, output: &'a [u8]) -> &'a [u8] {
    if format != LATMUS_PLOT {
        return output;
    }
    let begins = |at: &usize| output[*at] == b'#' && (*at == 0 || output[*at - 1] == b'\n');
    (0..output.len()).find(begins).map_or(output, |at| &output[at..])
}

/// The last line that is not empty, as the reason that programs give.
fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    line.trim().chars().take(200).collect()
}
