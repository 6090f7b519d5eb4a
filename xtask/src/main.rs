//! `cargo xtask`: the repository's automation that needs more than a line of shell.

use std::path::Path;
use std::process::ExitCode;

use xtask::{Complaint, Repository, budgets, complaints, english, lab_numbers, site, web_page};

const USAGE: &str = "\
usage: cargo xtask tidy              list every place in this repository that breaks one of its rules
       cargo xtask english PATH...   list the phrases and names to avoid in these files and directories (with a /)
       cargo xtask lab-numbers DIR   write the numbers of the run files in DIR into the documents
       cargo xtask budgets DIR       build each executable in an empty DIR, and write the table in ARCHITECTURE.md
       cargo xtask page WASM FILE    write the page with this module in it, as one file
       cargo xtask site DIR          write the sources of the site, which mdBook builds";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => print(Repository::here().and_then(|repository| complaints(&repository))),
        ["english", ref paths @ ..] if !paths.is_empty() => {
            print(Repository::here().map(|repository| english::check_in(&repository, paths)))
        }
        ["lab-numbers", directory] => {
            let kernels = lab_numbers::read(Path::new(directory));
            print(kernels.and_then(|kernels| lab_numbers::write(&kernels)).map(|()| Vec::new()))
        }
        ["budgets", directory] => {
            let written =
                Repository::here().and_then(|repository| budgets::measure(&repository, Path::new(directory)));
            print(written.map(|()| Vec::new()))
        }
        ["page", module, to] => {
            let written = Repository::here()
                .and_then(|repository| web_page::write(&repository.root, Path::new(module), Path::new(to)));
            print(written.map(|()| Vec::new()))
        }
        ["site", to] => {
            let written = Repository::here().and_then(|repository| site::write(&repository, Path::new(to)));
            print(written.map(|_| Vec::new()))
        }
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn print(complaints: Result<Vec<Complaint>, String>) -> ExitCode {
    match complaints {
        Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
        Ok(complaints) => {
            println!("{}", complaints.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
