//! What a wake-up consisted of, from the moment its timer was due to the reading of the clock, or a whole cycle of a program.

use std::collections::BTreeMap;

use tardy_record::explanation::{Call, Execution, Explanation, Extent, HeldOff, Part, PartKind};

use crate::block::Last;
use crate::execution::{Arrival, NS_PER_INSTRUCTION, Step, steps};
use crate::interrupts::{Section, sections};
use crate::kallsyms::Symbols;
use crate::names::{Name, Names};
use crate::observed::{Cycle, Observed, Wakeup};
use crate::orders::{Entry, KernelImage, Unwatchable};
use crate::spans::{Span, spans};
use crate::work;

/// By so many instructions a cycle can be longer than its parts, whose times are computed one by one in whole ns.
const ROUNDING: u64 = 2;

/// A wake-up's record: what was executed, from some time before the timer was due.
struct Record<'a> {
    steps: Vec<Step<'a>>,
    spans: Vec<Span>,
    sections: Vec<Section>,
    /// When the timer was due, in instructions from the beginning.
    due: u64,
    /// When the clock was read.
    read: u64,
}

/// Explains the wake-ups of one boot.
pub struct Explainer<'a> {
    observed: &'a Observed,
    symbols: &'a Symbols,
    entries: Vec<Entry>,
    names: Names<'a>,
}

impl<'a> Explainer<'a> {
    /// Of a boot of this kernel.
    ///
    /// # Errors
    /// If the kernel's entries are not known.
    pub fn of(kernel: &'a KernelImage, observed: &'a Observed) -> Result<Self, Unwatchable> {
        let symbols = &kernel.symbols;
        Ok(Self { observed, symbols, entries: kernel.entries()?, names: Names::of(symbols) })
    }

    /// Explains a wake-up.
    pub fn explain(&mut self, wakeup: &Wakeup) -> Explanation {
        self.until_return(wakeup).0
    }

    /// Explains a cycle of a program: its wake-up, and what followed.
    pub fn explain_cycle(&mut self, cycle: &Cycle) -> Explanation {
        let (wakeup, from) = self.until_return(&cycle.until_return());
        let steps = work::with_sleeps(steps(&self.observed.blocks, &cycle.wakeup, &self.entries), cycle);
        let names = &mut self.names;
        let spans = spans(&steps, &cycle.wakeup, names);
        let parts = work::parts(&steps, cycle, names);
        let returned = parts.first().map_or(steps.last().map_or(0, Step::end), |part| part.start);
        let due = returned.saturating_sub(wakeup.instructions);
        let latency_ns = u64::try_from(cycle.took_ns).unwrap_or(0);
        let worked: u64 = parts.iter().map(|part| part.instructions).sum();
        let known = wakeup.instructions + worked;
        let rest = (latency_ns / NS_PER_INSTRUCTION).saturating_sub(known);
        let unexplained = if rest > ROUNDING { rest } else { 0 };
        // Without the return in the record, that is before it.
        let lead = if cycle.returned.is_none() { unexplained } else { 0 };
        let missing = wakeup.instructions.saturating_sub(returned) + lead;
        Explanation {
            extent: Extent::Cycle,
            latency_ns,
            instructions: known + unexplained,
            parts: work::in_order(wakeup.parts, parts, unexplained, cycle.returned.is_some()),
            unexplained: wakeup.unexplained + unexplained,
            calls: calls(&spans, from, names),
            timeline: timeline(&spans, from, due, missing, names),
            ..wakeup
        }
    }

    /// Explains a wake-up. Also returns the instruction of its record from which its calls count.
    fn until_return(&mut self, wakeup: &Wakeup) -> (Explanation, u64) {
        let names = &mut self.names;
        let steps = steps(&self.observed.blocks, wakeup, &self.entries);
        let read = steps.last().map_or(0, Step::end);
        let latency_ns = u64::try_from(wakeup.reading.late_ns).unwrap_or(0);
        let due = read.saturating_sub(latency_ns / NS_PER_INSTRUCTION);
        let spans = spans(&steps, wakeup, names);
        let record = Record { spans, sections: sections(&steps), steps, due, read };
        let moments = Moments::of(&record, wakeup, names, self.symbols);
        let from = moments.first_instruction();
        // The observer keeps so many blocks: of a very late wake-up, what was before them is missing.
        let missing = (latency_ns / NS_PER_INSTRUCTION).saturating_sub(read - due);
        let explanation = Explanation {
            thread: wakeup.task.name.clone(),
            pid: wakeup.task.pid,
            extent: Extent::WakeUp,
            due_ns: wakeup.reading.due_ns,
            latency_ns,
            instructions: read - due + missing,
            parts: after_missing(missing, moments.parts()),
            held_off: held_off(&record, &moments, names),
            unexplained: moments.unexplained + missing,
            calls: calls(&record.spans, from, names),
            timeline: timeline(&record.spans, from, due, missing, names),
        };
        (explanation, from)
    }
}

