//! Finds a kernel, fetching it if need be: `cargo run -p tardy-lab --example kernel -- debian:6.12-rt arm64
//! [--refresh]`.

use std::process::ExitCode;

use tardy_lab::arch::Arch;
use tardy_lab::kernel::{KernelSpec, find};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (refresh, words): (Vec<String>, Vec<String>) =
        words.into_iter().partition(|word| word == "--refresh");
    let arch = match words.get(1) {
        Some(name) => {
            Arch::ALL.into_iter().find(|arch| [arch.name(), arch.debian_name()].contains(&name.as_str()))
        }
        None => Arch::of_this_program(),
    };
    let (Some(spec), Some(arch)) = (words.first(), arch) else {
        eprintln!("usage: kernel SPEC [x86_64|aarch64] [--refresh]");
        return ExitCode::from(2);
    };
    let notice = &mut |line: &str| eprintln!("{line}");
    let found = KernelSpec::parse(spec)
        .map_err(|error| error.to_string())
        .and_then(|spec| find(&spec, arch, !refresh.is_empty(), notice).map_err(|error| error.to_string()));
    match found {
        Ok(kernel) => {
            println!("{kernel:#?}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
