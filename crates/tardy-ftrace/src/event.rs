//! The kernel's name and fields of each event: those of its `format` file in tracefs, without the fields that a run does not
//! keep.

use tardy_record::moment::{Happening, Task};

use crate::excerpt::Event;

/// The soft interrupts in the order of their numbers (include/linux/interrupt.h).
pub(crate) const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
/// The state that a CPU enters when it leaves its idle state (include/linux/cpuidle.h, `PWR_EVENT_EXIT`).
const IDLE_EXIT: u32 = u32::MAX;
/// Longer names of handlers and functions are shortened.
const TEXT_MAX: usize = 120;
/// The system of the events of timer functions. The kernel's is `timer`, but trace-cmd's plugin for that prints fields that a
/// run does not keep.
const TIMER_FUNCTIONS: &str = "tardy";
/// The kernel's longest name of a task, without the zero at its end.
pub(crate) const NAME_MAX: usize = 15;

/// An event of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// The directory in events/ of tracefs.
    pub(crate) system: &'static str,
    /// Its name.
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
    /// The second line of the `format` file: how the fields are printed.
    pub(crate) print: String,
}

/// A field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) value: Value,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Signed(i32),
    Unsigned(u32),
    Long(i64),
    /// A name of a task, of at most [`NAME_MAX`] bytes.
    Name(String),
    /// A text of any length.
    Text(String),
    /// A function, by its symbol or its address.
    Function(String),
}

/// The kernel's event for `event` on `cpu`.
pub(crate) fn of(event: &Event<'_>, cpu: u32) -> Kernel {
    match event.what {
        Happening::Switch { from, to } => switch(from, to, event.sleeps),
        Happening::Ready { task } => {
            let target = field("target_cpu", Value::Signed(signed(cpu)));
            let mut fields = of_task(task, ["comm", "pid", "prio"]);
            fields.push(target);
            let print =
                "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu";
            kernel("sched", "sched_wakeup", fields, print)
        }
        Happening::IrqBegin { irq, name } => kernel(
            "irq",
            "irq_handler_entry",
            vec![field("irq", Value::Signed(signed(*irq))), field("name", Value::Text(printable(name)))],
            "\"irq=%d name=%s\", REC->irq, __get_str(name)",
        ),
        Happening::IrqEnd { irq } => {
            let irq = field("irq", Value::Signed(signed(*irq)));
            kernel("irq", "irq_handler_exit", vec![irq], "\"irq=%d\", REC->irq")
        }
        Happening::SoftirqBegin { name } => softirq("softirq_entry", name),
        Happening::SoftirqEnd { name } => softirq("softirq_exit", name),
        Happening::VectorBegin { name } => vector(name, "entry"),
        Happening::VectorEnd { name } => vector(name, "exit"),
        Happening::TimerBegin { function } => {
            let function = field("function", Value::Function(printable(function).replace(' ', "?")));
            kernel(TIMER_FUNCTIONS, "hrtimer_expire_entry", vec![function], "\"function=%ps\", REC->function")
        }
        Happening::TimerEnd => kernel(TIMER_FUNCTIONS, "hrtimer_expire_exit", Vec::new(), "\"\""),
        Happening::Nmi { took_ns } => {
            let took = field("delta_ns", Value::Long(i64::try_from(*took_ns).unwrap_or(i64::MAX)));
            kernel("nmi", "nmi_handler", vec![took], "\"delta_ns: %lld\", REC->delta_ns")
        }
        Happening::Idle { state } => {
            let fields = vec![
                field("state", Value::Unsigned(state.unwrap_or(IDLE_EXIT))),
                field("cpu_id", Value::Unsigned(cpu)),
            ];
            kernel("power", "cpu_idle", fields, "\"state=%u cpu_id=%u\", REC->state, REC->cpu_id")
        }
    }
}

fn kernel(system: &'static str, name: &str, fields: Vec<Field>, print: &str) -> Kernel {
    Kernel { system, name: name.to_owned(), fields, print: print.to_owned() }
}

fn field(name: &'static str, value: Value) -> Field {
    Field { name, value }
}

fn signed(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn of_task(task: &Task, [name, tid, priority]: [&'static str; 3]) -> Vec<Field> {
    vec![
        field(name, Value::Name(task_name(&task.name))),
        field(tid, Value::Signed(signed(task.tid))),
        field(priority, Value::Signed(task.priority)),
    ]
}

fn switch(from: &Task, to: &Task, sleeps: bool) -> Kernel {
    let mut fields = of_task(from, ["prev_comm", "prev_pid", "prev_prio"]);
    fields.push(field("prev_state", Value::Long(i64::from(sleeps))));
    fields.extend(of_task(to, ["next_comm", "next_pid", "next_prio"]));
    let print = "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d\", \
                 REC->prev_comm, REC->prev_pid, REC->prev_prio, \
                 __print_symbolic(REC->prev_state, { 0, \"R\" }, { 1, \"S\" }), \
                 REC->next_comm, REC->next_pid, REC->next_prio";
    kernel("sched", "sched_switch", fields, print)
}

fn softirq(event: &str, name: &str) -> Kernel {
    let number = SOFTIRQS.iter().position(|one| *one == name).and_then(|number| u32::try_from(number).ok());
    let number = number.or_else(|| name.parse().ok()).unwrap_or(u32::MAX);
    let names = SOFTIRQS.iter().enumerate();
    let names: Vec<String> = names.map(|(number, name)| format!("{{ {number}, \"{name}\" }}")).collect();
    let print = format!("\"vec=%u [action=%s]\", REC->vec, __print_symbolic(REC->vec, {})", names.join(", "));
    kernel("irq", event, vec![field("vec", Value::Unsigned(number))], &print)
}

/// An interrupt of the CPU itself. Its number is not recorded.
fn vector(name: &str, end: &str) -> Kernel {
    let is_symbol = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let name = if is_symbol(name) && !name.is_empty() { name } else { "unknown" };
    let system = if name == "ipi" { "ipi" } else { "irq_vectors" };
    kernel(system, &format!("{name}_{end}"), Vec::new(), "\"\"")
}

/// The name of a task, as long as the kernel has them.
pub(crate) fn task_name(name: &str) -> String {
    let mut name = printable(name);
    while name.len() > NAME_MAX {
        name.pop();
    }
    name
}

/// A name from a run file, shortened, without what would end a line or a text.
pub(crate) fn printable(name: &str) -> String {
    name.chars().take(TEXT_MAX).map(|c| if c.is_control() { '?' } else { c }).collect()
}