/// The parts of a wake-up of which the first `missing` instructions are not in the record.
fn after_missing(missing: u64, mut parts: Vec<Part>) -> Vec<Part> {
    parts.iter_mut().for_each(|part| part.start += missing);
    if missing > 0 {
        parts.insert(0, Part { kind: PartKind::Unexplained, name: None, start: 0, instructions: missing });
    }
    parts
}

/// The moments between a wake-up's parts, in instructions from the beginning of the record.
struct Moments {
    /// Whether the CPU waited for the interrupt. Time passes then without instructions.
    was_idle: bool,
    due: u64,
    /// When the thread began to wait; `due` if that was before.
    waits: u64,
    /// Instructions for which the timer's hardware was set too late.
    hardware: u64,
    /// Instructions of the time to the interrupt's entry that nothing explains.
    unexplained: u64,
    entry: u64,
    timer: u64,
    wake: u64,
    woken: u64,
    switch: u64,
    switched: u64,
    program: u64,
    read: u64,
}

impl Moments {
    fn of(record: &Record<'_>, wakeup: &Wakeup, names: &mut Names<'_>, symbols: &Symbols) -> Self {
        let Record { steps, spans, sections, due, read } = record;
        // A thread that begins to wait after the timer was due is not delayed by what was before.
        let due = begun_to_wait(steps, wakeup).unwrap_or(0).max(*due);
        let span_of = |name: Option<Name>, until: u64| {
            spans.iter().rfind(|span| Some(span.name) == name && span.start <= until && span.end > due)
        };
        let mut named = |function| symbols.address(function).map(|address| names.at(address).0);
        let (interrupt_function, switch_function) = (named("hrtimer_interrupt"), named("__switch_to"));
        let function = wakeup.woken.map(|index| (names.at(steps[index].block.start).0, steps[index].start));
        let wakes = function.and_then(|(name, at)| span_of(Some(name), at));
        let (wake, woken) = wakes.map_or((due, due), |span| (span.start, span.end));
        // Soft timers expire later than in their interrupt, and others may come before.
        let interrupts =
            |span: &&Span| Some(span.name) == interrupt_function && span.start >= due && span.start <= wake;
        let until = spans.iter().find(interrupts).map_or(wake, |span| span.start);
        let entry = steps.iter().rposition(|step| step.arrival == Arrival::Interrupt && step.start <= until);
        let has_halted = entry.is_some_and(|entry| entry > 0 && steps[entry - 1].block.last == Last::Halt);
        let entry = entry.map_or(due, |entry| steps[entry].start).max(due);
        let (_, hardware_most) = wakeup.reading.timer_delay();
        // A timer that fires while the idle loop has interrupts off does not let the CPU wait.
        let was_idle = has_halted && entry - due <= hardware_most;
        let timer = span_of(interrupt_function, until).map_or(entry, |span| span.start);
        let covered: u64 = match was_idle {
            true => 0,
            false => sections
                .iter()
                .map(|section| section.end.min(entry).saturating_sub(section.start.max(due)))
                .sum(),
        };
        let open = entry - due - covered;
        let hardware = open.min(hardware_most);
        let last_switch = wakeup.switches.last().map(|switch| steps[switch.index].start);
        let switch = last_switch.unwrap_or(woken).max(woken);
        let switched = span_of(switch_function, *read).map_or(switch, |span| span.end);
        let program = steps.iter().rev().take_while(|step| step.block.is_of_program()).last();
        let program = program.map_or(*read, |step| step.start);
        let unexplained = open - hardware;
        Self {
            was_idle,
            due: record.due,
            waits: due,
            hardware,
            unexplained,
            entry,
            timer,
            wake,
            woken,
            switch,
            switched,
            program,
            read: *read,
        }
    }

