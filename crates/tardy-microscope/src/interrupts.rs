//! Sections of a record in which interrupts were off: who turned them off, and for how long.
//!
//! Interrupts are off after `cli`, and from the entry of an interrupt, an exception or a system call; on after `sti` and in programs
//! (Intel SDM volume 3, 6.8.1). Kernels since 5.12 do not restore them with `popf` on paths that matter.

use crate::block::{Interrupts, Last};
use crate::execution::{Arrival, Step};

/// Interrupts are off from one instruction to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Instructions from the beginning of the record; the first after which they are off.
    pub start: u64,
    /// The instruction that turns them on, or the end of the record.
    pub end: u64,
    /// The address of the instruction that turned them off; `None` if the record begins within the section.
    pub opened_at: Option<u64>,
}

/// The sections, ascending. At its beginning, interrupts are taken to be on unless the first change shows otherwise.
pub fn sections(steps: &[Step<'_>]) -> Vec<Section> {
    let mut state = State::default();
    for (index, step) in steps.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &steps[before]);
        state.arrive(before, step);
        for (index, switch) in step.block.interrupts.iter().filter(|(index, _)| *index < step.executed) {
            let at = step.start + *index as u64 + 1;
            match switch {
                Interrupts::Off => state.off(at, step.block.instructions[*index]),
                Interrupts::On | Interrupts::Restored => state.on(at),
            }
        }
    }
    let end = steps.last().map_or(0, Step::end);
    state.close(end);
    state.sections
}

#[derive(Default)]
struct State {
    sections: Vec<Section>,
    open: Option<(u64, Option<u64>)>,
    /// Whether anything has shown the state yet.
    is_known: bool,
    /// For each interrupt or exception that has not returned: whether interrupts were off before it.
    saved: Vec<bool>,
}

impl State {
    fn arrive(&mut self, before: Option<&Step<'_>>, step: &Step<'_>) {
        let Some(before) = before else { return };
        match step.arrival {
            Arrival::Interrupt => {
                // It shows that they were on before.
                self.is_known = true;
                self.on(step.start);
                self.saved.push(false);
                self.off(step.start, step.block.start);
            }
            Arrival::Exception => {
                self.saved.push(self.open.is_some());
                self.off(step.start, step.block.start);
            }
            Arrival::Flow | Arrival::Switch if step.block.is_of_program() => self.on(step.start),
            Arrival::Flow | Arrival::Switch if before.block.is_of_program() => {
                self.off(step.start, step.block.start)
            }
            Arrival::Flow | Arrival::Switch if before.block.last == Last::InterruptReturn => {
                if !self.saved.pop().unwrap_or(false) {
                    self.on(step.start);
                }
            }
            Arrival::Flow | Arrival::Switch => {}
        }
    }

    fn off(&mut self, at: u64, by: u64) {
        self.is_known = true;
        self.open.get_or_insert((at, Some(by)));
    }

    fn on(&mut self, at: u64) {
        if !self.is_known {
            self.open = Some((0, None));
            self.is_known = true;
        }
        self.close(at);
    }

    fn close(&mut self, at: u64) {
        if let Some((start, opened_at)) = self.open.take()
            && at > start
        {
            self.sections.push(Section { start, end: at, opened_at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::execution::steps;
    use crate::synthetic::{
        CLI, EXCEPTION, INTERRUPT, IRET, NOP, OUTER, PROGRAM, STI, SYSRET, block, entries, wakeup,
    };

    fn of(blocks: &[Block]) -> Vec<(u64, u64, Option<u64>)> {
        let steps = steps(blocks, &wakeup(blocks.len(), &[]), &entries());
        sections(&steps).iter().map(|section| (section.start, section.end, section.opened_at)).collect()
    }

    #[test]
    fn a_section_lasts_from_cli_to_sti() {
        let blocks = [block(OUTER, &[NOP, CLI, NOP]), block(OUTER + 3, &[NOP, STI, NOP])];
        assert_eq!(of(&blocks), [(2, 5, Some(OUTER + 1))]);
    }

    #[test]
    fn an_interrupt_is_a_section_and_an_exception_within_one_does_not_end_it() {
        let blocks = [
            block(OUTER, &[NOP]),
            block(INTERRUPT, &[NOP, IRET]),
            block(OUTER + 1, &[CLI, NOP, NOP]),
            block(EXCEPTION, &[NOP, IRET]),
            block(OUTER + 3, &[NOP, STI]),
        ];
        assert_eq!(of(&blocks), [(1, 3, Some(INTERRUPT)), (4, 9, Some(OUTER + 1))]);
    }

    #[test]
    fn programs_run_with_interrupts_on() {
        let system_call: &[u8] = &[0x0f, 0x05];
        let blocks = [
            block(PROGRAM, &[NOP, system_call]),
            block(OUTER, &[NOP, STI, NOP]),
            block(OUTER + 3, &[CLI, SYSRET]),
            block(PROGRAM + 3, &[NOP]),
        ];
        assert_eq!(of(&blocks), [(2, 4, Some(OUTER)), (6, 7, Some(OUTER + 3))]);
    }

    /// The first change shows that they were off before.
    #[test]
    fn a_record_can_begin_within_a_section() {
        assert_eq!(of(&[block(OUTER, &[NOP, NOP, STI, NOP])]), [(0, 3, None)]);
    }
}
