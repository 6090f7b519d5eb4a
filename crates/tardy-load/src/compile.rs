//! Two parallel builds of C sources with the machine's compiler, at least one process per file, as in the article that
//! `recipes/rpi1-wiggle.toml` reproduces.
//!
//! The sources are those in a directory, or generated from the seed. Generated sources go to the compiler through a pipe and
//! objects to /dev/null, so no file is left on a disk however the load ends; the load `io` loads the disk.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tardy_sys::child;
use tardy_sys::counters::Counter;
use tardy_sys::programs;

use super::forked_tasks;
use super::random::Random;
use super::tail::Tail;
use super::task::{BUILDS, COMPILER};
use super::worker::{Ended, Worker};

/// Functions in a generated file: it takes tenths of a second to compile on a PC, seconds on a Raspberry Pi 1.
const FUNCTIONS: usize = 12;
/// The most C sources that a directory may contain.
const FILES_MAX: usize = 100_000;

pub(super) fn run(worker: &Worker, directory: &str) -> Ended {
    let seed = worker.seed;
    let files = if directory.is_empty() { Vec::new() } else { sources(Path::new(directory))? };
    forked_tasks::run(worker, BUILDS, |build| {
        let is_generated = directory.is_empty();
        // The builds begin at different files, so that they never compile the same file at once.
        let mut own = files.clone();
        own.rotate_left(build * files.len() / BUILDS);
        let mut sources = Sources { files: own, next: 0, random: Random::new(seed + build as u64) };
        Ok(move |compiled: &Counter| {
            if is_generated { sources.compile_generated() } else { sources.compile_next() }?;
            compiled.add(1);
            Ok(())
        })
    })
}

/// The C sources in a directory and its subdirectories, ordered by name.
fn sources(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("{} cannot be listed: {error}", directory.display());
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    fs::read_dir(directory).map_err(failed)?;
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
                waiting.push(path);
            } else if kind.is_ok_and(|kind| kind.is_file()) && path.extension() == Some(OsStr::new("c")) {
                found.push(path);
            }
        }
        if found.len() > FILES_MAX {
            return Err(format!(
                "{} has more than {FILES_MAX} C sources; name a subdirectory",
                directory.display()
            ));
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(format!("{} contains no C source (*.c)", directory.display()));
    }
    Ok(found)
}

/// The files that a build compiles repeatedly.
struct Sources {
    files: Vec<PathBuf>,
    next: usize,
    random: Random,
}

impl Sources {
    /// Compiles a generated file.
    fn compile_generated(&mut self) -> Result<(), String> {
        let text = generate_source(&mut self.random);
        let mut compiler = compiler(Path::new("-"))?.stdin(Stdio::piped()).spawn().map_err(cannot_run)?;
        // If the compiler ended early, its status gives the reason.
        let _ = compiler.stdin.take().map(|mut pipe| pipe.write_all(text.as_bytes()));
        let output = compiler.wait_with_output().map_err(cannot_run)?;
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("{COMPILER} failed: {}", describe(&output)))
        }
    }

    /// Compiles the next file that compiles without its makefile's options. Files that do not are dropped from the
    /// list.
    fn compile_next(&mut self) -> Result<(), String> {
        let mut last_output = String::new();
        while !self.files.is_empty() {
            let file = &self.files[self.next % self.files.len()];
            let output = compiler(file)?.stdin(Stdio::null()).output().map_err(cannot_run)?;
            if output.status.success() {
                self.next = (self.next + 1) % self.files.len();
                return Ok(());
            }
            last_output = describe(&output);
            self.files.remove(self.next % self.files.len());
        }
        Err(format!("no file compiles without its makefile; the last error: {last_output}"))
    }
}

/// The compiler on a file or standard input (`-`); the object is discarded.
fn compiler(file: &Path) -> Result<Command, String> {
    let mut command = programs::command(COMPILER).map_err(cannot_run)?;
    // -pipe keeps the compiler's intermediate output off the disk as well; other compilers ignore it.
    command.args(["-O2", "-w", "-pipe", "-x", "c", "-c", "-o", "/dev/null"]);
    if let Some(beside) = file.parent().filter(|beside| !beside.as_os_str().is_empty()) {
        command.arg("-I").arg(beside);
    }
    command.arg(file).stdout(Stdio::null()).stderr(Stdio::piped());
    child::prepare(&mut command, &[]);
    Ok(command)
}

