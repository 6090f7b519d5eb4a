//! Which function was executing when, and who had called it, from the order of blocks alone.
//!
//! A call and its return are seen as such. What was entered before the record begins is found backwards: a return that nothing in the
//! record called shows who had called. Jumps into another function take the place of the function that jumped (tail calls). The
//! kernel's detours around speculative execution (`__x86_indirect_thunk_rax`, `__x86_return_thunk`) are not functions by themselves: a
//! return to the first instruction of a function is a jump there.

use crate::block::Last;
use crate::execution::{Arrival, Step};
use crate::names::{Name, Names};
use crate::observed::Wakeup;

/// An execution of a function, from its call to its return, or the part of it that is in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The function, or the task for a span without a parent.
    pub name: Name,
    /// The index of the caller's span.
    pub parent: Option<usize>,
    /// Instructions from the beginning of the record to its first.
    pub start: u64,
    /// Instructions from the beginning of the record to after its last.
    pub end: u64,
}

/// The spans of a wake-up, in the order in which they begin; callers come before what they call. `steps` are the wake-up's.
pub fn spans(steps: &[Step<'_>], wakeup: &Wakeup, names: &mut Names<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut start = 0;
    let switches = wakeup.switches.iter().map(|switch| (switch.index, &switch.from));
    for (end, task) in switches.chain([(steps.len(), &wakeup.task)]) {
        if start < end {
            let task = names.other(&format!("{} {}", task.name, task.pid));
            context(&steps[start..end], task, names, &mut spans);
        }
        start = end;
    }
    spans
}

/// The steps of one task between two switches.
fn context(steps: &[Step<'_>], task: Name, names: &mut Names<'_>, spans: &mut Vec<Span>) {
    // The first pass only finds who had called before.
    let mut callers = Stack::new(Vec::new(), task, steps[0].start);
    callers.run(steps, names);
    callers.unknown_callers.reverse();
    let mut stack = Stack::new(callers.unknown_callers, task, steps[0].start);
    stack.run(steps, names);
    stack.truncate(0, steps[steps.len() - 1].end());
    let base = spans.len();
    spans.extend(
        stack.spans.into_iter().map(|span| Span { parent: span.parent.map(|parent| parent + base), ..span }),
    );
}

struct Frame {
    name: Name,
    span: usize,
    is_interrupt: bool,
}

struct Stack {
    spans: Vec<Span>,
    frames: Vec<Frame>,
    /// Functions that returns led to and that had not called in the record, innermost first.
    unknown_callers: Vec<Name>,
}

impl Stack {
    fn new(callers: Vec<Name>, task: Name, at: u64) -> Self {
        let mut stack = Self { spans: Vec::new(), frames: Vec::new(), unknown_callers: Vec::new() };
        stack.push(task, false, at);
        for caller in callers {
            stack.push(caller, false, at);
        }
        stack
    }

    fn run(&mut self, steps: &[Step<'_>], names: &mut Names<'_>) {
        let (first, _) = names.at(steps[0].block.start);
        self.push(first, false, steps[0].start);
        for pair in steps.windows(2) {
            self.follow(&pair[0], &pair[1], names);
        }
    }

    fn follow(&mut self, before: &Step<'_>, step: &Step<'_>, names: &mut Names<'_>) {
        let at = step.start;
        let (name, is_start) = names.at(step.block.start);
        match step.arrival {
            Arrival::Interrupt | Arrival::Exception => return self.push(name, true, at),
            Arrival::Flow | Arrival::Switch => {}
        }
        if before.block.is_of_program() != step.block.is_of_program() {
            // A system call, or the way back to the program.
            self.truncate(1, at);
            return self.push(name, false, at);
        }
        if step.block.is_of_program() {
            // Its functions are not known, so that its calls and returns mean nothing.
            return self.replace(name, at);
        }
        match before.block.last {
            // The kernel fills the processor's stack of return addresses with calls within a function, which never return.
            Last::Call(_) | Last::IndirectCall if is_start || !self.is_in(name) => self.push(name, false, at),
            Last::Return if is_start => self.replace(name, at),
            Last::Return => self.return_to(name, at),
            Last::InterruptReturn => {
                let interrupt = self.frames.iter().rposition(|frame| frame.is_interrupt);
                self.truncate(interrupt.unwrap_or(1), at);
                if self.frames.len() == 1 {
                    self.push(name, false, at);
                }
            }
            _ if names.text(name).starts_with("__x86_return_thunk") => {}
            _ => self.replace(name, at),
        }
    }

    fn is_in(&self, name: Name) -> bool {
        self.frames.last().is_some_and(|top| top.name == name)
    }

    fn push(&mut self, name: Name, is_interrupt: bool, at: u64) {
        let parent = self.frames.last().map(|frame| frame.span);
        self.frames.push(Frame { name, span: self.spans.len(), is_interrupt });
        self.spans.push(Span { name, parent, start: at, end: at });
    }

    /// Ends all frames but the first `length`.
    fn truncate(&mut self, length: usize, at: u64) {
        for frame in self.frames.drain(length.min(self.frames.len())..) {
            self.spans[frame.span].end = at;
        }
    }

    fn replace(&mut self, name: Name, at: u64) {
        match self.frames.last() {
            Some(top) if top.name == name => {}
            Some(top) if self.frames.len() > 1 => {
                let is_interrupt = top.is_interrupt;
                self.truncate(self.frames.len() - 1, at);
                self.push(name, is_interrupt, at);
            }
            _ => self.push(name, false, at),
        }
    }

    fn return_to(&mut self, name: Name, at: u64) {
        let interrupt = self.frames.iter().rposition(|frame| frame.is_interrupt).unwrap_or(0);
        let below_top = &self.frames[..self.frames.len() - 1];
        match below_top.iter().rposition(|frame| frame.name == name) {
            Some(caller) if caller >= interrupt.max(1) => self.truncate(caller + 1, at),
            _ if interrupt > 0 => {
                self.truncate(interrupt + 1, at);
                self.replace(name, at);
            }
            _ => {
                self.truncate(1, at);
                self.unknown_callers.push(name);
                self.push(name, false, at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::execution::steps;
    use crate::synthetic::{
        INNER, INTERRUPT, IRET, NOP, OUTER, RET, SWITCH, block, call, entries, symbols, wakeup,
    };

    /// The spans as texts: depth, name, first instruction and the one after the last.
    fn of(blocks: &[Block], switches: &[usize]) -> Vec<(usize, String, u64, u64)> {
        let wakeup = wakeup(blocks.len(), switches);
        let symbols = symbols();
        let mut names = Names::of(&symbols);
        let found = spans(&steps(blocks, &wakeup, &entries()), &wakeup, &mut names);
        let depth = |span: &Span| {
            let mut depth = 0;
            let mut parent = span.parent;
            while let Some(index) = parent {
                depth += 1;
                parent = found[index].parent;
            }
            depth
        };
        found
            .iter()
            .map(|span| (depth(span), names.text(span.name).to_owned(), span.start, span.end))
            .collect()
    }

    fn expected(all: &[(usize, &str, u64, u64)]) -> Vec<(usize, String, u64, u64)> {
        all.iter().map(|(depth, name, start, end)| (*depth, (*name).to_owned(), *start, *end)).collect()
    }

    #[test]
    fn a_call_lasts_until_its_return_and_an_interrupt_is_within_it() {
        let to_inner = call(INNER, OUTER + 6);
        let blocks = [
            block(OUTER, &[NOP, &to_inner]),
            block(INNER, &[NOP]),
            block(INTERRUPT, &[NOP, NOP, IRET]),
            block(INNER + 1, &[RET]),
            block(OUTER + 6, &[NOP]),
        ];
        let found = of(&blocks, &[]);
        assert_eq!(
            found,
            expected(&[
                (0, "task9 9", 0, 8),
                (1, "outer", 0, 8),
                (2, "inner", 2, 7),
                (3, "asm_sysvec_timer", 3, 6),
            ])
        );
    }

    #[test]
    fn a_return_shows_who_had_called_before_the_record_begins() {
        let blocks = [block(INNER, &[NOP, RET]), block(OUTER + 6, &[NOP])];
        assert_eq!(
            of(&blocks, &[]),
            expected(&[(0, "task9 9", 0, 3), (1, "outer", 0, 3), (2, "inner", 0, 2)])
        );
    }

    #[test]
    fn each_task_has_its_own_calls() {
        let blocks = [block(OUTER, &[NOP]), block(SWITCH, &[NOP, RET]), block(INNER + 1, &[NOP])];
        let found = of(&blocks, &[1]);
        assert_eq!(
            found,
            expected(&[
                (0, "task0 0", 0, 1),
                (1, "outer", 0, 1),
                (0, "task9 9", 1, 4),
                (1, "inner", 1, 4),
                (2, "__switch_to_asm", 1, 3),
            ])
        );
    }

    /// A return to the first instruction of a function is how the kernel jumps where speculation is dangerous.
    #[test]
    fn a_return_into_a_function_is_a_jump() {
        let blocks = [block(OUTER, &[NOP, RET]), block(INNER, &[NOP])];
        assert_eq!(
            of(&blocks, &[]),
            expected(&[(0, "task9 9", 0, 3), (1, "outer", 0, 2), (1, "inner", 2, 3)])
        );
    }
}
