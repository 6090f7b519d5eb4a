//! Two explained wake-ups against each other, function by function.
//!
//! Functions are aligned by their call path. What an interrupt interrupted, and which task that was, differs from wake-up to wake-up, so a
//! path begins at the innermost interrupt or call of the scheduler, and tasks count as two: the thread that was woken, and all others.

use std::collections::BTreeMap;

use serde::Serialize;
use tardy_record::census::Coverage;
use tardy_record::explanation::{Call, ExplainedWakeup, Explanations, Extent, Which};

/// Two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The wake-ups that both have: of the same phase, series and kind.
    pub wakeups: Vec<WakeupDifference>,
    /// What ran in only one of them, if that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<CoverageDifference>,
}

/// Functions that turn interrupts or preemption off, in two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CoverageDifference {
    /// How many ran in each.
    pub ran: [usize; 2],
    /// How many there are in each.
    pub all: [usize; 2],
    /// Those that ran in one only.
    pub only: [Vec<String>; 2],
}

/// The same wake-up of two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WakeupDifference {
    /// The label of the phase.
    pub phase: String,
    /// The label of the series.
    pub series: String,
    /// Which wake-up.
    pub which: Which,
    /// How far it goes.
    pub extent: Extent,
    /// How late each was, in ns.
    pub latency_ns: [u64; 2],
    /// The instructions of each.
    pub instructions: [u64; 2],
    /// Functions that differ, those that differ most first.
    pub functions: Vec<FunctionDifference>,
    /// All functions of both, by who called them.
    #[serde(skip)]
    pub merged: Vec<Merged>,
}

/// A function of one wake-up or of both in the tree of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The function.
    pub name: String,
    /// How often it was called in each.
    pub calls: [u64; 2],
    /// The instructions in it alone, in each.
    pub own: [u64; 2],
    /// The instructions in it and in what it called, in each.
    pub total: [u64; 2],
    /// The instructions that it needs in a picture of both: the more of its own, and the widths of what it called.
    pub width: u64,
    /// What it called, the widest first.
    pub inner: Vec<Merged>,
}

/// A function, called by the same path, in two wake-ups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionDifference {
    /// The functions that led to it, outermost first.
    pub callers: Vec<String>,
    /// The function.
    pub name: String,
    /// How often it was called in each.
    pub calls: [u64; 2],
    /// The instructions in it alone, in each.
    pub own: [u64; 2],
}

impl FunctionDifference {
    /// Instructions that the second has more.
    pub fn change(&self) -> i64 {
        self.own[1] as i64 - self.own[0] as i64
    }
}

/// The differences of two runs.
pub fn of(a: &Explanations, b: &Explanations) -> Difference {
    let coverage = a.coverage.as_ref().zip(b.coverage.as_ref());
    Difference { wakeups: wakeups(a, b), coverage: coverage.map(|(a, b)| coverage_difference([a, b])) }
}

fn coverage_difference(sides: [&Coverage; 2]) -> CoverageDifference {
    let only = |own: &Coverage, other: &Coverage| -> Vec<String> {
        let is_only_here = |function: &&String| other.ran.binary_search(function).is_err();
        own.ran.iter().filter(is_only_here).cloned().collect()
    };
    CoverageDifference {
        ran: sides.map(|side| side.ran.len()),
        all: sides.map(|side| side.ran.len() + side.never.len()),
        only: [only(sides[0], sides[1]), only(sides[1], sides[0])],
    }
}

fn wakeups(a: &Explanations, b: &Explanations) -> Vec<WakeupDifference> {
    let same = |one: &ExplainedWakeup, other: &ExplainedWakeup| {
        (&one.phase, &one.series) == (&other.phase, &other.series) && one.which == other.which
    };
    let pairs =
        a.wakeups.iter().filter_map(|one| Some((one, b.wakeups.iter().find(|other| same(one, other))?)));
    pairs.map(|(one, other)| between(one, other)).collect()
}

