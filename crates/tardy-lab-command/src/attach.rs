//! `tardy lab attach`: watches a program in guests, on each kernel.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use tardy_init::orders::{self, Orders};
use tardy_lab::guest::cpio::Entry;
use tardy_lab::guest::libraries::is_static_program;
use tardy_lab::machine::Machine;
use tardy_recipe::Recipe;
use tardy_recipe::options::RecipeFlags;

use crate::assemble::{RUN_FILE, assemble, idle_criterion, pace, print_notices};
use crate::prepare::Seeds;
use crate::run::boot_and_present;
use tardy_args::{ExperimentArgs, LabAttachArgs, LabRecipe};
use tardy_command::Exit;

/// Where the program is in the guest.
const DIRECTORY: &str = "/lab/program";

/// Watches the program on each kernel, and shows the runs.
pub(crate) fn run(arguments: LabAttachArgs) -> Result<Exit> {
    let LabAttachArgs { command, duration, deadline, limit, warmup, lab, guest, results } = arguments;
    let Some((program, words)) = command.split_first() else { bail!("name a command after --") };
    let path = Path::new(program);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let in_guest = format!("{DIRECTORY}/{name}");
    let content = content_of(path, lab.machine())?;
    let mut exec: Vec<String> = [orders::PROGRAM, "exec", "-o", &format!("{}/{RUN_FILE}", orders::RESULTS)]
        .map(str::to_owned)
        .to_vec();
    let options =
        [("--warmup", Some(warmup)), ("--duration", duration), ("--deadline", deadline), ("--limit", limit)];
    for (option, value) in options {
        exec.extend(value.into_iter().flat_map(|time| [option.to_owned(), time.to_string()]));
    }
    exec.extend(["--".to_owned(), in_guest.clone()]);
    exec.extend_from_slice(words);
    let orders = Orders { idle: idle_criterion(pace(&guest)?), commands: vec![exec], ..Orders::default() };
    let files = vec![(in_guest, Entry::File { content, executable: true })];
    let about = Some(format!("The program {name}, watched."));
    let measurement = Recipe { about, name: Some(name), ..Recipe::default() };
    let recipe = LabRecipe { measurement, lab: lab.clone() };
    let flags = RecipeFlags::default();
    let experiment = ExperimentArgs { recipe: None, build: None, lab, guest, flags, scale: 1.0 };
    let prepared = assemble(&recipe, orders, files, &experiment, &mut print_notices())?;
    boot_and_present(&prepared, &[], Seeds::Own, &results)
}

/// The program, which must run without any other file.
fn content_of(path: &Path, machine: Machine) -> Result<Vec<u8>> {
    let content = fs::read(path).with_context(|| format!("the program {}", path.display()))?;
    if !is_static_program(&content, machine.arch()) {
        bail!(
            "{} cannot run in a guest, which has no libraries; link it statically for {} (`cc -static`, or Rust's target \
             {}-unknown-linux-musl)",
            path.display(),
            machine.arch().name(),
            machine.arch().name()
        );
    }
    Ok(content)
}
