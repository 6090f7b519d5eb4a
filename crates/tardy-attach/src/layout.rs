//! Decodes the events from the pages of a trace.

use tardy_host::trace::format::{Field, Format};
use tardy_host::trace::happenings::VECTORS;
use tardy_host::trace::tracefs::Tracefs;

use crate::event::{Edge, Event, Handler, Name, Task, TaskState, What};
use crate::mark_text;

/// The events that are recorded of the program's own threads. The first ones must exist.
pub const OF_PROGRAM: [&str; 6] = [
    "raw_syscalls/sys_enter",
    "raw_syscalls/sys_exit",
    "timer/hrtimer_start",
    "sched/sched_process_fork",
    "sched/sched_process_exit",
    "exceptions/page_fault_user",
];
/// How many of [`OF_PROGRAM`] must exist.
const NEEDED: usize = 5;

/// The events of the machine that must exist, apart from interrupts.
pub const OF_MACHINE: [&str; 5] = [
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_migrate_task",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
];

/// The event of a text that a program writes to trace_marker. It is always on.
const MARKER: &str = "ftrace/print";
/// The longest text of a mark, in bytes.
const MARK_MAX: usize = 256;
/// The most names of interrupt handlers and of marked stretches that are kept.
const NAMES_MAX: usize = 1024;

/// The layouts of all events on this kernel.
#[derive(Debug)]
pub struct Layouts {
    kind: Field,
    pid: Field,
    /// By the event's number.
    layouts: Vec<Option<Layout>>,
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
enum Layout {
    Enter { call: Field, args: Field },
    Leave { call: Field, result: Field },
    Start { timer: Field, function: Field, expires: Field, soft: Field },
    Expire { timer: Field, function: Field },
    ExpireEnd { timer: Field },
    Waking { task: TaskFields, target: Option<Field> },
    Migrate { tid: Field, to: Field },
    Switch { from: TaskFields, state: Field, to: TaskFields },
    Fault { address: Field },
    Fork { child: Field },
    End,
    IrqBegin { irq: Field, name: Field },
    IrqEnd { irq: Field },
    SoftirqBegin(Field),
    SoftirqEnd(Field),
    VectorBegin(u8),
    VectorEnd(u8),
    Marker { text: usize },
    Probe { is_begin: bool, name: u16 },
}

#[derive(Clone, Copy, Debug)]
struct TaskFields {
    name: Field,
    tid: Field,
    priority: Field,
}

impl Layouts {
    /// The layouts, and the events of the machine that this kernel has.
    ///
    /// # Errors
    /// If a needed event is missing; names the option that provides it.
    pub fn of(tracefs: &Tracefs) -> Result<(Self, Vec<String>), String> {
        let switch = tracefs.format("sched/sched_switch")?;
        let common = |name: &str| switch.field(name).ok_or(format!("this kernel's events have no {name}"));
        let mut this = Self {
            kind: common("common_type")?,
            pid: common("common_pid")?,
            layouts: Vec::new(),
            names: Vec::new(),
        };
        let needed = OF_PROGRAM.iter().take(NEEDED).chain(&OF_MACHINE);
        for event in needed {
            let format = tracefs.format(event)?;
            let layout = layout(event, &format).ok_or_else(|| {
                format!("this kernel's event {event} has an unknown format; please report it")
            })?;
            this.keep(&format, layout);
        }
        let mut events: Vec<String> = OF_MACHINE.iter().map(ToString::to_string).collect();
        let optional = OF_PROGRAM[NEEDED..].iter().map(ToString::to_string).chain(interrupts());
        for event in optional {
            let Ok(format) = tracefs.format(&event) else { continue };
            if let Some(layout) = layout(&event, &format) {
                this.keep(&format, layout);
                events.extend((!OF_PROGRAM.contains(&event.as_str())).then_some(event));
            }
        }
        if let Ok(format) = tracefs.format(MARKER)
            && let Some(text) = format.field("buf")
        {
            this.keep(&format, Layout::Marker { text: text.offset });
        }
        Ok((this, events))
    }

    /// Decodes events of this format as ends of the stretch `name`. `false` if there are too many names.
    pub fn add_probe(&mut self, format: &Format, is_begin: bool, name: &str) -> bool {
        let index = self.name_index(name.to_owned());
        if let Some(name) = index {
            self.keep(format, Layout::Probe { is_begin, name });
        }
        index.is_some()
    }

