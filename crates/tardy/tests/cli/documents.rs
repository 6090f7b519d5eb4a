//! The commands of README.md and docs/ run in a temporary directory, with shortened durations and light loads.
//!
//! docs/style.md lists the marks of blocks, and xtask checks that every block has one. With `TARDY_BLESS=1` the test writes
//! the programs' present output into the documents. A wrong command exits with 1 or 2. 3, 4 and 5 are accepted: a limit was
//! exceeded, or 100 ms were too short to decide, or for a load on a busy machine.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Bench, Printed};

/// Files that a document's commands read, and their sources.
const FILES: [(&str, &str, &str); 20] = [
    ("docs/compare.md", "examples/rt.run.json", "examples/rt.run.json"),
    ("docs/compare.md", "examples/standard.run.json", "examples/standard.run.json"),
    ("docs/formats.md", "cyclictest-2.4.json", "crates/tardy-formats/tests/fixtures/cyclictest-2.4.json"),
    ("docs/formats.md", "old/a.json", "crates/tardy-formats/tests/fixtures/cyclictest-2.10.json"),
    ("docs/formats.md", "old/b.txt", "crates/tardy-formats/tests/fixtures/oslat-2.4.txt"),
    ("docs/formats.md", "older/a-ns.txt", "crates/tardy-formats/tests/fixtures/cyclictest-2.4-quiet-ns.txt"),
    ("docs/formats.md", "older/b.txt", "crates/tardy-formats/tests/fixtures/cyclictest-2.4-quiet.txt"),
    ("docs/formats.md", "hist.txt", "crates/tardy-formats/tests/fixtures/cyclictest-2.4-hist.txt"),
    ("docs/formats.md", "capture.vcd", "crates/tardy-formats/tests/fixtures/capture.vcd"),
    ("docs/formats.md", "capture.sr", "crates/tardy-formats/tests/fixtures/capture.sr"),
    ("docs/formats.md", "export/digital_0.bin", "crates/tardy-formats/tests/fixtures/saleae-digital-0.bin"),
    ("docs/formats.md", "export/digital_1.bin", "crates/tardy-formats/tests/fixtures/saleae-digital-0.bin"),
    ("docs/gate.md", "examples/rt.run.json", "examples/rt.run.json"),
    ("docs/gate.md", "examples/standard.run.json", "examples/standard.run.json"),
    ("docs/pins.md", "capture.vcd", "crates/tardy-formats/tests/fixtures/capture.vcd"),
    ("docs/run-file.md", "old.json", "crates/tardy-formats/tests/fixtures/cyclictest-2.4.json"),
    ("docs/tour.md", "examples/causes.run.json", "examples/causes.run.json"),
    ("docs/tour.md", "examples/rt.run.json", "examples/rt.run.json"),
    ("docs/tour.md", "examples/standard.run.json", "examples/standard.run.json"),
    ("docs/tsn-simulator.md", "my/switch.toml", "recipes/tsn-two-flows.toml"),
];

/// Parts of commands that would take minutes or need a certain machine, and their replacements. Also, every `tardy run` lasts
/// 100 ms and has no warm-up.
const SHORTER: [(&str, &str); 12] = [
    // doload takes a second to start, all CPUs, and one port of the machine; `real_run.rs` runs it.
    ("--load doload --load-floor", "--load scheduler --load-floor"),
    ("--load doload", "--load timers:1"),
    ("at91-timers --wake", "at91-timers --load timers:1 --wake"),
    ("run quick --limit", "run quick --load timers:1 --limit"),
    ("--scale 0.01", "--scale 0.000001"),
    ("--scale 0.001", "--scale 0.0000001"),
    ("-l100000000", "-l100"),
    ("-D1m", "-D1"),
    ("--cpus 2,3", "--cpus 0"),
    ("--cpus 1", "--cpus 0"),
    ("tardy load doload --duration 30s", "tardy load scheduler --duration 100ms"),
    ("--repeat 3", "--repeat 1"),
];

/// The only recipe with doload that the commands name.
const WITH_DOLOAD: &str = "my/recipe.toml";