fn between(a: &ExplainedWakeup, b: &ExplainedWakeup) -> WakeupDifference {
    let aligned = aligned(a, b);
    let merged = merged(&aligned);
    let mut functions: Vec<FunctionDifference> = aligned.into_values().filter(differs).collect();
    functions.sort_by_key(|function| std::cmp::Reverse(function.change().unsigned_abs()));
    WakeupDifference {
        phase: a.phase.clone(),
        series: a.series.clone(),
        which: a.which,
        extent: a.explanation.extent,
        latency_ns: [a.explanation.latency_ns, b.explanation.latency_ns],
        instructions: [a.explanation.instructions, b.explanation.instructions],
        merged,
        functions,
    }
}

/// The functions of both by their call paths.
fn aligned(a: &ExplainedWakeup, b: &ExplainedWakeup) -> BTreeMap<Vec<String>, FunctionDifference> {
    let mut functions: BTreeMap<Vec<String>, FunctionDifference> = BTreeMap::new();
    for (side, wakeup) in [a, b].into_iter().enumerate() {
        for call in &wakeup.explanation.calls {
            let is_woken = call.name == format!("{} {}", wakeup.explanation.thread, wakeup.explanation.pid);
            let task = if is_woken { "the thread" } else { "other tasks" };
            call.calls.iter().for_each(|inner| add(&mut functions, side, vec![task.to_owned()], inner));
        }
    }
    functions
}

/// The functions as a tree. A caller that has no instructions of its own is in it too.
fn merged(functions: &BTreeMap<Vec<String>, FunctionDifference>) -> Vec<Merged> {
    let mut roots = Vec::new();
    for (path, function) in functions {
        let mut level = &mut roots;
        for name in &path[..path.len() - 1] {
            level = &mut entry(level, name).inner;
        }
        let node = entry(level, &function.name);
        (node.calls, node.own) = (function.calls, function.own);
    }
    roots.iter_mut().for_each(finish);
    roots
}

fn entry<'a>(level: &'a mut Vec<Merged>, name: &str) -> &'a mut Merged {
    let index = level.iter().position(|node| node.name == name).unwrap_or_else(|| {
        level.push(Merged { name: name.to_owned(), ..Merged::default() });
        level.len() - 1
    });
    &mut level[index]
}

fn finish(node: &mut Merged) {
    node.inner.iter_mut().for_each(finish);
    for side in 0..2 {
        node.total[side] = node.own[side] + node.inner.iter().map(|inner| inner.total[side]).sum::<u64>();
    }
    let below: u64 = node.inner.iter().map(|inner| inner.width).sum();
    node.width = node.own[0].max(node.own[1]) + below;
    node.inner.sort_by_key(|inner| std::cmp::Reverse(inner.width));
}

fn differs(function: &FunctionDifference) -> bool {
    function.own[0] != function.own[1] || function.calls[0] != function.calls[1]
}

/// Adds a function with the path `path`, and what it called.
fn add(
    functions: &mut BTreeMap<Vec<String>, FunctionDifference>,
    side: usize,
    path: Vec<String>,
    call: &Call,
) {
    let path = match begins_a_path(&call.name) {
        true => vec![call.name.clone()],
        false if path.last() == Some(&call.name) => path,
        false => [path, vec![call.name.clone()]].concat(),
    };
    if call.own > 0 {
        let function = functions.entry(path.clone()).or_insert_with(|| FunctionDifference {
            callers: path[..path.len() - 1].to_vec(),
            name: call.name.clone(),
            calls: [0; 2],
            own: [0; 2],
        });
        function.calls[side] += call.count;
        function.own[side] += call.own;
    }
    for inner in &call.calls {
        add(functions, side, path.clone(), inner);
    }
}

