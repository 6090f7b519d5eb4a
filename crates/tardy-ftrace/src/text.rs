//! ftrace text, as the file `trace` of tracefs has it
//! (<https://docs.kernel.org/trace/ftrace.html>, "Output format").
//!
//! The column of flags is left out, as with the kernel's option `noirq-info`: the flags are not recorded. Times have nine
//! decimals, which Perfetto reads.
//!
//! Of a text, Perfetto draws the scheduler's events, idle states and marks that programs write. Handlers of interrupts, soft
//! interrupts and timer functions are therefore also marks (`tracing_mark_write: B|0|irq 39 eth0`, `E|0`), and a
//! `sched_waking` precedes each wake-up, since Perfetto takes the time of a wake-up from that.

use std::fmt::Write as _;

use tardy_record::moment::Happening;

use crate::event::{self, Kernel, SOFTIRQS, Value, printable, task_name};
use crate::excerpt::{Event, Excerpt};

const HEADER: &str = "#           TASK-PID    CPU#      TIMESTAMP  FUNCTION\n#              | |         |           |         |\n";

/// The text of an excerpt.
pub fn write(excerpt: &Excerpt<'_>) -> String {
    let events = excerpt.events();
    let mut text = "# tracer: nop\n#\n".to_owned();
    let _ = write!(
        text,
        "# entries-in-buffer/entries-written: {0}/{0}   #P:{1}\n#\n# {2}: {3} ns late; the deadline is at {4}\n#\n{HEADER}",
        events.len(),
        excerpt.cpu.saturating_add(1),
        printable(excerpt.series),
        excerpt.late_ns,
        seconds(excerpt.deadline_ns.max(0).unsigned_abs()),
    );
    let mut depth = 0;
    for one in &events {
        let kernel = event::of(one, excerpt.cpu);
        if let Happening::Ready { .. } = one.what {
            line(&mut text, one, excerpt.cpu, "sched_waking", &arguments(&kernel));
        }
        line(&mut text, one, excerpt.cpu, &kernel.name, &arguments(&kernel));
        match one.what.depth_change() {
            1 => {
                depth += 1;
                let mark = format!("B|0|{}", name_of_handler(one.what));
                line(&mut text, one, excerpt.cpu, "tracing_mark_write", &mark);
            }
            // A handler that had begun before the excerpt ends without a mark for its begin.
            -1 if depth > 0 => {
                depth -= 1;
                line(&mut text, one, excerpt.cpu, "tracing_mark_write", "E|0");
            }
            _ => {}
        }
    }
    text
}

fn line(text: &mut String, event: &Event<'_>, cpu: u32, function: &str, arguments: &str) {
    let name = match event.tid {
        0 => "<idle>".to_owned(),
        _ => event.name.map_or_else(|| "<...>".to_owned(), task_name),
    };
    let at = seconds(event.at_ns);
    let _ = write!(text, "{name:>16}-{:<7} [{cpu:03}] {at:>15}: {function}:", event.tid);
    let _ = if arguments.is_empty() { writeln!(text) } else { writeln!(text, " {arguments}") };
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// The fields as the kernel prints them.
fn arguments(kernel: &Kernel) -> String {
    let mut text = String::new();
    for field in &kernel.fields {
        let separator = match field.name {
            _ if text.is_empty() => "",
            "next_comm" => " ==> ",
            _ => " ",
        };
        let _ = match (field.name, &field.value) {
            ("prev_state", Value::Long(state)) => {
                write!(text, "{separator}prev_state={}", if *state == 0 { "R" } else { "S" })
            }
            ("target_cpu", Value::Signed(cpu)) => write!(text, "{separator}target_cpu={cpu:03}"),
            ("vec", Value::Unsigned(vec)) => {
                let action = SOFTIRQS.get(*vec as usize).copied().unwrap_or_default();
                write!(text, "{separator}vec={vec} [action={action}]")
            }
            ("delta_ns", Value::Long(ns)) => write!(text, "{separator}delta_ns: {ns}"),
            (name, Value::Signed(number)) => write!(text, "{separator}{name}={number}"),
            (name, Value::Unsigned(number)) => write!(text, "{separator}{name}={number}"),
            (name, Value::Long(number)) => write!(text, "{separator}{name}={number}"),
            (name, Value::Name(value) | Value::Text(value) | Value::Function(value)) => {
                write!(text, "{separator}{name}={value}")
            }
        };
    }
    text
}

/// What a mark calls a handler. A bar would end the name.
fn name_of_handler(what: &Happening) -> String {
    let name = match what {
        Happening::IrqBegin { irq, name } => format!("irq {irq} {name}"),
        Happening::SoftirqBegin { name } => format!("softirq {name}"),
        Happening::VectorBegin { name } => name.clone(),
        Happening::TimerBegin { function } => format!("timer {function}"),
        _ => String::new(),
    };
    printable(&name).replace('|', "/")
}
