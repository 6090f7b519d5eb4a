//! Another program that measures: a co-kernel's own. It runs under the supervisor's loads and watchers, and what it prints is
//! imported as its file would be.

use std::os::fd::RawFd;

use tardy_formats::ImportOptions;
use tardy_host::co_kernel::LATMUS_PLOT;
use tardy_record::Series;
use tardy_record::foreign::ForeignPlan;
use tardy_record::series::{Level, SeriesKind};
use tardy_record::units::format_duration_ns;

use super::program::{self, Program, STOP_GRACE_NS, last_line};
use crate::engine::{Counted, Finished, KillReason, PhaseContext, Ready, Source, SourceProgress, Supervisor};

/// How long it may take beyond its duration: it warms up, and prints its histogram.
const GRACE_NS: u64 = 15_000_000_000;
/// It must have measured for at least this share of the requested duration: its last second may be cut off.
const MEASURED_MIN: f64 = 0.8;

/// The program of one phase. Times are ns from the start of the run.
pub(crate) struct OtherProgram<'r> {
    context: PhaseContext<'r>,
    plan: &'r ForeignPlan,
    begin_ns: u64,
    /// When it is killed.
    until_ns: u64,
    program: Option<Program>,
    output: Vec<u8>,
    has_ended: bool,
    is_stopping: bool,
    is_killed: bool,
    series: Vec<Series>,
}

impl<'r> OtherProgram<'r> {
    /// The program of `plan`, not started.
    pub(crate) fn new(context: PhaseContext<'r>, plan: &'r ForeignPlan) -> Self {
        Self {
            context,
            plan,
            begin_ns: 0,
            until_ns: u64::MAX,
            program: None,
            output: Vec::new(),
            has_ended: false,
            is_stopping: false,
            is_killed: false,
            series: Vec::new(),
        }
    }

    fn end_program(&mut self, how: &str) -> Vec<String> {
        self.is_killed = true;
        self.has_ended = true;
        self.program.iter_mut().for_each(Program::kill);
        vec![format!("{} {how}", self.plan.tool)]
    }

    /// Makes series of what was printed.
    fn import(&mut self, finished: &mut Finished) -> Result<(), String> {
        let format = &self.plan.format;
        let importer = tardy_formats::detect::by_name(format).ok_or("its format has no importer")?;
        let options = ImportOptions::default();
        let plot = plot_in(format, &self.output);
        let imported = tardy_formats::import_bytes(plot, &self.plan.tool, Some(importer), &options);
        let run = imported.map_err(|error| error.to_string())?.run;
        for phase in run.phases {
            finished.remarks.extend(phase.remarks);
            finished.reasons.extend(phase.spoilt_by);
        }
        for mut series in run.series {
            finished.reasons.extend(self.contradictions(&series));
            series.phase = self.context.index;
            if let SeriesKind::Foreign(kind) = &mut series.kind {
                // The program is a task, which answers for the machine; the levels below accompany it.
                kind.beside = series.level != Level::UserThread;
            }
            self.series.push(series);
        }
        Ok(())
    }

    /// Where what the program reports to have measured differs from what was requested.
    fn contradictions(&self, series: &Series) -> Vec<String> {
        let (tool, mut reasons) = (&self.plan.tool, Vec::new());
        if let Some(level) = self.plan.level.filter(|level| *level != series.level) {
            let (asked, reported) = (level.name(), series.level.name());
            reasons.push(format!("{tool} was asked for the {asked}, and reports that it is the {reported}"));
        }
        let interval_ns = series.foreign().and_then(|kind| kind.interval_ns.get());
        if let (Some(asked), Some(reported)) = (self.plan.period_ns.get(), interval_ns)
            && asked != reported
        {
            let [asked, reported] = [asked, reported].map(format_duration_ns);
            reasons.push(format!("{tool} was asked for a period of {asked}, and reports {reported}"));
        }
        let asked_ns = self.plan.duration_ns.get().unwrap_or(0);
        if !self.is_stopping && (series.counted_ns as f64) < asked_ns as f64 * MEASURED_MIN {
            let [asked, measured] = [asked_ns, series.counted_ns].map(format_duration_ns);
            reasons.push(format!("{tool} was asked to measure for {asked}, and measured for {measured}"));
        }
        reasons
    }
}

