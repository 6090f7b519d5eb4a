//! Decodes kernel events into happenings: the activity of a CPU over time.

use std::collections::BTreeMap;

use tardy_record::moment::{Happening, Task};

use super::format::{Field, Format};
use super::tracefs::Tracefs;

/// Names of the soft interrupts by their numbers (include/linux/interrupt.h).
pub const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
/// The interrupt vectors of x86 that have a pair of events each (arch/x86/include/asm/trace/irq_vectors.h).
pub const VECTORS: [&str; 10] = [
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
    "x86_platform_ipi",
    "error_apic",
    "thermal_apic",
    "threshold_apic",
    "deferred_error_apic",
];
/// Leaving an idle state (include/linux/cpuidle.h, `PWR_EVENT_EXIT`).
const IDLE_EXIT: u32 = u32::MAX;

/// The layout of the known events on this kernel.
#[derive(Clone, Debug)]
pub struct HappeningLayouts {
    kind: Field,
    layouts: BTreeMap<u16, Layout>,
}

/// The layout of one event.
#[derive(Clone, Debug)]
enum Layout {
    Switch { from: TaskFields, to: TaskFields },
    Ready(TaskFields),
    IrqBegin { irq: Field, name: Field },
    IrqEnd { irq: Field },
    SoftirqBegin(Field),
    SoftirqEnd(Field),
    VectorBegin(String),
    VectorEnd(String),
    TimerBegin { function: Field },
    TimerEnd,
    Nmi { delta: Field },
    Idle { state: Field },
}

#[derive(Clone, Copy, Debug)]
struct TaskFields {
    name: Field,
    tid: Field,
    priority: Field,
}

impl HappeningLayouts {
    /// The known events that this kernel has, and their layout. The scheduler's events must exist; the others depend on
    /// the processor and the configuration.
    ///
    /// # Errors
    /// If the scheduler's events are missing.
    pub fn of(tracefs: &Tracefs) -> Result<(Self, Vec<String>), String> {
        let switch = tracefs.format("sched/sched_switch")?;
        let kind = switch.field("common_type").ok_or("this kernel's events have no common_type")?;
        let mut layouts = BTreeMap::new();
        let mut events = Vec::new();
        for (event, reader) in known() {
            let Ok(format) = tracefs.format(&event) else { continue };
            if let Some(layout) = reader(&format) {
                layouts.insert(format.id, layout);
                events.push(event);
            }
        }
        if !events.iter().any(|event| event == "sched/sched_switch") {
            return Err(
                "this kernel's event sched/sched_switch has an unknown format; please report it".to_owned()
            );
        }
        Ok((Self { kind, layouts }, events))
    }

    /// Decodes `bytes`; `None` if the event is not known. A timer's function is given as its hexadecimal address.
    pub fn happening(&self, bytes: &[u8]) -> Option<Happening> {
        let kind = u16::try_from(self.kind.number(bytes)?).ok()?;
        let number = |field: &Field| u32::try_from(field.number(bytes)?).ok();
        Some(match self.layouts.get(&kind)? {
            Layout::Switch { from, to } => Happening::Switch { from: from.task(bytes)?, to: to.task(bytes)? },
            Layout::Ready(task) => Happening::Ready { task: task.task(bytes)? },
            Layout::IrqBegin { irq, name } => {
                Happening::IrqBegin { irq: number(irq)?, name: name.located_text(bytes)? }
            }
            Layout::IrqEnd { irq } => Happening::IrqEnd { irq: number(irq)? },
            Layout::SoftirqBegin(vector) => Happening::SoftirqBegin { name: softirq(number(vector)?) },
            Layout::SoftirqEnd(vector) => Happening::SoftirqEnd { name: softirq(number(vector)?) },
            Layout::VectorBegin(name) => Happening::VectorBegin { name: name.clone() },
            Layout::VectorEnd(name) => Happening::VectorEnd { name: name.clone() },
            Layout::TimerBegin { function } => {
                Happening::TimerBegin { function: format!("{:#x}", function.number(bytes)?) }
            }
            Layout::TimerEnd => Happening::TimerEnd,
            Layout::Nmi { delta } => Happening::Nmi { took_ns: delta.number(bytes)? },
            Layout::Idle { state } => {
                Happening::Idle { state: Some(number(state)?).filter(|state| *state != IDLE_EXIT) }
            }
        })
    }
}

impl TaskFields {
    fn of(format: &Format, names: [&str; 3]) -> Option<Self> {
        let [name, tid, priority] = names.map(|name| format.field(name));
        Some(Self { name: name?, tid: tid?, priority: priority? })
    }

    fn task(self, bytes: &[u8]) -> Option<Task> {
        Some(Task {
            name: self.name.text(bytes)?,
            tid: u32::try_from(self.tid.number(bytes)?).ok()?,
            priority: self.priority.signed(bytes)? as i32,
        })
    }
}

type Reader = Box<dyn Fn(&Format) -> Option<Layout>>;