    fn keep(&mut self, format: &Format, layout: Layout) {
        let index = usize::from(format.id);
        if self.layouts.len() <= index {
            self.layouts.resize(index + 1, None);
        }
        self.layouts[index] = Some(layout);
    }

    /// The name of an interrupt's handler or of a marked stretch.
    pub fn handler_name(&self, index: u16) -> &str {
        self.names.get(usize::from(index)).map_or("", String::as_str)
    }

    /// Decodes `bytes`; `None` if the event is unknown or malformed.
    pub fn event(&mut self, cpu: u32, at_ns: u64, bytes: &[u8]) -> Option<Event> {
        let kind = usize::try_from(self.kind.number(bytes)?).ok()?;
        let layout = (*self.layouts.get(kind)?)?;
        let by = u32::try_from(self.pid.number(bytes)?).ok()?;
        let number = |field: Field| u32::try_from(field.number(bytes)?).ok();
        let what = match layout {
            Layout::Enter { call, args } => {
                What::Enter { call: call.signed(bytes)?, args: arguments(args, bytes)? }
            }
            Layout::Leave { call, result } => {
                What::Leave { call: call.signed(bytes)?, result: result.signed(bytes)? }
            }
            Layout::Start { timer, function, expires, soft } => What::Start {
                timer: timer.number(bytes)?,
                function: function.number(bytes)?,
                expires_ns: expires.signed(bytes)?,
                soft_ns: soft.signed(bytes)?,
            },
            Layout::Expire { timer, function } => {
                What::Expire { timer: timer.number(bytes)?, function: function.number(bytes)? }
            }
            Layout::ExpireEnd { timer } => What::ExpireEnd { timer: timer.number(bytes)? },
            Layout::Waking { task, target } => {
                What::Waking { task: task.task(bytes)?, target: target.and_then(number) }
            }
            Layout::Migrate { tid, to } => What::Migrate { tid: number(tid)?, to: number(to)? },
            Layout::Switch { from, state, to } => What::Switch {
                from: from.task(bytes)?,
                state: TaskState::of(state.number(bytes)?),
                to: to.task(bytes)?,
            },
            Layout::Fault { address } => What::Fault { address: address.number(bytes)? },
            Layout::Fork { child } => What::Fork { child: number(child)? },
            Layout::End => What::End,
            Layout::IrqBegin { irq, name } => {
                let name = name.located_text(bytes)?;
                What::InterruptBegin(Handler::Irq(number(irq)?, self.index_of(name)))
            }
            Layout::IrqEnd { irq } => What::InterruptEnd(Handler::Irq(number(irq)?, 0)),
            Layout::SoftirqBegin(vector) => What::InterruptBegin(Handler::Softirq(number(vector)? as u8)),
            Layout::SoftirqEnd(vector) => What::InterruptEnd(Handler::Softirq(number(vector)? as u8)),
            Layout::VectorBegin(index) => What::InterruptBegin(Handler::Vector(index)),
            Layout::VectorEnd(index) => What::InterruptEnd(Handler::Vector(index)),
            Layout::Marker { text } => What::Mark(self.edge(bytes.get(text..)?)?),
            Layout::Probe { is_begin, name } => What::Mark(Edge { is_begin, name: Some(name) }),
        };
        Some(Event { at_ns, cpu, by, what })
    }

    /// The index of a handler's name; of the last name if there are too many.
    fn index_of(&mut self, name: String) -> u16 {
        self.name_index(name).unwrap_or(NAMES_MAX as u16 - 1)
    }

    /// `None` if there are too many names.
    fn name_index(&mut self, name: String) -> Option<u16> {
        let known = self.names.iter().position(|known| *known == name);
        if known.is_none() && self.names.len() >= NAMES_MAX {
            return None;
        }
        let index = known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        u16::try_from(index).ok()
    }

    /// The mark in the text of a program; `None` if it is another text.
    fn edge(&mut self, text: &[u8]) -> Option<Edge> {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let text = std::str::from_utf8(text.get(..end).filter(|text| text.len() <= MARK_MAX)?).ok()?;
        let (is_begin, name) = mark_text::parse(text)?;
        let name = match name {
            Some(name) => Some(self.name_index(name.to_owned())?),
            None => None,
        };
        Some(Edge { is_begin, name })
    }
}

impl TaskFields {
    fn of(format: &Format, names: [&str; 3]) -> Option<Self> {
        let [name, tid, priority] = names.map(|name| format.field(name));
        Some(Self { name: name?, tid: tid?, priority: priority? })
    }