/// Whether it is the kernel's function for an interrupt or exception (arch/x86/include/asm/idtentry.h), or the scheduler, which does the
/// same for all callers.
fn begins_a_path(name: &str) -> bool {
    let plain = name.trim_start_matches('_');
    name == "__schedule"
        || ["asm_", "sysvec_", "common_interrupt", "exc_"].iter().any(|prefix| plain.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::explanation::Explanation;

    fn call(name: &str, count: u64, own: u64, calls: Vec<Call>) -> Call {
        let total = own + calls.iter().map(|call| call.total).sum::<u64>();
        Call { name: name.to_owned(), count, total, own, calls }
    }

    fn explained(pid: u32, calls: Vec<Call>) -> Explanations {
        let instructions = calls.iter().map(|call| call.total).sum();
        let explanation = Explanation {
            thread: "timer0".to_owned(),
            pid,
            extent: Extent::WakeUp,
            due_ns: 0,
            latency_ns: 2 * instructions,
            instructions,
            parts: Vec::new(),
            held_off: None,
            unexplained: 0,
            calls,
            timeline: Vec::new(),
        };
        let (phase, series) = ("idle".to_owned(), "cpu 0".to_owned());
        Explanations {
            explanation_version: 1,
            identity: String::new(),
            run: String::new(),
            kernel: String::new(),
            ns_per_instruction: 2,
            wakeups: vec![ExplainedWakeup { phase, series, which: Which::Worst, cycle: 0, explanation }],
            census: None,
            coverage: None,
            boot: None,
        }
    }

    /// The timer's interrupt came during other work of another task, and the thread has another number.
    #[test]
    fn only_what_differs_on_the_path_is_found() {
        let interrupt =
            || call("__sysvec_apic_timer_interrupt", 1, 5, vec![call("hrtimer_wakeup", 1, 7, vec![])]);
        let a = explained(
            10,
            vec![
                call("swapper/0 0", 1, 0, vec![call("do_idle", 1, 3, vec![interrupt()])]),
                call("timer0 10", 1, 0, vec![call("__schedule", 1, 20, vec![])]),
            ],
        );
        let b = explained(
            33,
            vec![
                call("cat 44", 1, 0, vec![call("do_syscall_64", 1, 3, vec![interrupt()])]),
                call(
                    "timer0 33",
                    1,
                    0,
                    vec![call("__schedule", 1, 20, vec![call("psi_task_switch", 3, 50, vec![])])],
                ),
            ],
        );
        let [difference] = &of(&a, &b).wakeups[..] else { panic!("one wake-up each") };
        assert_eq!(difference.instructions, [35, 85]);
        let found: Vec<(&str, [u64; 2], i64)> =
            difference.functions.iter().map(|one| (one.name.as_str(), one.calls, one.change())).collect();
        assert_eq!(
            found,
            [("psi_task_switch", [0, 3], 50), ("do_idle", [1, 0], -3), ("do_syscall_64", [0, 1], 3)]
        );
        assert_eq!(difference.functions[0].callers, ["__schedule"]);
        let thread = &difference.merged.iter().find(|node| node.name == "__schedule").unwrap();
        assert_eq!((thread.own, thread.total, thread.width), ([20, 20], [20, 70], 70));
        assert_eq!((thread.inner[0].name.as_str(), thread.inner[0].own), ("psi_task_switch", [0, 50]));
        let changes: i64 = difference.functions.iter().map(FunctionDifference::change).sum();
        assert_eq!(changes, 50, "the changes add up to the difference");
    }

    #[test]
    fn what_ran_in_one_only_is_found() {
        let with = |ran: &[&str], never: &[&str]| {
            let names = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
            Explanations {
                coverage: Some(Coverage { ran: names(ran), never: names(never) }),
                ..explained(1, Vec::new())
            }
        };
        let difference = of(&with(&["a", "b"], &["c"]), &with(&["b", "c"], &["a"])).coverage.unwrap();
        assert_eq!(difference.only, [vec!["a".to_owned()], vec!["c".to_owned()]]);
        assert_eq!((difference.ran, difference.all), ([2, 2], [3, 3]));
        assert_eq!(of(&with(&[], &[]), &explained(1, Vec::new())).coverage, None);
    }

    #[test]
    fn a_wakeup_does_not_differ_from_itself() {
        let a = explained(1, vec![call("timer0 1", 1, 0, vec![call("schedule", 2, 9, vec![])])]);
        assert_eq!(of(&a, &a).wakeups[0].functions, []);
    }
}