impl Source for OtherProgram<'_> {
    fn set_up(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<Ready, String> {
        self.begin_ns = self.context.clock.now_ns();
        self.program = Some(Program::start(&self.plan.run)?);
        let tool = &self.plan.tool;
        let early = |gravity: &String| format!("{tool} sets its timers early, by {gravity} (gravity)");
        Ok(Ready { remarks: self.plan.gravity.iter().map(early).collect(), ..Ready::default() })
    }

    /// It has a warm-up of its own.
    fn warmup_ns(&self, _planned_ns: u64) -> u64 {
        0
    }

    fn start(&mut self, _counted: Counted) -> Result<(), String> {
        self.until_ns = self.begin_ns + self.context.plan.planned_ns() + GRACE_NS;
        Ok(())
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.program.iter().map(Program::output_fd).collect()
    }

    fn wait_ns(&self) -> u64 {
        self.until_ns.saturating_sub(self.context.clock.now_ns())
    }

    /// Waits until the program's output ends, or kills a program that takes too long.
    fn on_wake(&mut self, readable: &[bool]) -> Vec<String> {
        let Some(program) = self.program.as_mut().filter(|_| !self.has_ended) else { return Vec::new() };
        let ended = program.has_ended();
        // What it printed last is read even if it has ended.
        let is_readable = readable.first().is_some_and(|readable| *readable);
        let closed = (is_readable || ended) && program.read(&mut self.output);
        self.has_ended = closed || ended;
        if !self.has_ended && self.context.clock.now_ns() >= self.until_ns {
            return self.end_program("did not end in time, and was killed");
        }
        Vec::new()
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Asks the program to end, as Ctrl-C would; it prints what it has.
    fn stop(&mut self) {
        self.is_stopping = true;
        self.program.iter().for_each(Program::interrupt);
    }

    fn stop_patience_ns(&self) -> u64 {
        STOP_GRACE_NS
    }

    fn kill(&mut self, reason: KillReason) -> Vec<String> {
        self.end_program(match reason {
            KillReason::InterruptedTwice => "was asked twice to end, and was killed",
            KillReason::Unresponsive => "did not end in time, and was killed",
        })
    }

    fn finish(&mut self) -> Finished {
        let mut finished = Finished::default();
        let status = self.program.take().and_then(|mut program| program.end());
        if let Some(status) =
            status.filter(|status| !status.success() && !self.is_stopping && !self.is_killed)
        {
            let (how, line) = (program::how(status), last_line(&self.output));
            finished.reasons.push(format!("{} ended with {how}: {line}", self.plan.tool));
        }
        if let Err(reason) = self.import(&mut finished) {
            let (tool, line) = (&self.plan.tool, last_line(&self.output));
            finished
                .reasons
                .push(format!("the output of {tool} cannot be imported: {reason}; its last line: {line}"));
        }
        finished
    }

    fn progress(&self) -> SourceProgress {
        SourceProgress {
            counted_from_ns: Some(self.begin_ns),
            counted_ns: self.context.clock.now_ns().saturating_sub(self.begin_ns),
            ..SourceProgress::default()
        }
    }

    fn series(&self) -> Vec<Series> {
        self.series.clone()
    }

    fn may_lack_series(&self) -> bool {
        true
    }
}

/// The part of the output that is imported: of a plot that follows other lines, its own lines, which begin with a comment.
fn plot_in<'a>(format: &str, output: &'a [u8]) -> &'a [u8] {
    if format != LATMUS_PLOT {
        return output;
    }
    let begins = |at: &usize| output[*at] == b'#' && (*at == 0 || output[*at - 1] == b'\n');
    (0..output.len()).find(begins).map_or(output, |at| &output[at..])
}
