//! A program that wiggles the pin instead of tardy, which only reads the echo: for comparison with other languages.

use std::os::fd::RawFd;

use tardy_record::Series;
use tardy_record::reason::Reason;

use super::program::{self, Program, STOP_GRACE_NS, last_line};
use crate::engine::{Counted, Finished, KillReason, PhaseContext, Ready, Source, SourceProgress, Supervisor};

/// The program of one phase. The phase's only series is the echo's. Times are ns from the start of the run.
pub(crate) struct WiggleProgram<'r> {
    context: PhaseContext<'r>,
    /// The program and its arguments.
    command: &'r [String],
    /// The running program. A synthetic run has none.
    program: Option<Program>,
    output: Vec<u8>,
    is_output_open: bool,
    from_ns: u64,
    to_ns: u64,
    has_ended: bool,
}

impl<'r> WiggleProgram<'r> {
    /// The program `command`, not started.
    pub(crate) fn new(context: PhaseContext<'r>, command: &'r [String]) -> Self {
        Self {
            context,
            command,
            program: None,
            output: Vec::new(),
            is_output_open: true,
            from_ns: 0,
            to_ns: u64::MAX,
            has_ended: false,
        }
    }

    fn ended_early(&mut self) -> Vec<Reason> {
        self.has_ended = true;
        let Some(mut program) = self.program.take() else { return Vec::new() };
        program.read(&mut self.output);
        let how = program.end().map_or_else(|| "an unknown status".to_owned(), program::how);
        let program = "the program that wiggles the pin".to_owned();
        vec![Reason::ProgramEnded { program, how, last_line: last_line(&self.output) }]
    }
}

impl Source for WiggleProgram<'_> {
    fn set_up(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<Ready, String> {
        if self.context.request.fake.is_none() {
            self.program = Some(Program::start(self.command)?);
        }
        Ok(Ready::default())
    }

    fn start(&mut self, counted: Counted) -> Result<(), String> {
        (self.from_ns, self.to_ns) = (counted.counted_from_ns(), counted.counted_to_ns());
        self.context.clock.advance_to(self.to_ns);
        Ok(())
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.program.iter().filter(|_| self.is_output_open).map(Program::output_fd).collect()
    }

    fn wait_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.context.clock.now_ns())
    }

    fn on_wake(&mut self, readable: &[bool]) -> Vec<Reason> {
        let Some(program) = &mut self.program else { return Vec::new() };
        if readable.first().is_some_and(|readable| *readable) {
            self.is_output_open = !program.read(&mut self.output);
        }
        let ended_early = self.context.clock.now_ns() < self.to_ns && program.has_ended();
        if ended_early { self.ended_early() } else { Vec::new() }
    }

    fn has_ended(&self) -> bool {
        self.has_ended || self.context.clock.now_ns() >= self.to_ns
    }

    /// Ends the phase; [`Self::finish`] then ends the program.
    fn stop(&mut self) {
        self.has_ended = true;
    }

    fn stop_patience_ns(&self) -> u64 {
        STOP_GRACE_NS
    }

    fn kill(&mut self, _reason: KillReason) -> Vec<Reason> {
        self.has_ended = true;
        self.program = None;
        Vec::new()
    }

    fn finish(&mut self) -> Finished {
        if let Some(mut program) = self.program.take() {
            program.interrupt();
            program.end();
        }
        Finished::default()
    }

    fn progress(&self) -> SourceProgress {
        let now_ns = self.context.clock.now_ns();
        SourceProgress {
            counted_from_ns: Some(self.from_ns),
            counted_to_ns: Some(now_ns.min(self.to_ns).max(self.from_ns)),
            counted_ns: now_ns.saturating_sub(self.from_ns),
            ..SourceProgress::default()
        }
    }

    fn series(&self) -> Vec<Series> {
        Vec::new()
    }
}
