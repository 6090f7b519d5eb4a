//! The trace instances with which a program is watched: one records its own threads, one the whole machine, and one its marks.
//!
//! The kernel chooses the threads of the first (`set_event_pid`, with `event-fork` also those that they start), so that other
//! programs' system calls cost nothing. The second shows who had the CPU. The third is always on, because writing a mark fails
//! while it is off, and a program need not expect that.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tardy_host::trace::instance::Instance;
use tardy_host::trace::page::Piece;
use tardy_host::trace::reader::TraceReader;
use tardy_host::trace::symbols;
use tardy_host::trace::tracefs::Tracefs;
use tardy_sys::clock::monotonic_ns;

use crate::event::{Event, What};
use crate::layout::{Layouts, OF_PROGRAM};
use crate::wait::TimerKind;

/// The instances and their readers.
#[derive(Debug)]
pub struct ProgramTrace {
    /// Dropped before the instances, which cannot be removed while their pipes are open.
    readers: [TraceReader; 3],
    program: Instance,
    machine: Instance,
    marks: Instance,
    /// How events are decoded.
    pub layouts: Layouts,
    /// Events that were read and are later than everything that is known of other CPUs.
    early: Vec<Event>,
    /// Whether what programs write to the trace_marker of all of tracefs is recorded too.
    pub has_marker: bool,
}

/// The kernel's timer functions that wake threads, by address; empty if the kernel hides its symbols.
pub fn timer_functions(tracefs: &Tracefs) -> BTreeMap<u64, TimerKind> {
    let names = TimerKind::FUNCTIONS.map(|(name, _)| name);
    let kind =
        |name: &str| TimerKind::FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    let known = symbols::addresses(&tracefs.files, &names).into_iter();
    known.filter_map(|(address, name)| Some((address, kind(&name)?))).collect()
}

impl ProgramTrace {
    /// Makes the instances, for run `id`. Nothing but marks is recorded until [`Self::set_on`].
    ///
    /// # Errors
    /// What this kernel lacks or refuses.
    pub fn make(
        tracefs: &Tracefs,
        id: &str,
        functions: &BTreeMap<u64, TimerKind>,
        buffer_kib: u32,
    ) -> Result<Self, String> {
        let (layouts, of_machine) = Layouts::of(tracefs)?;
        let page = tracefs.page()?;
        let program = Instance::make(tracefs, &format!("{id}-program"))?;
        let machine = Instance::make(tracefs, &format!("{id}-machine"))?;
        let marks = Instance::make(tracefs, &format!("{id}-marks"))?;
        let filter: Vec<String> =
            functions.keys().map(|address| format!("function==0x{address:x}")).collect();
        for instance in [&program, &machine, &marks] {
            instance.write("trace_clock", "mono")?;
            instance.write("buffer_size_kb", &buffer_kib.to_string())?;
            // Otherwise command names are looked up at every context switch, for a text that is never read.
            let _ = instance.write("trace_options", "norecord-cmd");
        }
        instance_of_forks(&program)?;
        if !filter.is_empty() {
            let filter = filter.join("||");
            // Other timers, such as the tick's, wake no thread. An older kernel may not filter by address.
            let _ = program.write("events/timer/hrtimer_start/filter", &filter);
            let _ = machine.write("events/timer/hrtimer_expire_entry/filter", &filter);
        }
        // An empty list of threads would be all threads.
        program.write("set_event_pid", NO_THREAD)?;
        let of_program = OF_PROGRAM.iter().filter(|event| tracefs.format(event).is_ok());
        of_program.map(ToString::to_string).try_for_each(|event| enable(&program, &event))?;
        of_machine.iter().try_for_each(|event| enable(&machine, event))?;
        // Since Linux 6.16. Before, the texts are only in the buffer that all users of tracefs share.
        let has_marker = marks.write("options/copy_trace_marker", "1").is_ok();
        let readers = [program.reader(page)?, machine.reader(page)?, marks.reader(page)?];
        marks.write("tracing_on", "1")?;
        Ok(Self { readers, program, machine, marks, layouts, early: Vec::new(), has_marker })
    }

    /// Records the thread `tid` too, and the threads that it starts from then on.
    ///
    /// # Errors
    /// If there is no such thread, or the kernel refuses.
    pub fn follow(&self, tid: u32) -> Result<(), String> {
        self.program.append("set_event_pid", &format!("{tid}\n"))
    }

    /// The file in which a program may write its marks if it is started by tardy. It must be closed when this is dropped.
    pub fn marker(&self) -> PathBuf {
        self.marks.file("trace_marker")
    }

    /// Records the event `GROUP/EVENT` of a USDT probe as an end of the stretch `name`.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn add_probe(
        &mut self,
        tracefs: &Tracefs,
        event: &str,
        is_begin: bool,
        name: &str,
    ) -> Result<(), String> {
        let format = tracefs.format(event)?;
        if !self.layouts.add_probe(&format, is_begin, name) {
            return Err("the program has too many probes".to_owned());
        }
        enable(&self.program, event)
    }

    /// Starts or stops recording.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_on(&self, on: bool) -> Result<(), String> {
        let text = if on { "1" } else { "0" };
        self.machine.write("tracing_on", text)?;
        self.program.write("tracing_on", text)
    }

    /// Reads what was recorded until now, in the order of time over all CPUs.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read(&mut self, events: &mut Vec<Event>) -> Result<(), String> {
        let until_ns = monotonic_ns();
        events.clear();
        events.append(&mut self.early);
        let Self { readers, layouts, .. } = self;
        for reader in readers {
            reader.read(until_ns, |cpu, piece| match piece {
                Piece::Event { at_ns, bytes } => events.extend(layouts.event(cpu, at_ns, bytes)),
                Piece::Lost { before_ns, count } => {
                    let what = What::Lost { count: count.unwrap_or(0) };
                    events.push(Event { at_ns: before_ns, cpu, by: 0, what });
                }
            })?;
        }
        events.sort_by_key(|event| event.at_ns);
        let known = events.partition_point(|event| event.at_ns <= until_ns);
        self.early = events.split_off(known);
        Ok(())
    }

    /// How many events the kernel's buffers have lost.
    pub fn lost_events(&self) -> u64 {
        self.program.lost_events() + self.machine.lost_events() + self.marks.lost_events()
    }
}

/// A number that no thread has: pids end at PID_MAX_LIMIT, 2^22.
const NO_THREAD: &str = "4194303";

fn instance_of_forks(instance: &Instance) -> Result<(), String> {
    let without = "this kernel cannot follow the threads that a program starts (it needs Linux 4.7)";
    instance.write("options/event-fork", "1").map_err(|error| format!("{error}; {without}"))
}

fn enable(instance: &Instance, event: &str) -> Result<(), String> {
    instance.write(&format!("events/{event}/enable"), "1")
}
