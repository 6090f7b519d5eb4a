//! What a program's thread did after its wake-up, until it waited for its next cycle.

use std::ops::Range;

use tardy_record::explanation::{Part, PartKind};

use crate::block::Last;
use crate::execution::{Arrival, Step};
use crate::explanation::NS_PER_INSTRUCTION;
use crate::names::Names;
use crate::observed::Cycle;
use crate::task::Task;

/// How the functions of system calls begin (arch/x86/include/asm/syscall_wrapper.h). Those without arguments have both names.
const CALLS: [&str; 2] = ["__x64_sys_", "__ia32_sys_"];
/// How the entries of interrupts and exceptions begin (arch/x86/include/asm/idtentry.h).
const ENTRIES: [&str; 3] = ["asm_sysvec_", "asm_exc_", "asm_"];

/// The cycle's steps, those after its wake-up later by the sleeps of the CPU in between, in instructions that it would have executed.
pub(crate) fn with_sleeps<'a>(mut steps: Vec<Step<'a>>, cycle: &Cycle) -> Vec<Step<'a>> {
    let returned = cycle.returned.unwrap_or(0);
    let mut sleeps = cycle.sleeps.iter().filter(|sleep| sleep.index > returned).peekable();
    let mut slept = 0;
    for (index, step) in steps.iter_mut().enumerate() {
        while let Some(sleep) = sleeps.next_if(|sleep| sleep.index <= index) {
            slept += sleep.ns / NS_PER_INSTRUCTION;
        }
        step.start += slept;
    }
    steps
}

/// The parts from the wake-up to the end of the steps, which are the cycle's. They count from the beginning of the record.
pub(crate) fn parts(steps: &[Step<'_>], cycle: &Cycle, names: &mut Names<'_>) -> Vec<Part> {
    let mut work = Work { parts: Vec::new(), within: Vec::new(), is_blocked: false };
    for stretch in stretches(steps.len(), cycle) {
        if *stretch.task == cycle.wakeup.task {
            work.own(steps, &stretch, names);
        } else {
            work.others(steps, &stretch);
        }
    }
    work.parts
}

/// The parts of a wake-up and of the work after it, which count from when the timer was due. The instructions that nothing explains come
/// before the work if the record does not have the return, and else at the end.
pub(crate) fn in_order(
    mut wakeup: Vec<Part>,
    work: Vec<Part>,
    unexplained: u64,
    has_return: bool,
) -> Vec<Part> {
    let rest = Part { kind: PartKind::Unexplained, name: None, start: 0, instructions: unexplained };
    let rest = Some(rest).filter(|rest| rest.instructions > 0);
    let (before, after) = if has_return { (None, rest) } else { (rest, None) };
    let mut start = wakeup.iter().map(|part| part.instructions).sum();
    for part in before.into_iter().chain(work).chain(after) {
        let instructions = part.instructions;
        wakeup.push(Part { start, ..part });
        start += instructions;
    }
    wakeup
}

/// Steps that one task executed without a switch.
struct Stretch<'a> {
    steps: Range<usize>,
    task: &'a Task,
    /// Whether the task waited for something at its end.
    is_blocked: bool,
}

/// The stretches after the wake-up of a cycle with so many steps.
fn stretches(steps: usize, cycle: &Cycle) -> Vec<Stretch<'_>> {
    let switches = cycle.wakeup.switches.iter();
    let ends = switches.map(|switch| (switch.index, &switch.from, switch.is_blocked));
    let mut begin = cycle.returned.unwrap_or(0);
    let mut stretches = Vec::new();
    for (end, task, is_blocked) in ends.chain([(steps, &cycle.wakeup.task, false)]) {
        if end > begin {
            stretches.push(Stretch { steps: begin..end, task, is_blocked });
            begin = end;
        }
    }
    stretches
}

struct Work {
    parts: Vec<Part>,
    /// What the thread has entered and not left: the system call, exceptions and interrupts, innermost last. Empty in the program.
    within: Vec<(PartKind, Option<String>)>,
    /// Whether the thread waits for something.
    is_blocked: bool,
}

impl Work {
    fn own(&mut self, steps: &[Step<'_>], stretch: &Stretch<'_>, names: &mut Names<'_>) {
        for index in stretch.steps.clone() {
            // What was before another task's steps does not matter.
            let before = (index > stretch.steps.start).then(|| &steps[index - 1]);
            self.follow(before, &steps[index], names);
            let (kind, name) =
                self.within.last().map_or((PartKind::Program, None), |(kind, name)| (*kind, name.as_deref()));
            add(&mut self.parts, steps, index..index + 1, kind, name);
        }
        self.is_blocked = stretch.is_blocked;
    }

    fn others(&mut self, steps: &[Step<'_>], stretch: &Stretch<'_>) {
        let task = stretch.task;
        let (kind, name) = match self.is_blocked {
            true => (PartKind::Blocked, self.waits_in()),
            false => (PartKind::Preempted, Some(format!("{} {}", task.name, task.pid))),
        };
        add(&mut self.parts, steps, stretch.steps.clone(), kind, name.as_deref());
    }

    /// The system call or exception in which the thread waits.
    fn waits_in(&self) -> Option<String> {
        self.within
            .iter()
            .rev()
            .find(|(kind, _)| *kind != PartKind::Interrupt)
            .and_then(|(_, name)| name.clone())
    }

    /// Enters and leaves the kernel as the step does.
    fn follow(&mut self, before: Option<&Step<'_>>, step: &Step<'_>, names: &mut Names<'_>) {
        let (function, is_start) = names.at(step.block.start);
        let named = || {
            let text = names.text(function);
            let short = ENTRIES.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
            Some(short.replace('_', " "))
        };
        match step.arrival {
            Arrival::Interrupt => return self.within.push((PartKind::Interrupt, named())),
            Arrival::Exception => return self.within.push((PartKind::Exception, named())),
            Arrival::Flow | Arrival::Switch => {}
        }
        if step.block.is_of_program() {
            self.within.clear();
        } else if self.within.is_empty() {
            self.within.push((PartKind::SystemCall, None));
        } else if before.is_some_and(|before| before.block.last == Last::InterruptReturn) {
            self.within.pop();
        } else if let [(PartKind::SystemCall, name @ None)] = &mut self.within[..]
            && let text = names.text(function)
            && let Some(call) = CALLS.iter().find_map(|prefix| text.strip_prefix(prefix)).filter(|_| is_start)
        {
            *name = Some(call.to_owned());
            self.name_entry(call);
        }
    }

    /// Gives the parts of the system call that began before its function their name.
    fn name_entry(&mut self, call: &str) {
        let parts = self.parts.iter_mut().rev().take_while(|part| part.kind != PartKind::Program);
        for part in parts.filter(|part| part.kind == PartKind::SystemCall && part.name.is_none()) {
            part.name = Some(call.to_owned());
        }
    }
}

/// Adds steps to the last part, or as one.
fn add(parts: &mut Vec<Part>, steps: &[Step<'_>], range: Range<usize>, kind: PartKind, name: Option<&str>) {
    let start = steps[range.start].start;
    let end = steps.get(range.end).map_or_else(|| steps[range.end - 1].end(), |step| step.start);
    match parts.last_mut() {
        Some(last) if last.kind == kind && last.name.as_deref() == name => {
            last.instructions = end - last.start
        }
        _ => parts.push(Part { kind, name: name.map(str::to_owned), start, instructions: end - start }),
    }
}
