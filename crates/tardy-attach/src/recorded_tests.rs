//! A trace that was recorded of a program whose threads wake one another, and what the program's own log says of it.

use std::collections::BTreeMap;

use crate::chain_recorder::{ChainRecorder, Named};
use crate::event::{Event, Name, Task, TaskState, What};
use crate::recorder::Settings;
use crate::tracker::{Progress, Tracker};
use crate::wait::TimerKind;

/// Its first lines describe it.
const TRACE: &str = include_str!("../tests/chain.trace");
const FUNCTION: u64 = 1;

/// The words of a line.
struct Line<'t> {
    words: std::str::SplitAsciiWhitespace<'t>,
}

impl<'t> Line<'t> {
    fn word(&mut self) -> &'t str {
        self.words.next().expect("a word")
    }

    fn number(&mut self) -> i64 {
        // Arguments of system calls may have all 64 bits.
        let word = self.word();
        word.parse().or_else(|_| word.parse::<u64>().map(|number| number as i64)).expect("a number")
    }

    fn task(&mut self) -> Task {
        let (tid, priority) = (self.number() as u32, self.number() as i32);
        Task { tid, priority, name: Name::of(self.word()) }
    }
}

/// The events, and the log's times by due time.
fn recorded() -> (Vec<Event>, BTreeMap<u64, u64>) {
    let (mut events, mut log) = (Vec::new(), BTreeMap::new());
    // The record lacks the timer at its end; no two expire at a time.
    let mut expiring = 0;
    for line in TRACE.lines().filter(|line| !line.starts_with('#')) {
        let mut line = Line { words: line.split_ascii_whitespace() };
        let (at_ns, cpu, by) = (line.number() as u64, line.number() as u32, line.number() as u32);
        let what = match line.word() {
            "E" => What::Enter { call: line.number(), args: [(); 4].map(|()| line.number() as u64) },
            "L" => What::Leave { call: line.number(), result: line.number() },
            "S" => What::Start {
                timer: line.number() as u64,
                function: FUNCTION,
                expires_ns: line.number(),
                soft_ns: line.number(),
            },
            "X" => {
                expiring = line.number() as u64;
                What::Expire { timer: expiring, function: FUNCTION }
            }
            "x" => What::ExpireEnd { timer: expiring },
            "W" => What::Waking { task: line.task(), target: None },
            "F" => What::Fork { child: line.number() as u32 },
            "C" => {
                let (tid, priority, ready) = (line.number() as u32, line.number() as i32, line.number() == 1);
                let from = Task { tid, priority, name: Name::of(line.word()) };
                let state = if ready { TaskState::Ready } else { TaskState::Interruptible };
                What::Switch { from, state, to: line.task() }
            }
            "P" => {
                log.insert(at_ns, line.number() as u64);
                continue;
            }
            kind => panic!("{kind}"),
        };
        events.push(Event { at_ns, cpu, by, what });
    }
    (events, log)
}

#[test]
fn a_recorded_chain_takes_as_long_as_the_programs_log_says() {
    let (events, log) = recorded();
    let functions = BTreeMap::from([(FUNCTION, TimerKind::Sleep)]);
    let mut tracker = Tracker::new(functions, None);
    let is_own = |event: &&Event| matches!(event.what, What::Leave { .. });
    let first = events.iter().find(is_own).unwrap().by;
    tracker.follow(first, first, "chain");
    let mut chains = ChainRecorder::new(Settings::default());
    let (mut progress, mut passages) = (Vec::new(), Vec::new());
    for event in &events {
        tracker.take(event, &mut progress);
        for one in progress.drain(..) {
            match one {
                Progress::Begun(tid) => chains.begin_cycle(tid, event.at_ns),
                Progress::Passage(passage) => {
                    let names = |tid: u32| {
                        let name = tracker.threads[&tid].name.text();
                        Named { pid: first, with_process: name.clone(), name }
                    };
                    chains.record(&passage, &names);
                    passages.push(passage);
                }
                _ => {}
            }
        }
    }
    let series = chains.series(0);
    assert_eq!(series[0].label, "sensor > control > bus");
    // The period must be known first, and the chain by some passages.
    assert!(series[0].tally.recorded > 10, "{:?}", series[0].tally);
    for passage in &passages {
        assert_eq!(passage.stages.len(), 3, "{passage:?}");
        let due_ns = passage.stages[0].woken_ns;
        let logged = log.get(&due_ns).unwrap_or_else(|| panic!("{due_ns} is not in the log"));
        // The program reads its clock before it waits again; the events are rounded to 1 us.
        let after = passage.took_ns() as i64 - *logged as i64;
        assert!((-1000..30_000).contains(&after), "{after} ns after the log, in {passage:?}");
    }
}