    fn parts(&self) -> Vec<Part> {
        let ends = [
            (PartKind::CycleBefore, self.waits),
            (PartKind::TimerHardware, self.waits + self.hardware),
            (PartKind::InterruptsOff, self.entry - self.unexplained),
            (PartKind::Unexplained, self.entry),
            (PartKind::InterruptEntry, self.timer),
            (PartKind::Timer, self.wake),
            (PartKind::WakeUp, self.woken),
            (PartKind::Scheduling, self.switch),
            (PartKind::Switch, self.switched),
            (PartKind::Return, self.program),
            (PartKind::Program, self.read),
        ];
        let mut start = self.due;
        let mut parts = Vec::new();
        for (kind, end) in ends {
            let end = end.clamp(start, self.read);
            if end > start {
                parts.push(Part { kind, name: None, start: start - self.due, instructions: end - start });
            }
            start = end;
        }
        parts
    }

    /// From here on, the time is that of instructions that are in the record.
    fn first_instruction(&self) -> u64 {
        if self.was_idle && self.waits == self.due { self.entry } else { self.due }
    }
}

/// When the thread entered its last system call before the end; `None` if that is not in the record.
fn begun_to_wait(steps: &[Step<'_>], wakeup: &Wakeup) -> Option<u64> {
    let ends = wakeup.switches.iter().map(|switch| (switch.index, &switch.from));
    let mut begin = 0;
    let mut own = Vec::new();
    for (end, task) in ends.chain([(steps.len(), &wakeup.task)]) {
        if *task == wakeup.task {
            own.push(begin..end);
        }
        begin = end;
    }
    let is_call = |pair: &&[Step<'_>]| {
        pair[0].block.is_of_program() && !pair[1].block.is_of_program() && pair[1].arrival == Arrival::Flow
    };
    let call_in =
        |range: std::ops::Range<usize>| steps[range].windows(2).rfind(is_call).map(|pair| pair[1].start);
    own.into_iter().rev().find_map(call_in)
}

/// Who had turned interrupts off when the timer was due.
fn held_off(record: &Record<'_>, moments: &Moments, names: &mut Names<'_>) -> Option<HeldOff> {
    if moments.was_idle {
        return None;
    }
    let due = moments.waits;
    let held =
        |section: &&Section| section.start <= due && due < section.end && section.start < moments.entry;
    let section = record.sections.iter().find(held)?;
    let by = section.opened_at.map(|address| {
        // A function such as _raw_spin_lock_irqsave() turns them off for its caller: the innermost one that lasts for the whole section.
        let around =
            |span: &&Span| span.start < section.start && span.end >= section.end && span.parent.is_some();
        let holder = record.spans.iter().rfind(around).map(|span| span.name);
        let (opened_in, _) = names.at(address);
        names.text(holder.unwrap_or(opened_in)).to_owned()
    });
    let task = record.spans.iter().rfind(|span| span.parent.is_none() && span.start <= section.start);
    Some(HeldOff {
        by,
        task: task.map_or(String::new(), |span| names.text(span.name).to_owned()),
        since: due - section.start,
        until: section.end.min(moments.entry) - due,
    })
}

#[derive(Default)]
struct Node {
    count: u64,
    total: u64,
    own: u64,
    calls: BTreeMap<Name, Node>,
}

fn calls(spans: &[Span], from: u64, names: &Names<'_>) -> Vec<Call> {
    let mut root = Node::default();
    for span in spans.iter().filter(|span| span.end > from) {
        let total = span.end - span.start.max(from);
        let mut path = vec![span.name];
        let mut parent = span.parent;
        while let Some(index) = parent {
            path.push(spans[index].name);
            parent = spans[index].parent;
        }
        let mut node = &mut root;
        for name in path.into_iter().rev() {
            node = node.calls.entry(name).or_default();
        }
        node.count += 1;
        node.total += total;
    }
    finish(&mut root);
    listed(&root, names)
}

fn finish(node: &mut Node) {
    let below: u64 = node.calls.values().map(|call| call.total).sum();
    node.own = node.total.saturating_sub(below);
    node.calls.values_mut().for_each(finish);
}

fn listed(node: &Node, names: &Names<'_>) -> Vec<Call> {
    let mut calls: Vec<Call> = node
        .calls
        .iter()
        .map(|(name, call)| Call {
            name: names.text(*name).to_owned(),
            count: call.count,
            total: call.total,
            own: call.own,
            calls: listed(call, names),
        })
        .collect();
    calls.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.name.cmp(&b.name)));
    calls
}

