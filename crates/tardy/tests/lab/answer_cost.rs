//! How long tardy takes to answer an edge, beside a program in C that does nothing else (bench/gpio_answer.c), by the log of
//! the lab's chip: from the rise of one line to that of the other.
//!
//! The order is fixed, tardy first, as in `cost.rs`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tardy_lab::guest::thread_cost::ThreadCost;
use tardy_record::pins::Point;

use crate::cost;
use crate::guests;
use crate::own_modules;
use crate::pins;
use crate::switch::machine::{Guest, Said};

/// How much of the C program's time tardy may take.
const MOST: f64 = 1.10;
/// A priority that no thread of the guest has otherwise.
const PRIORITY: u32 = 83;
const EDGES: usize = 3000;
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/gpio_answer.c");

/// What answers took, from the rise to the answer, and the answering thread's run time an edge.
struct Answers {
    count: usize,
    median_ns: f64,
    mean_ns: f64,
    run_ns: f64,
}

impl Answers {
    fn of_tardy(said: &Said) -> Self {
        let run = tardy_record::file::from_text(said.file("tardy.run.json")).unwrap();
        assert!(run.validity.valid, "{:?}", run.validity);
        let wire = pins::span(&run, Point::Raised, Point::Answered);
        Self {
            count: wire.tally.recorded as usize,
            median_ns: cost::median_of(wire),
            mean_ns: wire.mean_ns().unwrap(),
            run_ns: run_ns(said, "tardy"),
        }
    }

    fn of_c(said: &Said, part: &str, file: &str) -> Self {
        let run_ns = run_ns(said, part);
        let text = std::str::from_utf8(said.file(file)).unwrap();
        let mut took_ns: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
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
            "{who}: {count} answers, median {median_ns:.0} ns, mean {mean_ns:.0} ns; run time an edge {run_ns:.0} ns"
        );
    }
}

/// The run time that stands in a part.
fn run_ns(said: &Said, part: &str) -> f64 {
    let part = said.part(part);
    assert_eq!(part.status(), 0, "{}", part.text());
    let text = part.text();
    let line =
        text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no cost in\n{text}"));
    serde_json::from_str::<ThreadCost>(line).unwrap().per_cycle_ns()
}

/// `cc`, told to make a program that needs no library at `to` of the C file `from`, which may be the standard input.
fn compile(from: &str, input: &str, to: &Path) -> std::io::Result<Output> {
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-static", "-Wall", "-Wextra", "-x", "c", from, "-o"]).arg(to);
    let mut child = compiler.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().expect("it is a pipe").write_all(input.as_bytes())?;
    child.wait_with_output()
}

/// The C program for the guest; `None`, with a word about it, where no compiler makes such programs.
fn program() -> Option<Vec<u8>> {
    if !cfg!(target_arch = "x86_64") {
        eprintln!(
            "skipped: the guest is an x86-64 machine, and this one's compiler makes programs for another"
        );
        return None;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("gpio_answer");
    match compile("-", "int main(void) { return 0; }\n", &path) {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            eprintln!("skipped: cc makes no static program: {}", guests::said(&output));
            return None;
        }
        Err(error) => {
            eprintln!("skipped: cc: {error}; `scripts/install-packages build` installs it");
            return None;
        }
    }
    let output = compile(PROGRAM, "", &path).unwrap();
    assert!(output.status.success(), "{}", guests::said(&output));
    Some(std::fs::read(&path).unwrap())
}

#[test]
fn an_answer_takes_no_longer_than_that_of_a_loop_in_c() {
    let Some(guests) = guests::directory() else { return };
    if !own_modules::are_there() {
        return;
    }
    let Some(program) = program() else { return };
    let module = format!("tardy_pins {}", pins::BY_ITSELF);
    let guest = Guest {
        modules: vec![module.leak()],
        programs: vec![("gpio_answer".to_owned(), program)],
        ..Guest::default()
    };
    let script = format!("PRIORITY={PRIORITY}\nEDGES={EDGES}\n{}", include_str!("answer_cost.sh"));
    let said = guest.run(&guests, &script);
    let tardy = Answers::of_tardy(&said);
    let c = Answers::of_c(&said, "c", "c.txt");
    let c_without_rseq = Answers::of_c(&said, "c without rseq", "c-without-rseq.txt");
    for (who, answers) in [("tardy", &tardy), ("c", &c), ("c without rseq", &c_without_rseq)] {
        answers.print(who);
        assert!(answers.count.abs_diff(EDGES) <= 2, "{who}: {} of {EDGES} answered", answers.count);
    }
    for c in [&c, &c_without_rseq] {
        let (median, mean) = (tardy.median_ns / c.median_ns, tardy.mean_ns / c.mean_ns);
        println!("tardy to C: median {median:.4}, mean {mean:.4}, run time {:.4}", tardy.run_ns / c.run_ns);
        assert!(median <= MOST && mean <= MOST, "{median:.4} {mean:.4}");
    }
    // Though tardy reads the clock and takes notes.
    assert!(tardy.run_ns <= MOST * c.run_ns, "{} and {} ns", tardy.run_ns, c.run_ns);
}