fn cannot_run(error: std::io::Error) -> String {
    format!("{COMPILER} cannot be run: {error}")
}

fn describe(output: &Output) -> String {
    let mut tail = Tail::default();
    tail.push(&output.stderr);
    format!("{}; its last output: {}", output.status, tail.last_lines())
}

/// A C source of functions that call each other, with loops and tables for the optimiser.
fn generate_source(random: &mut Random) -> String {
    let mut text = String::from("typedef unsigned long word;\n");
    for function in 0..FUNCTIONS {
        let numbers: Vec<String> = (0..32).map(|_| random.below(1 << 16).to_string()).collect();
        let (add, times, shift) = (random.below(1000), random.below(1000) * 2 + 1, random.below(7) + 1);
        let callee = match function {
            0 => "b".to_owned(),
            _ => format!("f{}(a ^ b, b + {add})", random.below(function)),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "static const word t{function}[32] = {{{table}}};\n\
             word f{function}(word a, word b) {{\n\
             \x20 word i, j, s[32];\n\
             \x20 for (i = 0; i < 32; i++) s[i] = t{function}[(a + i) & 31] * {times} + b;\n\
             \x20 for (j = 0; j < 8; j++)\n\
             \x20   for (i = 0; i < 31; i++) {{\n\
             \x20     if (s[i] > s[i + 1]) {{ word c = s[i]; s[i] = s[i + 1] ^ (c >> {shift}); s[i + 1] = c; }}\n\
             \x20     switch ((s[i] + j) % 5) {{ case 0: a += s[i]; break; case 1: b ^= a; break;\n\
             \x20       case 2: a -= b << {shift}; break; case 3: b = b * 3 + i; break; default: a ^= j; }}\n\
             \x20   }}\n\
             \x20 return a + s[b & 31] + {callee};\n}}\n",
            table = numbers.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_sources_depend_on_the_seed_and_compile() {
        assert_eq!(generate_source(&mut Random::new(5)), generate_source(&mut Random::new(5)));
        assert_ne!(generate_source(&mut Random::new(5)), generate_source(&mut Random::new(6)));
        if programs::find(COMPILER).is_none() {
            println!("skipped: {COMPILER} is not installed");
            return;
        }
        let mut sources = Sources { files: Vec::new(), next: 0, random: Random::new(5) };
        sources.compile_generated().unwrap();
    }

    #[test]
    fn sources_are_found_in_order_and_those_that_do_not_compile_are_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        fs::create_dir(directory.path().join("deep")).unwrap();
        write("b.c", "#include \"b.h\"\nint b(void) { return B; }\n");
        write("b.h", "#define B 1\n");
        write("deep/a.c", "not C at all\n");
        write("notes.txt", "");
        let found = sources(directory.path()).unwrap();
        let names: Vec<_> = found.iter().map(|path| path.strip_prefix(directory.path()).unwrap()).collect();
        assert_eq!(names, [Path::new("b.c"), Path::new("deep/a.c")]);
        if programs::find(COMPILER).is_none() {
            println!("skipped: {COMPILER} is not installed");
            return;
        }
        let mut both = Sources { files: found.clone(), next: 0, random: Random::new(1) };
        for _ in 0..3 {
            both.compile_next().unwrap();
        }
        assert_eq!(both.files, found[..1]);
        let mut bad = Sources { files: found[1..].to_vec(), next: 0, random: Random::new(1) };
        assert!(bad.compile_next().unwrap_err().contains("no file compiles"));
    }

    #[test]
    fn a_directory_without_sources_is_named() {
        let directory = tempfile::tempdir().unwrap();
        assert!(sources(directory.path()).unwrap_err().contains("contains no C source"));
        assert!(sources(Path::new("/nonexistent/tardy")).unwrap_err().contains("cannot be listed"));
    }
}
