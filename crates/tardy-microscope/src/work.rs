//! What a program's thread did after its wake-up, until it waited for its next cycle.

use std::ops::Range;

use tardy_record::explanation::{Part, PartKind};

use crate::block::Last;
use crate::execution::{Arrival, NS_PER_INSTRUCTION, Step};
use crate::names::Names;
use crate::observed::Cycle;
use crate::task::Task;

/// How the functions of system calls begin (arch/x86/include/asm/syscall_wrapper.h). Those without arguments have all these names, of which
/// the table of symbols may have another one first.
const CALLS: [&str; 3] = ["__x64_sys_", "__ia32_sys_", "__do_sys_"];
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::execution::steps;
    use crate::kallsyms::Symbols;
    use crate::observed::Sleep;
    use crate::synthetic::{
        EXCEPTION, HLT, INNER, INTERRUPT, IRET, NOP, OUTER, PROGRAM, RET, SWITCH, SYSRET, block, call,
        entries, wakeup,
    };

    const SYSCALL: &[u8] = &[0x0f, 0x05];
    const GETPPID: u64 = OUTER + 0x500;

    /// The parts of a cycle of these blocks that begins with the block `returned`, as texts. The thread is task9.
    fn parts_of(blocks: &[Block], returned: usize, switches: &[usize], sleeps: &[Sleep]) -> Vec<String> {
        let named = [
            ("entry", OUTER),
            ("__x64_sys_write", INNER),
            ("asm_sysvec_apic_timer_interrupt", INTERRUPT),
            ("asm_exc_page_fault", EXCEPTION),
            ("__switch_to_asm", SWITCH),
            ("__do_sys_getppid", GETPPID),
            ("_etext", OUTER + 0x1000),
        ];
        let symbols =
            Symbols::from_all(named.into_iter().map(|(name, address)| (format!("t{name}"), address)));
        let mut wakeup = wakeup(blocks.len(), switches);
        // The thread leaves the CPU, and others leave it to the thread.
        for switch in wakeup.switches.iter_mut().step_by(2) {
            switch.from = wakeup.task.clone();
        }
        let cycle = Cycle { wakeup, took_ns: 0, returned: Some(returned), sleeps: sleeps.to_vec() };
        let steps = with_sleeps(steps(blocks, &cycle.wakeup, &entries()), &cycle);
        let parts = parts(&steps, &cycle, &mut Names::of(&symbols));
        let text = |part: &Part| {
            let name = part.name.as_deref().unwrap_or("-");
            format!("{:?} {name} {}+{}", part.kind, part.start, part.instructions)
        };
        parts.iter().map(text).collect()
    }

    #[test]
    fn a_call_in_which_the_thread_waits_is_named() {
        let to_write = call(INNER, OUTER + 6);
        let blocks = [
            block(OUTER + 0x80, &[NOP, SYSRET]),
            block(PROGRAM, &[NOP, NOP, SYSCALL]),
            block(OUTER, &[NOP, &to_write]),
            block(INNER, &[NOP]),
            block(SWITCH, &[NOP, RET]),
            block(OUTER + 0x90, &[NOP, NOP, NOP, HLT]),
            block(SWITCH, &[NOP, RET]),
            block(INNER + 1, &[NOP, RET]),
            block(OUTER + 6, &[SYSRET]),
            block(PROGRAM + 4, &[NOP]),
        ];
        // What runs from the switch on counts as the other task's, in which the CPU sleeps.
        let expected = [
            "Program - 2+3",
            "SystemCall write 5+3",
            "Blocked write 8+36",
            "SystemCall write 44+5",
            "Program - 49+1",
        ];
        assert_eq!(parts_of(&blocks, 1, &[4, 6], &[Sleep { index: 6, ns: 60 }]), expected);
        // A sleep before the wake-up ended is not in the work.
        assert_eq!(parts_of(&blocks[..2], 1, &[], &[Sleep { index: 1, ns: 60 }]), ["Program - 2+3"]);
    }

    #[test]
    fn a_call_without_arguments_is_named() {
        let blocks = [
            block(PROGRAM, &[SYSCALL]),
            block(OUTER, &[NOP, &call(GETPPID, OUTER + 6)]),
            block(GETPPID, &[NOP, RET]),
            block(OUTER + 6, &[SYSRET]),
            block(PROGRAM + 2, &[NOP]),
        ];
        let expected = ["Program - 0+1", "SystemCall getppid 1+5", "Program - 6+1"];
        assert_eq!(parts_of(&blocks, 0, &[], &[]), expected);
    }

    #[test]
    fn page_faults_and_interrupts_are_in_what_they_interrupt() {
        let blocks = [
            block(PROGRAM, &[NOP, NOP, NOP]),
            block(EXCEPTION, &[NOP, NOP]),
            block(INTERRUPT, &[NOP, IRET]),
            block(EXCEPTION + 2, &[NOP, IRET]),
            block(PROGRAM + 1, &[NOP, NOP]),
        ];
        let expected = [
            "Program - 0+1",
            "Exception page fault 1+2",
            "Interrupt apic timer interrupt 3+2",
            "Exception page fault 5+2",
            "Program - 7+2",
        ];
        assert_eq!(parts_of(&blocks, 0, &[], &[]), expected);
    }

    #[test]
    fn a_task_that_preempts_the_thread_is_named() {
        let blocks = [
            block(PROGRAM, &[NOP]),
            block(INTERRUPT, &[NOP, NOP]),
            block(SWITCH, &[NOP, RET]),
            block(INNER, &[NOP]),
            block(SWITCH, &[NOP, RET]),
            block(INTERRUPT + 2, &[IRET]),
            block(PROGRAM + 1, &[NOP]),
        ];
        let mut wakeup = wakeup(blocks.len(), &[2, 4]);
        wakeup.switches[0].from = wakeup.task.clone();
        wakeup.switches[0].is_blocked = false;
        let cycle = Cycle { wakeup, took_ns: 0, returned: Some(0), sleeps: Vec::new() };
        let symbols = crate::synthetic::symbols();
        let parts = parts(&steps(&blocks, &cycle.wakeup, &entries()), &cycle, &mut Names::of(&symbols));
        let found: Vec<_> =
            parts.iter().map(|part| (part.kind, part.name.as_deref(), part.instructions)).collect();
        let expected = [
            (PartKind::Program, None, 1),
            (PartKind::Interrupt, Some("timer"), 2),
            (PartKind::Preempted, Some("task1 1"), 3),
            (PartKind::Interrupt, Some("timer"), 3),
            (PartKind::Program, None, 1),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_the_record_lacks_is_where_it_is_missing() {
        let part = |kind, start, instructions| Part { kind, name: None, start, instructions };
        let wakeup = || vec![part(PartKind::Return, 0, 10)];
        let work = || vec![part(PartKind::Program, 500, 4)];
        let at_the_end = in_order(wakeup(), work(), 3, true);
        assert_eq!(at_the_end[1..], [part(PartKind::Program, 10, 4), part(PartKind::Unexplained, 14, 3)]);
        let before = in_order(wakeup(), work(), 3, false);
        assert_eq!(before[1..], [part(PartKind::Unexplained, 10, 3), part(PartKind::Program, 13, 4)]);
        assert_eq!(in_order(wakeup(), work(), 0, true).len(), 2);
    }
}
