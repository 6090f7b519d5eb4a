//! The test of a time-aware switch in a guest: talkers, switch and listeners are network namespaces of one guest. Few host
//! kernels have the shaper.

use std::path::Path;

use anyhow::Result;
use tardy_init::orders::{self, Orders};
use tardy_lab::guest::cpio::Entry;
use tardy_recipe::options::{RecipeFlags, RunOptions};
use tardy_recipe::{Recipe, UsageError, wrong};
use tardy_tsn::kernel_modules::KERNEL_MODULES;

use crate::assemble::{Prepared, RUN_FILE, assemble, idle_criterion, pace};
use crate::build;
use tardy_args::LabRecipe;
use tardy_args::{ExperimentArgs, LabOptions};
use tardy_tsn_command::switch_file;

/// The program that configures classifiers.
const TOOLS: [&str; 1] = ["nftables:/usr/sbin/nft"];

/// Guests that test the switch `name` on each kernel.
pub(crate) fn prepare(
    name: &str,
    arguments: &ExperimentArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<Prepared> {
    let file = switch_file::find(name)?;
    let stem = Path::new(&file.name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let path = format!("/lab/{stem}.toml");
    let mut test = [orders::PROGRAM, "tsn", "test", &path, "--netns", "-o"].map(str::to_owned).to_vec();
    test.push(format!("{}/{RUN_FILE}", orders::RESULTS));
    test.extend(duration(arguments)?);
    let orders =
        Orders { idle: idle_criterion(pace(&arguments.guest)?), commands: vec![test], ..Orders::default() };
    let measurement =
        Recipe { about: Some(file.network.about.clone()), name: Some(stem), ..Recipe::default() };
    let recipe = LabRecipe {
        measurement,
        lab: LabOptions {
            chapter: Some("A Linux bridge as time-aware switch".to_owned()),
            modules: KERNEL_MODULES.map(str::to_owned).to_vec(),
            tools: TOOLS.map(str::to_owned).to_vec(),
            ..LabOptions::default()
        },
    };
    let recipe = build::with_kernel(recipe.overridden_by(arguments), arguments, notice)?;
    let files = vec![(path, Entry::File { content: file.text.into_bytes(), executable: false })];
    assemble(&recipe, orders, files, arguments, notice)
}

/// The duration of each part of the test. No other flag of a run applies to a switch.
fn duration(arguments: &ExperimentArgs) -> Result<Vec<String>, UsageError> {
    let duration = arguments.flags.run.duration;
    let run = RunOptions { duration, ..RunOptions::default() };
    if arguments.flags != (RecipeFlags { run, ..RecipeFlags::default() }) || arguments.scale != 1.0 {
        let reason =
            "a switch is tested with the flows of its file; of the flags of a run only --duration applies";
        return Err(wrong("recipe", reason));
    }
    Ok(duration.map(|duration| vec!["--for".to_owned(), duration.to_string()]).unwrap_or_default())
}
