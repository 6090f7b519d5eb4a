//! `tardy-picture`: reads a plot as SVG from standard input, and writes it to standard output in another format.
//!
//! `tardy plot` starts it. It is a program of its own because what draws letters and curves takes a seventh of the time in which tardy
//! would be compiled, and most users never need it (docs/adr/0046-several-executables.md).

use std::io::{self, Read, Write};
use std::process::ExitCode;

use tardy_picture::{pdf, png};

const USAGE: &str = "\
usage: tardy-picture png SCALE <PLOT.svg >PLOT.png    with SCALE pixels for each pixel of the plot
       tardy-picture pdf <PLOT.svg >PLOT.pdf
'tardy plot' starts this program. Its colours are those for paper.";

fn main() -> ExitCode {
    // A word that is not UTF-8 is none of those that it knows.
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match answer(&words).and_then(|bytes| write(&bytes)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}

/// What is written to standard output.
fn answer(words: &[&str]) -> Result<Vec<u8>, String> {
    let build = tardy_identity::identity!();
    match words {
        ["--version"] => Ok(format!("tardy-picture {build}\n").into_bytes()),
        ["--help" | "-h"] => Ok(format!("{USAGE}\n").into_bytes()),
        _ => tardy_identity::check_caller("tardy-picture", build).and_then(|()| converted(words)),
    }
}

fn write(bytes: &[u8]) -> Result<(), String> {
    let mut output = io::stdout().lock();
    let written = output.write_all(bytes).and_then(|()| output.flush());
    written.map_err(|error| format!("the output cannot be written: {error}"))
}

/// The plot of standard input in the format that `words` ask for.
fn converted(words: &[&str]) -> Result<Vec<u8>, String> {
    let read = || {
        let mut svg = String::new();
        let read = io::stdin().lock().read_to_string(&mut svg);
        read.map(|_| svg).map_err(|error| format!("the plot cannot be read: {error}"))
    };
    match words {
        ["png", scale] => match scale.parse::<f32>() {
            Ok(scale) if scale > 0.0 && scale.is_finite() => png(&read()?, scale),
            _ => Err(format!("'{scale}' is not a scale: give a number above 0")),
        },
        ["pdf"] => pdf(&read()?),
        _ => Err(USAGE.to_owned()),
    }
}
