//! Waits in words, as run files have them.

use tardy_record::program::{DEADLINE, OWN_TIME_OUT, TIMER_SIGNAL, TIMERFD};
use tardy_sys::system_calls;

use crate::event::Handler;
use crate::layout::{Layouts, vector_name};
use crate::moments::softirq;
use crate::wait::{Signature, Source, TimerKind, Woken};

/// The call in which a thread waits, and what ends the wait.
pub(crate) fn call_and_source(signature: &Signature, woken: &Woken, layouts: &Layouts) -> (String, String) {
    let name = system_calls::name(signature.call);
    let call = name.map_or_else(|| format!("system call {}", signature.call), str::to_owned);
    let by_call = name == Some("clock_nanosleep") && signature.source == Source::Timer(TimerKind::Sleep);
    let call = match (by_call, signature.absolute) {
        (true, true) => format!("{call}, absolute"),
        (true, false) => format!("{call}, relative"),
        _ => call,
    };
    (call, source(&woken.source, &woken.by.text(), layouts))
}

/// What ends a wait. `by` is the name of the task, or empty if it is not known.
pub(crate) fn source(source: &Source, by: &str, layouts: &Layouts) -> String {
    match source {
        Source::Timer(TimerKind::Sleep | TimerKind::Quota | TimerKind::Other) => OWN_TIME_OUT.to_owned(),
        Source::Timer(TimerKind::Timerfd) => TIMERFD.to_owned(),
        Source::Timer(TimerKind::Signal) => TIMER_SIGNAL.to_owned(),
        Source::Timer(TimerKind::Deadline) => DEADLINE.to_owned(),
        Source::Interrupt(Handler::Irq(irq, name)) => format!("irq {irq} {}", layouts.handler_name(*name)),
        Source::Interrupt(Handler::Softirq(number)) => format!("soft interrupt {}", softirq(*number)),
        Source::Interrupt(Handler::Vector(index)) => format!("interrupt {}", vector_name(*index)),
        Source::Task(_) if by.is_empty() => "another task".to_owned(),
        Source::Task(_) => format!("'{by}'"),
    }
}