/// Parts of the errors of a machine that lacks something: a command with one of these is skipped.
const LACKS: [&str; 5] = ["tracefs", "no GPIO chip", "setcap", "needs root", "Permission denied"];

/// A fenced block of a document.
struct Block {
    /// What follows the backquotes, such as `sh` or `toml my/recipe.toml`.
    mark: String,
    /// The number of its first line, from 0.
    start: usize,
    lines: Vec<String>,
}

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(mark), None) => {
                open = Some(Block { mark: mark.to_owned(), start: number + 1, lines: Vec::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    blocks
}

/// The commands of a block, each with the lines that a backslash continues; of a pipeline, those of tardy.
fn commands(block: &Block) -> Vec<String> {
    if is_pipeline(block) {
        return block.lines.iter().filter_map(|line| command_of_pipeline(line)).collect();
    }
    let joined = block.lines.join("\n").replace("\\\n", " ");
    joined
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

fn is_pipeline(block: &Block) -> bool {
    ["yaml ", "groovy "].iter().any(|kind| block.mark.starts_with(kind))
}

/// The command of tardy in a line of a pipeline, without the quotes of the pipeline's language.
fn command_of_pipeline(line: &str) -> Option<String> {
    let start = ["sudo tardy ", "tardy "].iter().find_map(|word| line.find(word))?;
    let quote = line[..start].chars().last().filter(|c| ['\'', '"'].contains(c));
    let command = line[start..].trim_end();
    Some(quote.map_or(command, |quote| command.trim_end_matches(quote)).to_owned())
}

/// A command that takes a moment.
fn shortened(command: &str) -> String {
    let mut words = command.to_owned();
    for (long, short) in SHORTER {
        words = words.replace(long, short);
    }
    // Runs of 100 ms on a busy machine differ in how long they were, or are invalid.
    if words.contains("tardy compare ") && !words.contains("--base") && !words.contains("published:") {
        words += " --anyway";
    }
    let Some((before, arguments)) = words.split_once("tardy run ") else { return words };
    let warmup = "tardy run --warmup 0s ";
    if let Some((first, rest)) = arguments.split_once("--duration ") {
        let (value, rest) = rest.trim_start().split_once(' ').unwrap_or((rest, ""));
        // A wrong value stays, so that it fails.
        let is_time = value.starts_with(|c: char| c.is_ascii_digit())
            && value.chars().all(|c| c.is_ascii_digit() || "hms".contains(c));
        let value = if is_time { "100ms" } else { value };
        return format!("{before}{warmup}{first}--duration {value} {rest}");
    }
    let has_length = ["--scale", "--phase"].iter().any(|option| arguments.contains(option));
    let duration = if has_length { "" } else { "--duration 100ms " };
    format!("{before}{warmup}{duration}{arguments}")
}

/// A directory with what the commands of `document` need.
fn prepared(document: &str, blocks: &[Block]) -> Bench {
    let bench = Bench::new();
    let programs = bench.path("programs");
    fs::create_dir_all(&programs).unwrap();
    fs::create_dir_all(bench.path("home/bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_tardy"), programs.join("tardy")).unwrap();
    fs::write(programs.join("sudo"), "#!/bin/sh\nexec \"$@\"\n").unwrap();
    fs::set_permissions(programs.join("sudo"), fs::Permissions::from_mode(0o755)).unwrap();
    let place = |name: &str| -> PathBuf {
        let path = bench.path("here").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    place("any");
    for (_, name, source) in FILES.iter().filter(|file| file.0 == document) {
        fs::copy(project().join(source), place(name)).unwrap();
    }
    for block in blocks {
        if let Some(name) = block.mark.strip_prefix("toml ") {
            fs::write(place(name), block.lines.join("\n")).unwrap();
        }
    }
    bench
}

fn run(bench: &Bench, command: &str) -> Printed {
    let path = format!("{}:{}", bench.path("programs").display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(bench.path("here"))
        .envs([("PATH", path.as_str()), ("NO_COLOR", "1"), ("COLUMNS", "80"), ("LC_ALL", "C.UTF-8")])
        .env("HOME", bench.path("home"))
        .output()
        .expect("sh starts");
    Printed::from(output)
}

/// The lines of `printed` that begin with the first line of `expected`, as many as `expected` has.
fn present(expected: &[String], printed: &str) -> Option<Vec<String>> {
    let printed: Vec<&str> = printed.lines().collect();
    let at = printed.iter().position(|line| Some(*line) == expected.first().map(String::as_str))?;
    Some(printed[at..].iter().take(expected.len()).map(|line| (*line).to_owned()).collect())
}

/// Runs the commands of `document` and returns what is wrong, and the text with the present output.
fn checked(document: &str, text: &str) -> (String, String) {
    let blocks = blocks(text);
    let bench = prepared(document, &blocks);
    let (mut wrong, mut printed) = (String::new(), String::new());
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for block in &blocks {
        if block.mark == "text output" {
            match present(&block.lines, &printed) {
                Some(now) => {
                    if now != block.lines {
                        let _ = writeln!(wrong, "{document}:{}: now\n{}", block.start + 1, now.join("\n"));
                    }
                    lines.splice(block.start..block.start + block.lines.len(), now);
                }
                None => {
                    let _ = writeln!(
                        wrong,
                        "{document}:{}: no command before prints this first line; they print\n{printed}",
                        block.start + 1
                    );
                }
            }
        }
        if block.mark != "sh" && !is_pipeline(block) {
            continue;
        }
        printed.clear();
        for command in commands(block) {
            let shortened = shortened(&command);
            let mine = shortened.contains(WITH_DOLOAD).then(crate::doload_is_mine);
            let result = run(&bench, &shortened);
            drop(mine);
            printed += &result.err;
            printed += &result.out;
            let lacks = LACKS.iter().any(|lack| result.err.contains(lack));
            match result.code {
                Some(0 | 3 | 4 | 5) => {}
                Some(1) if lacks => println!("{document}: skipped: {command}\n{}", result.err),
                code => {
                    let _ =
                        writeln!(wrong, "{document}: {command}\n  ({shortened}) {code:?}\n{}", result.err);
                }
            }
        }
    }
    (wrong, lines.join("\n") + "\n")
}

/// README.md and the documents in docs/.
fn documents() -> Vec<String> {
    let names = fs::read_dir(project().join("docs")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let documents = names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}"));
    std::iter::once("README.md".to_owned()).chain(documents).collect()
}

#[test]
fn the_commands_of_the_documents_work() {
    let documents = documents();
    let bless = std::env::var_os("TARDY_BLESS").is_some();
    let wrong: String = std::thread::scope(|scope| {
        let threads: Vec<_> = documents
            .iter()
            .map(|document| {
                scope.spawn(move || {
                    let path = project().join(document);
                    let text = fs::read_to_string(&path).unwrap();
                    let (wrong, now) = checked(document, &text);
                    if bless && now != text {
                        fs::write(&path, now).unwrap();
                    }
                    wrong
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_replacement_and_every_file_is_needed() {
    for (document, name, _) in FILES {
        let text = fs::read_to_string(project().join(document)).unwrap();
        let directory = name.split('/').next().unwrap();
        assert!(text.contains(directory), "{document} does not mention {name}");
    }
    let all: String =
        documents().iter().map(|document| fs::read_to_string(project().join(document)).unwrap()).collect();
    for (long, _) in SHORTER {
        assert!(all.contains(long), "no document has {long}");
    }
}

#[test]
fn a_command_is_shortened() {
    let cases = [
        (
            "sudo tardy run --duration 10m --load doload -o a.run.json",
            "sudo tardy run --warmup 0s --duration 100ms --load timers:1 -o a.run.json",
        ),
        ("tardy run noise   # a recipe", "tardy run --warmup 0s --duration 100ms noise   # a recipe"),
        ("tardy run rpi3-4.14 --scale 0.01", "tardy run --warmup 0s rpi3-4.14 --scale 0.000001"),
        ("tardy run --duration 1m", "tardy run --warmup 0s --duration 100ms "),
        ("tardy run --duration 1q", "tardy run --warmup 0s --duration 1q "),
    ];
    for (command, expected) in cases {
        assert_eq!(shortened(command), expected);
    }
}
