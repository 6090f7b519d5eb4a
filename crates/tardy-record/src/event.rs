//! Events of a run other than readings: checkpoints, phases, Ctrl-C, clock steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most events that a run keeps; when it is full, neighbouring checkpoints merge.
pub const EVENT_COUNT: usize = 1024;
/// The most marks that a run keeps. They do not merge.
pub const MARK_COUNT: u64 = 256;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// When it began, in ns from the start of the run.
    pub at_ns: u64,
    /// The kind of event.
    pub kind: EventKind,
    /// A message for the user.
    pub text: String,
    /// Its duration; the longest if several events have merged.
    pub took_ns: u64,
    /// The number of events that have merged into this one.
    pub count: u64,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The run file was written, which itself loads the machine.
    Checkpoint,
    /// A checkpoint could not be written.
    CheckpointFailed,
    /// A phase began or ended.
    Phase,
    /// A person or a signal ended the run.
    Interrupted,
    /// A condition that affects the interpretation of the results.
    Warning,
    /// A person marked this moment during the run.
    Mark,
}

/// Adds an event in constant memory.
pub fn push(events: &mut Vec<Event>, event: Event) {
    if events.len() >= EVENT_COUNT {
        let mut merged: Vec<Event> = Vec::with_capacity(EVENT_COUNT);
        for event in events.drain(..) {
            match merged.last_mut() {
                Some(last) if mergeable(last, &event) => {
                    last.count += event.count;
                    last.took_ns = last.took_ns.max(event.took_ns);
                }
                _ => merged.push(event),
            }
        }
        *events = merged;
    }
    events.push(event);
}

/// Neighbours of the same kind merge if they represent the same number of events, so that the resolution stays uniform.
fn mergeable(earlier: &Event, later: &Event) -> bool {
    let is_single = matches!(earlier.kind, EventKind::Phase | EventKind::Mark);
    earlier.kind == later.kind && !is_single && earlier.count == later.count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_thousand_checkpoints_fit() {
        let mut events = Vec::new();
        for at_ns in 0..100_000 {
            let (kind, text) = (EventKind::Checkpoint, String::new());
            push(&mut events, Event { at_ns, kind, text, took_ns: at_ns % 77, count: 1 });
        }
        assert!(events.len() <= EVENT_COUNT);
        assert_eq!(events.iter().map(|event| event.count).sum::<u64>(), 100_000);
    }
}
