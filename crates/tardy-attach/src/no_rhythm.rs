//! The message that no thread of a program is periodic.

use tardy_sys::processes::{self, ProcessState};

use crate::targets;

/// How the observation of a program ended that has no periodic thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservationEnd {
    /// Its time was over.
    TimeOver,
    /// A signal ended it.
    Interrupted,
    /// The program ended.
    ProgramEnded,
    /// The program that tardy started ended, and another process that it started runs on.
    InBackground {
        /// That process.
        pid: u32,
        /// Its name.
        name: String,
    },
}

impl ObservationEnd {
    /// How a program ended of which these threads remain: they are of processes that it started.
    pub fn of_ended_program(mut threads: impl Iterator<Item = u32>) -> Self {
        let process = |tid: u32| {
            let pid = targets::process_of(tid).filter(|pid| *pid != std::process::id())?;
            let state = ProcessState::of(pid).filter(|state| !state.is_zombie);
            Some(Self::InBackground { pid, name: state.and_then(|_| processes::command_of(pid))? })
        };
        threads.find_map(process).unwrap_or(Self::ProgramEnded)
    }
}

/// That no thread is periodic, and what they do. `lost` events were lost by buffers of this size for each CPU.
pub fn no_rhythm(
    named: &str,
    end: &ObservationEnd,
    others: &[(String, Vec<(String, usize)>)],
    lost: u64,
    buffer_kib: u32,
) -> String {
    let problem = match end {
        ObservationEnd::TimeOver => format!("no thread of {named} waits periodically"),
        ObservationEnd::Interrupted => {
            format!("interrupted before a thread of {named} was found that waits periodically")
        }
        ObservationEnd::ProgramEnded => {
            format!("the program ended before a thread of {named} was found that waits periodically")
        }
        ObservationEnd::InBackground { pid, name } => {
            return format!(
                "{named} went into the background: it ended after it had started process {pid}, '{name}', which runs on; \
                 `tardy attach {name}` watches that"
            );
        }
    };
    let lossy = (lost > 0).then(|| {
        format!(
            "{lost} events were lost, and waits with them; a --buffer of more than {buffer_kib} KiB loses fewer"
        )
    });
    let longer =
        (*end == ObservationEnd::TimeOver).then(|| "a longer --warmup finds longer periods".to_owned());
    let parts = [waits(others), lossy.or(longer)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { problem } else { format!("{problem}: {}", parts.join("; ")) }
}

/// What the threads waited for; `None` if there are none.
fn waits(others: &[(String, Vec<(String, usize)>)]) -> Option<String> {
    const SHOWN: usize = 5;
    let thread = |(name, waits): &(String, Vec<(String, usize)>)| {
        let waits: Vec<String> = waits.iter().map(|(wait, count)| format!("{count} x {wait}")).collect();
        match waits.is_empty() {
            true => format!("of '{name}' no wait has ended"),
            false => format!("'{name}' waited {}", waits.join(", ")),
        }
    };
    let shown: Vec<String> = others.iter().take(SHOWN).map(thread).collect();
    let more = others.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| format!("{}{more}", shown.join("; ")))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn others() -> Vec<(String, Vec<(String, usize)>)> {
        vec![("loop".to_owned(), vec![("ppoll until its time-out".to_owned(), 3)])]
    }

    #[test]
    fn the_advice_depends_on_whether_events_were_lost() {
        let whole = no_rhythm("7", &ObservationEnd::TimeOver, &others(), 0, 8);
        assert!(whole.contains("'loop' waited 3 x ppoll") && whole.contains("a longer --warmup"), "{whole}");
        let lossy = no_rhythm("7", &ObservationEnd::TimeOver, &others(), 9000, 8);
        assert!(
            lossy.contains("9000 events were lost") && lossy.contains("--buffer of more than 8 KiB"),
            "{lossy}"
        );
        assert!(!lossy.contains("--warmup"), "{lossy}");
    }

    #[test]
    fn a_longer_warm_up_is_advised_only_if_its_time_was_over() {
        let text = |end| no_rhythm("./control", &end, &others(), 0, 8);
        assert_eq!(
            text(ObservationEnd::Interrupted),
            "interrupted before a thread of ./control was found that waits periodically: 'loop' waited 3 x ppoll until its \
             time-out"
        );
        assert_eq!(
            no_rhythm("./control", &ObservationEnd::ProgramEnded, &[], 0, 8),
            "the program ended before a thread of ./control was found that waits periodically"
        );
        assert_eq!(
            text(ObservationEnd::InBackground { pid: 9, name: "control".to_owned() }),
            "./control went into the background: it ended after it had started process 9, 'control', which runs on; `tardy \
             attach control` watches that"
        );
    }

    #[test]
    fn a_process_that_outlives_the_program_is_in_the_background() {
        let mut other = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = other.id();
        let (own, none) = (std::process::id(), u32::MAX);
        // Its name is that of the test until it executes its program.
        let end = ObservationEnd::of_ended_program([own, none, pid].into_iter());
        assert!(matches!(end, ObservationEnd::InBackground { pid: found, .. } if found == pid), "{end:?}");
        drop(other.stdin.take());
        other.wait().unwrap();
        assert_eq!(
            ObservationEnd::of_ended_program([own, none, pid].into_iter()),
            ObservationEnd::ProgramEnded
        );
    }
}
