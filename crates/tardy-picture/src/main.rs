//! `tardy-picture`: reads a plot as SVG from standard input, and writes it to standard output in another format.
//!
//! `tardy plot` starts it. It is a program of its own because what draws letters and curves is a tenth of all that tardy would consist
//! of, and most users never need it.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use tardy_picture::{pdf, png};

const USAGE: &str = "\
usage: tardy-picture png SCALE <PLOT.svg >PLOT.png    with SCALE pixels for each pixel of the plot
       tardy-picture pdf <PLOT.svg >PLOT.pdf
'tardy plot' starts this program. Its colours are those for paper.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let build = tardy_identity::identity!();
    match words.as_slice() {
        ["--version"] => return printed(&format!("tardy-picture {build}")),
        ["--help" | "-h"] => return printed(USAGE),
        _ => {}
    }
    let converted = tardy_identity::check_caller("tardy-picture", build).and_then(|()| converted(&words));
    match converted.and_then(|picture| {
        let written = io::stdout().lock().write_all(&picture);
        written.map_err(|error| format!("the picture cannot be written: {error}"))
    }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}

fn printed(text: &str) -> ExitCode {
    match writeln!(io::stdout().lock(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(2),
    }
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
