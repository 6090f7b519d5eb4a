//! `tardy cyclictest` beside rt-tests' own cyclictest: command lines of public scripts, shortened, run with both. The exit status, the
//! shape of the output and the files must be equal.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::bench::Printed;

const COMMAND_LINES: &str = include_str!("cyclictest-command-lines.txt");
/// Added to each line, where they replace its own: both end after a few cycles.
const SHORT: [&str; 4] = ["-l", "20", "-D", "1"];
/// Lines that run at the same time.
const AT_ONCE: usize = 6;

/// A difference that is intended.
enum OnPurpose {
    /// In the output.
    Output,
    /// In the files that are left.
    Files,
}
use OnPurpose::{Files, Output};

/// The options with an intended difference, and its reason.
const ON_PURPOSE: &[(&str, OnPurpose, &str)] = &[
    ("-n", Output, "rt-tests removed it in 1.2: it prints its options instead of measuring, with status 0"),
    ("-F", Files, "rt-tests may end before its thread has removed the pipe"),
    ("--fifo=stats", Files, "as -F"),
];

/// Options that only tardy's line keeps.
const NOT_FOR_RT_TESTS: &[(&str, &str)] =
    &[("--tracemark", "it mounts debugfs and stops the machine's trace; the output is the same without")];

/// Why the comparison cannot be made here.
fn obstacle() -> Option<String> {
    let Ok(help) = Command::new("cyclictest").arg("--help").output() else {
        return Some("there is no cyclictest; `scripts/install-packages test` installs rt-tests".to_owned());
    };
    let help = [help.stdout, help.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    let version = help.lines().find_map(|line| line.strip_prefix("cyclictest V ")).unwrap_or("unknown");
    if !["2.4", "2.5", "2.6"].iter().any(|known| version.starts_with(known)) {
        return Some(format!(
            "rt-tests {version} prints another histogram than 2.4 to 2.6, whose format tardy has"
        ));
    }
    let tried = Command::new("cyclictest").args(["-q", "-l1"]).output().expect("it was found");
    if !tried.status.success() {
        return Some("this user may not use real-time policies, which rt-tests requires".to_owned());
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    (cpus < 2).then(|| "the command lines need two CPUs".to_owned())
}

/// The result of a line: output and exit status, and the files that it leaves.
struct Ended {
    printed: Printed,
    files: Vec<String>,
}

/// Runs a line's words in a new directory, with `program` instead of cyclictest.
fn run(words: &[&str], program: &[&str]) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    let at = words.iter().position(|word| *word == "cyclictest").expect("a line has the command");
    // Such as taskset.
    let (before, options) = (&words[..at], &words[at + 1..]);
    let line = [before, program, options, &SHORT].concat();
    let mut command = Command::new(line[0]);
    let output = command.args(&line[1..]).current_dir(directory.path()).output().unwrap();
    Ended { printed: Printed::from(output), files: names_in(directory.path()) }
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The different lines of an output, with `N` for each number. Lines that depend on the readings are left out: those of a break, and
/// the cycles of overflows.
fn shape(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in without_cursor_movements(text).lines() {
        let mut shape = String::new();
        for character in line.split_whitespace().flat_map(|word| word.chars().chain([' '])) {
            match character {
                '0'..='9' if shape.ends_with('N') => {}
                '0'..='9' => shape.push('N'),
                other => shape.push(other),
            }
        }
        // `Min:1000000` has no blank, `Min:     19` has. rt-tests shows an early wake-up as a negative latency.
        let shape = shape.replace(": ", ":").replace(":-N", ":N").replace("( ", "(").replace("N.N", "N");
        let shape = match shape.split_once("# Thread N:") {
            Some(_) => "# Thread N:".to_owned(),
            None => shape,
        };
        if !shape.starts_with("# Break ") && !lines.contains(&shape) {
            lines.push(shape);
        }
    }
    lines
}

/// The text without `ESC [ number A`.
fn without_cursor_movements(text: &str) -> String {
    let mut pieces = text.split('\x1b');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once(['A', 'B']).map_or("", |(_, rest)| rest));
    }
    plain
}

/// The differences of a line that are not intended.
fn differences_of(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ours = run(&words, &[env!("CARGO_BIN_EXE_tardy"), "cyclictest"]);
    let for_rt_tests: Vec<&str> =
        words.iter().filter(|word| NOT_FOR_RT_TESTS.iter().all(|(not, _)| not != *word)).copied().collect();
    let theirs = run(&for_rt_tests, &["cyclictest"]);
    // rt-tests reads the counter of processors that it has in a list, and ends before it prints anything on a newer one. tardy tries it.
    if theirs.printed.err.contains("SMI counter is not supported on this processor") {
        println!("skipped: {line}: rt-tests does not know this processor");
        return Vec::new();
    }
    let is_intended = |aspect: fn(&OnPurpose) -> bool| {
        ON_PURPOSE.iter().any(|(option, difference, _)| aspect(difference) && words.contains(option))
    };
    let mut found = Vec::new();
    if ours.printed.code != theirs.printed.code {
        found.push(format!("status {:?}, not {:?}", ours.printed.code, theirs.printed.code));
    }
    if is_intended(|difference| matches!(difference, Output)) {
        let has_measured = ["T:", "# Histogram"].iter().any(|start| ours.printed.out.contains(start));
        found.extend((!has_measured).then(|| "nothing was measured".to_owned()));
    } else if shape(&ours.printed.out) != shape(&theirs.printed.out) {
        found.push(format!("output {:#?}, not {:#?}", shape(&ours.printed.out), shape(&theirs.printed.out)));
    }
    if ours.files != theirs.files && !is_intended(|difference| matches!(difference, Files)) {
        found.push(format!("files {:?}, not {:?}", ours.files, theirs.files));
    }
    let is_note = |line: &str| line.starts_with("tardy: ") || line.starts_with("WARN: ");
    if !ours.printed.err.lines().all(is_note) {
        found.push("standard error has more than a line for each note".to_owned());
    }
    if !found.is_empty() {
        found.push(format!("standard error {:?}, not {:?}", ours.printed.err, theirs.printed.err));
    }
    found.into_iter().map(|text| format!("{line}: {text}")).collect()
}

#[test]
fn public_command_lines_end_as_with_rt_tests() {
    if let Some(reason) = obstacle() {
        println!("skipped: {reason}");
        return;
    }
    let lines = Mutex::new(COMMAND_LINES.lines().filter(|line| !line.starts_with('#')));
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = lines.lock().unwrap().next();
                    let Some(line) = next else { break };
                    // How many lines a tool prints before it is ended depends on what else runs: a difference shows twice.
                    let mut differences = differences_of(line);
                    if !differences.is_empty() {
                        differences = differences_of(line);
                    }
                    found.lock().unwrap().extend(differences);
                }
            });
        }
    });
    let found: Vec<String> = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_shape_of_an_output_has_no_numbers_and_no_repetitions() {
    let text = "# /dev/cpu_dma_latency set to 0us\npolicy: fifo: loadavg: 0.69 1/2          \n\n\
                T: 0 (15321) P:90 C:      3 Min:1000000 Avg:  650\n\x1b[3AT: 1 (   21) P: 0 C:1 Min:      6 Avg:  650\n\
                # Thread 0: 00001 00002 # 00003 others\n# Break value: 7\n";
    let expected = [
        "# /dev/cpu_dma_latency set to Nus ",
        "policy:fifo:loadavg:N N/N ",
        "",
        "T:N (N) P:N C:N Min:N Avg:N ",
        "# Thread N:",
    ];
    assert_eq!(shape(text), expected);
}