    fn task(self, bytes: &[u8]) -> Option<Task> {
        let name = bytes.get(self.name.offset..self.name.offset.checked_add(16)?)?;
        Some(Task {
            name: Name(name.try_into().ok()?),
            tid: u32::try_from(self.tid.number(bytes)?).ok()?,
            priority: self.priority.signed(bytes)? as i32,
        })
    }
}

/// The first four of the arguments of a system call, which the event has as an array of six.
fn arguments(field: Field, bytes: &[u8]) -> Option<[u64; 4]> {
    let size = field.size / 6;
    let mut args = [0; 4];
    for (index, argument) in args.iter_mut().enumerate() {
        *argument = Field { offset: field.offset + index * size, size }.number(bytes)?;
    }
    Some(args)
}

/// The events of interrupts, which depend on the processor.
fn interrupts() -> Vec<String> {
    let of_devices = [
        "irq/irq_handler_entry",
        "irq/irq_handler_exit",
        "irq/softirq_entry",
        "irq/softirq_exit",
        "ipi/ipi_entry",
        "ipi/ipi_exit",
    ];
    let of_cpu =
        VECTORS.iter().flat_map(|name| ["entry", "exit"].map(|end| format!("irq_vectors/{name}_{end}")));
    of_devices.iter().map(ToString::to_string).chain(of_cpu).collect()
}

/// The index of the event of arm and arm64 for all calls between CPUs.
const IPI: u8 = VECTORS.len() as u8;

fn layout(event: &str, format: &Format) -> Option<Layout> {
    let field = |name: &str| format.field(name);
    Some(match event {
        "raw_syscalls/sys_enter" => Layout::Enter { call: field("id")?, args: field("args")? },
        "raw_syscalls/sys_exit" => Layout::Leave { call: field("id")?, result: field("ret")? },
        "timer/hrtimer_start" => Layout::Start {
            timer: field("hrtimer")?,
            function: field("function")?,
            expires: field("expires")?,
            soft: field("softexpires")?,
        },
        "timer/hrtimer_expire_entry" => {
            Layout::Expire { timer: field("hrtimer")?, function: field("function")? }
        }
        "timer/hrtimer_expire_exit" => Layout::ExpireEnd { timer: field("hrtimer")? },
        "sched/sched_waking" => Layout::Waking {
            task: TaskFields::of(format, ["comm", "pid", "prio"])?,
            target: field("target_cpu"),
        },
        "sched/sched_migrate_task" => Layout::Migrate { tid: field("pid")?, to: field("dest_cpu")? },
        "sched/sched_switch" => Layout::Switch {
            from: TaskFields::of(format, ["prev_comm", "prev_pid", "prev_prio"])?,
            state: field("prev_state")?,
            to: TaskFields::of(format, ["next_comm", "next_pid", "next_prio"])?,
        },
        "exceptions/page_fault_user" => Layout::Fault { address: field("address")? },
        "sched/sched_process_fork" => Layout::Fork { child: field("child_pid")? },
        "sched/sched_process_exit" => Layout::End,
        "irq/irq_handler_entry" => Layout::IrqBegin { irq: field("irq")?, name: field("name")? },
        "irq/irq_handler_exit" => Layout::IrqEnd { irq: field("irq")? },
        "irq/softirq_entry" => Layout::SoftirqBegin(field("vec")?),
        "irq/softirq_exit" => Layout::SoftirqEnd(field("vec")?),
        "ipi/ipi_entry" => Layout::VectorBegin(IPI),
        "ipi/ipi_exit" => Layout::VectorEnd(IPI),
        _ => {
            let name = event.strip_prefix("irq_vectors/")?;
            let index = |name: &str| VECTORS.iter().position(|known| *known == name).map(|index| index as u8);
            match name.strip_suffix("_entry") {
                Some(name) => Layout::VectorBegin(index(name)?),
                None => Layout::VectorEnd(index(name.strip_suffix("_exit")?)?),
            }
        }
    })
}

/// The name of the interrupt of the CPU itself at this index.
pub fn vector_name(index: u8) -> &'static str {
    VECTORS.get(usize::from(index)).copied().unwrap_or("ipi")
}
