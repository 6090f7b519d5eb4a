//! How long tardy takes to answer an edge, compared with a C program that does nothing else (bench/gpio_answer.c), by the
//! log of the lab's chip: from the rise of one line to that of the other.
//!
//! The order is fixed, tardy first, as in `cost.rs`.

use tardy_init::thread_cost::ThreadCost;
use tardy_record::pins::Point;

use crate::scripted::{Printed, Scene};
use crate::{c_program, cost, pins};

/// The highest ratio of tardy's time to the C program's.
const MOST: f64 = 1.10;
/// A priority that no other thread of the guest has.
const PRIORITY: u32 = 83;
const EDGES: usize = 3000;
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/gpio_answer.c");

/// How long answers took from the rise, and the answering thread's run time per edge.
struct Answers {
    count: usize,
    median_ns: f64,
    mean_ns: f64,
    run_ns: f64,
}

impl Answers {
    fn of_tardy(printed: &Printed) -> Self {
        let run = printed.run("tardy.run.json");
        assert!(run.validity.valid, "{:?}", run.validity);
        let wire = pins::span(&run, Point::Raised, Point::Answered);
        Self {
            count: wire.tally.recorded as usize,
            median_ns: cost::median_of(wire),
            mean_ns: wire.mean_ns().unwrap(),
            run_ns: run_ns(printed, "tardy"),
        }
    }

    fn of_c(printed: &Printed, part: &str, file: &str) -> Self {
        let run_ns = run_ns(printed, part);
        let mut took_ns: Vec<u64> =
            printed.text_file(file).lines().map(|line| line.parse().unwrap()).collect();
        took_ns.sort_unstable();
        Self {
            count: took_ns.len(),
            median_ns: took_ns[took_ns.len().div_ceil(2) - 1] as f64,
            mean_ns: took_ns.iter().sum::<u64>() as f64 / took_ns.len() as f64,
            run_ns,
        }
    }

    fn print(&self, who: &str) {
        let Self { count, median_ns, mean_ns, run_ns } = self;
        println!(
            "{who}: {count} answers, median {median_ns:.0} ns, mean {mean_ns:.0} ns; run time per edge {run_ns:.0} ns"
        );
    }
}

/// The run time per edge in a part.
fn run_ns(printed: &Printed, part: &str) -> f64 {
    let part = printed.part(part);
    assert_eq!(part.status(), 0, "{}", part.text());
    let text = part.text();
    let line =
        text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no cost in\n{text}"));
    serde_json::from_str::<ThreadCost>(line).unwrap().per_cycle_ns()
}

/// The scene of this file. `None`, with the reason printed, if the C program cannot be built here.
pub(crate) fn scene() -> Option<Scene> {
    let program = c_program::compiled(PROGRAM)?;
    let script =
        format!("PRIORITY={PRIORITY}\nEDGES={EDGES}\ncompare() {{\n{}\n}}\n", include_str!("answer_cost.sh"));
    Some(Scene {
        name: "answer-cost",
        script: format!("{script}with_modules 'tardy_pins.ko {}' -- compare\n", pins::BY_ITSELF),
        own_modules: true,
        programs: vec![("gpio_answer".to_owned(), program)],
        ..Scene::default()
    })
}

#[test]
fn an_answer_takes_no_longer_than_that_of_a_loop_in_c() {
    let Some(printed) = cost::counted("answer-cost") else { return };
    let tardy = Answers::of_tardy(printed);
    let c = Answers::of_c(printed, "c", "c.txt");
    let c_without_rseq = Answers::of_c(printed, "c without rseq", "c-without-rseq.txt");
    for (who, answers) in [("tardy", &tardy), ("c", &c), ("c without rseq", &c_without_rseq)] {
        answers.print(who);
        assert!(answers.count.abs_diff(EDGES) <= 2, "{who}: {} of {EDGES} answered", answers.count);
    }
    for c in [&c, &c_without_rseq] {
        let (median, mean) = (tardy.median_ns / c.median_ns, tardy.mean_ns / c.mean_ns);
        println!("tardy to C: median {median:.4}, mean {mean:.4}, run time {:.4}", tardy.run_ns / c.run_ns);
        assert!(median <= MOST && mean <= MOST, "{median:.4} {mean:.4}");
    }
    // tardy also reads the clock and records.
    assert!(tardy.run_ns <= MOST * c.run_ns, "{} and {} ns", tardy.run_ns, c.run_ns);
}
