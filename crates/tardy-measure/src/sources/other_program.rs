//! Another measuring program as a source: a co-kernel's latency program. It runs under the supervisor's loads and
//! watchers, and its output is imported like a file of the same format.

use std::os::fd::RawFd;

use tardy_record::Series;
use tardy_record::foreign::ForeignPlan;
use tardy_record::reason::Reason;
use tardy_record::series::{Level, SeriesKind};

use super::program::{self, Program, STOP_GRACE_NS, last_line};
use crate::engine::{Counted, Finished, KillReason, PhaseContext, Ready, Source, SourceProgress, Supervisor};

/// Time that the program may take beyond the requested duration, for its warm-up and for printing its histogram.
const GRACE_NS: u64 = 15_000_000_000;
/// Smallest accepted share of the requested duration; the program's last second may be cut off.
const MEASURED_MIN: f64 = 0.8;

/// The program of one phase. Times are ns from the start of the run.
pub(crate) struct OtherProgram<'r> {
    context: PhaseContext<'r>,
    plan: &'r ForeignPlan,
    begin_ns: u64,
    /// When the program is killed.
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

    fn end_program(&mut self, on_request: bool) -> Vec<Reason> {
        self.is_killed = true;
        self.has_ended = true;
        self.program.iter_mut().for_each(Program::kill);
        vec![Reason::ToolKilled { tool: self.plan.tool.clone(), on_request }]
    }

    /// Imports the output as series.
    fn import(&mut self, finished: &mut Finished) -> Result<(), String> {
        let read = self.context.request.programs.read_output;
        let run = read(&self.plan.format, &self.plan.tool, &self.output)?;
        for phase in run.phases {
            finished.remarks.extend(phase.remarks);
            finished.reasons.extend(phase.spoilt_by);
        }
        for mut series in run.series {
            finished.reasons.extend(self.contradictions(&series));
            series.phase = self.context.index;
            if let SeriesKind::Foreign(kind) = &mut series.kind {
                // The task's series is the main one; the levels below accompany it.
                kind.beside = series.level != Level::UserThread;
            }
            self.series.push(series);
        }
        Ok(())
    }

    /// The differences between the measurement that the program reports and the request, as reasons.
    fn contradictions(&self, series: &Series) -> Vec<Reason> {
        let (tool, mut reasons) = (self.plan.tool.clone(), Vec::new());
        if let Some(level) = self.plan.level.filter(|level| *level != series.level) {
            let reason = Reason::OtherLevel { tool: tool.clone(), asked: level, reported: series.level };
            reasons.push(reason);
        }
        let interval_ns = series.foreign().and_then(|kind| kind.interval_ns.get());
        if let (Some(asked_ns), Some(reported_ns)) = (self.plan.period_ns.get(), interval_ns)
            && asked_ns != reported_ns
        {
            reasons.push(Reason::OtherPeriod { tool: tool.clone(), asked_ns, reported_ns });
        }
        let asked_ns = self.plan.duration_ns.get().unwrap_or(0);
        if !self.is_stopping && (series.counted_ns as f64) < asked_ns as f64 * MEASURED_MIN {
            reasons.push(Reason::TooShort { tool, asked_ns, measured_ns: series.counted_ns });
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

    /// 0: the program has its own warm-up.
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

    /// Reads output, notices the program's end, and kills a program that takes too long.
    fn on_wake(&mut self, readable: &[bool]) -> Vec<Reason> {
        let Some(program) = self.program.as_mut().filter(|_| !self.has_ended) else { return Vec::new() };
        let ended = program.has_ended();
        // The last output is read even if the program has ended.
        let is_readable = readable.first().is_some_and(|readable| *readable);
        let closed = (is_readable || ended) && program.read(&mut self.output);
        self.has_ended = closed || ended;
        if !self.has_ended && self.context.clock.now_ns() >= self.until_ns {
            return self.end_program(false);
        }
        Vec::new()
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Asks the program to end, as Ctrl-C would; it then prints its results so far.
    fn stop(&mut self) {
        self.is_stopping = true;
        self.program.iter().for_each(Program::interrupt);
    }

    fn stop_patience_ns(&self) -> u64 {
        STOP_GRACE_NS
    }

    fn kill(&mut self, reason: KillReason) -> Vec<Reason> {
        self.end_program(reason == KillReason::InterruptedTwice)
    }

    fn finish(&mut self) -> Finished {
        let mut finished = Finished::default();
        let status = self.program.take().and_then(|mut program| program.end());
        if let Some(status) =
            status.filter(|status| !status.success() && !self.is_stopping && !self.is_killed)
        {
            let (program, how) = (self.plan.tool.clone(), program::how(status));
            let last_line = last_line(&self.output);
            finished.reasons.push(Reason::ProgramEnded { program, how, last_line });
        }
        if let Err(error) = self.import(&mut finished) {
            let (tool, last_line) = (self.plan.tool.clone(), last_line(&self.output));
            finished.reasons.push(Reason::OutputUnreadable { tool, error, last_line });
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