fn timeline(spans: &[Span], from: u64, due: u64, missing: u64, names: &Names<'_>) -> Vec<Execution> {
    let mut depths = Vec::with_capacity(spans.len());
    let mut timeline = Vec::new();
    for span in spans {
        let depth = span.parent.map_or(0, |parent| depths[parent] + 1);
        depths.push(depth);
        if span.end > from {
            let start = span.start.max(from);
            let name = names.text(span.name).to_owned();
            let instructions = span.end - start;
            timeline.push(Execution { name, depth, start: start - due + missing, instructions });
        }
    }
    timeline
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::observed::Reading;
    use crate::synthetic::{
        CLI, HLT, INNER, INTERRUPT, NOP, OUTER, RET, STI, block, call, entries, reading, wakeup,
    };

    /// An idle CPU turns interrupts off for 100 instructions and halts. The interrupt calls hrtimer_wakeup(), and the clock is read
    /// `late` instructions after the timer was due. The timer was set 5 us ahead.
    fn after_halt(late: u64) -> (Moments, Option<HeldOff>) {
        let off = [&[CLI][..], &[NOP; 100], &[STI, HLT]].concat();
        let blocks: [Block; 4] = [
            block(OUTER, &off),
            block(INTERRUPT, &[NOP, &call(INNER, INTERRUPT + 6)]),
            block(INNER, &[NOP, RET]),
            block(INTERRUPT + 6, &[NOP]),
        ];
        let names = [
            ("idle", OUTER),
            ("hrtimer_wakeup", INNER),
            ("asm_sysvec_timer", INTERRUPT),
            ("_etext", OUTER + 0x1000),
        ];
        let symbols =
            Symbols::from_all(names.into_iter().map(|(name, address)| (format!("t{name}"), address)));
        let mut names = Names::of(&symbols);
        let late_ns = (late * NS_PER_INSTRUCTION) as i64;
        let reading = Reading { ahead_ns: Some(5_000), ..reading(9, 0, late_ns) };
        let wakeup = Wakeup { reading, woken: Some(2), ..wakeup(blocks.len(), &[]) };
        let entries = entries();
        let steps = steps(&blocks, &wakeup, &entries);
        let read = steps.last().map_or(0, Step::end);
        let spans = spans(&steps, &wakeup, &mut names);
        let record = Record { spans, sections: sections(&steps), steps, due: read - late, read };
        let moments = Moments::of(&record, &wakeup, &mut names, &symbols);
        let held = held_off(&record, &moments, &mut names);
        (moments, held)
    }

    #[test]
    fn what_is_missing_is_an_unexplained_part() {
        let part = |kind, start, instructions| Part { kind, name: None, start, instructions };
        let parts = || vec![part(PartKind::CycleBefore, 0, 7), part(PartKind::Return, 7, 3)];
        assert_eq!(after_missing(0, parts()), parts());
        let expected = [
            part(PartKind::Unexplained, 0, 5),
            part(PartKind::CycleBefore, 5, 7),
            part(PartKind::Return, 12, 3),
        ];
        assert_eq!(after_missing(5, parts()), expected);
    }

    #[test]
    fn an_idle_cpu_waits_for_its_timer() {
        let (moments, held) = after_halt(9);
        assert!(moments.was_idle);
        assert_eq!((moments.hardware, moments.unexplained, held), (4, 0, None));
    }

    #[test]
    fn a_timer_that_fires_before_the_halt_is_held_off_by_the_idle_loop() {
        let (moments, held) = after_halt(55);
        assert!(!moments.was_idle);
        assert_eq!((moments.hardware, moments.unexplained), (1, 0));
        assert_eq!(held.map(|held| (held.since, held.until)), Some((52, 49)));
    }
}