/// Every known event, and how its format is read.
fn known() -> Vec<(String, Reader)> {
    fn entry(event: &str, reader: impl Fn(&Format) -> Option<Layout> + 'static) -> (String, Reader) {
        (event.to_owned(), Box::new(reader))
    }
    let task = |format: &Format| TaskFields::of(format, ["comm", "pid", "prio"]);
    let mut known = vec![
        entry("sched/sched_switch", |format| {
            Some(Layout::Switch {
                from: TaskFields::of(format, ["prev_comm", "prev_pid", "prev_prio"])?,
                to: TaskFields::of(format, ["next_comm", "next_pid", "next_prio"])?,
            })
        }),
        entry("sched/sched_wakeup", move |format| task(format).map(Layout::Ready)),
        entry("irq/irq_handler_entry", |format| {
            Some(Layout::IrqBegin { irq: format.field("irq")?, name: format.field("name")? })
        }),
        entry("irq/irq_handler_exit", |format| format.field("irq").map(|irq| Layout::IrqEnd { irq })),
        entry("irq/softirq_entry", |format| format.field("vec").map(Layout::SoftirqBegin)),
        entry("irq/softirq_exit", |format| format.field("vec").map(Layout::SoftirqEnd)),
        entry("timer/hrtimer_expire_entry", |format| {
            format.field("function").map(|function| Layout::TimerBegin { function })
        }),
        entry("timer/hrtimer_expire_exit", |_| Some(Layout::TimerEnd)),
        entry("nmi/nmi_handler", |format| format.field("delta_ns").map(|delta| Layout::Nmi { delta })),
        entry("power/cpu_idle", |format| format.field("state").map(|state| Layout::Idle { state })),
        // arm and arm64 have one pair of events for all IPIs; the reason is an address.
        entry("ipi/ipi_entry", |_| Some(Layout::VectorBegin("ipi".to_owned()))),
        entry("ipi/ipi_exit", |_| Some(Layout::VectorEnd("ipi".to_owned()))),
    ];
    for name in VECTORS {
        let begin = move |_: &Format| Some(Layout::VectorBegin(name.to_owned()));
        let end = move |_: &Format| Some(Layout::VectorEnd(name.to_owned()));
        known.push(entry(&format!("irq_vectors/{name}_entry"), begin));
        known.push(entry(&format!("irq_vectors/{name}_exit"), end));
    }
    known
}

fn softirq(vector: u32) -> String {
    SOFTIRQS.get(vector as usize).map_or_else(|| vector.to_string(), |name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tardy_sys::kernel_files::KernelFiles;

    const FORMATS: [(&str, &str); 3] = [
        (
            "sched/sched_switch",
            "ID: 7\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
             \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
             \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
             \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
             \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
             \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
             \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n",
        ),
        (
            "irq/irq_handler_entry",
            "ID: 8\n\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
             \tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n",
        ),
        ("irq/softirq_entry", "ID: 9\n\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n"),
    ];

    fn layouts() -> (HappeningLayouts, Vec<String>) {
        let root = tempfile::tempdir().unwrap();
        let tracing = root.path().join("sys/kernel/tracing");
        for (event, format) in FORMATS {
            let directory = tracing.join("events").join(event);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("format"), format).unwrap();
        }
        fs::write(tracing.join("events/header_page"), "").unwrap();
        let tracefs = Tracefs::find(&KernelFiles::under(root.path())).unwrap();
        HappeningLayouts::of(&tracefs).unwrap()
    }

    fn put(bytes: &mut [u8], offset: usize, what: &[u8]) {
        bytes[offset..offset + what.len()].copy_from_slice(what);
    }

    #[test]
    fn known_events_are_decoded_and_others_skipped() {
        let (layouts, events) = layouts();
        assert_eq!(events, FORMATS.map(|(event, _)| event));
        let mut switch = [0u8; 64];
        put(&mut switch, 0, &7u16.to_ne_bytes());
        put(&mut switch, 8, b"swapper/0\0");
        put(&mut switch, 28, &120i32.to_ne_bytes());
        put(&mut switch, 40, b"sixteen-letters!");
        put(&mut switch, 56, &4711u32.to_ne_bytes());
        put(&mut switch, 60, &(-1i32).to_ne_bytes());
        let task = |name: &str, tid, priority| Task { name: name.to_owned(), tid, priority };
        let expected =
            Happening::Switch { from: task("swapper/0", 0, 120), to: task("sixteen-letters!", 4711, -1) };
        assert_eq!(layouts.happening(&switch), Some(expected));
        let mut irq = [0u8; 24];
        put(&mut irq, 0, &8u16.to_ne_bytes());
        put(&mut irq, 8, &39u32.to_ne_bytes());
        put(&mut irq, 12, &(5u32 << 16 | 16).to_ne_bytes());
        put(&mut irq, 16, b"eth0\0");
        assert_eq!(layouts.happening(&irq), Some(Happening::IrqBegin { irq: 39, name: "eth0".to_owned() }));
        let mut softirq = [0u8; 12];
        put(&mut softirq, 0, &9u16.to_ne_bytes());
        put(&mut softirq, 8, &3u32.to_ne_bytes());
        assert_eq!(layouts.happening(&softirq), Some(Happening::SoftirqBegin { name: "NET_RX".to_owned() }));
        assert_eq!(layouts.happening(&[0; 64]), None);
    }

    #[test]
    fn a_truncated_event_is_not_decoded() {
        let (layouts, _) = layouts();
        let mut irq = [0u8; 16];
        put(&mut irq, 0, &8u16.to_ne_bytes());
        // Its name would be outside the bytes.
        put(&mut irq, 12, &(5u32 << 16 | 16).to_ne_bytes());
        assert_eq!(layouts.happening(&irq), None);
        assert_eq!(layouts.happening(&irq[..1]), None);
    }
}
