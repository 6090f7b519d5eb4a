//! The test of a time-aware switch as a guest's experiment: talkers, switch and listeners are network namespaces of one
//! guest, because few machines' own kernels have the shaper.

use std::path::Path;

use anyhow::Result;
use tardy_lab::guest::cpio::Entry;
use tardy_lab::guest::orders::{self, Orders};
use tardy_tsn::kernel_modules::KERNEL_MODULES;

use super::prepare::{Prepared, RUN_FILE, assemble, idle_criterion, pace};
use crate::args::ExperimentArgs;
use crate::commands::tsn::switch_file;
use crate::recipe::{LabTable, Recipe, RunTable, TimerTable};
use crate::resolve::{UsageError, wrong};

/// What sets classifiers.
const TOOLS: [&str; 1] = ["nftables:/usr/sbin/nft"];

/// The switch `name` under test on each kernel, ready to be booted.
pub(super) fn prepare(
    name: &str,
    arguments: &ExperimentArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<Prepared> {
    let file = switch_file::find(name)?;
    let stem = Path::new(&file.name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let path = format!("/lab/{stem}.toml");
    let mut test = [orders::PROGRAM, "tsn", "test", &path, "--netns", "-o"].map(str::to_owned).to_vec();
    test.push(format!("{}/{RUN_FILE}", orders::RESULTS));
    test.extend(length(arguments)?);
    let orders =
        Orders { idle: idle_criterion(pace(&arguments.guest)?), commands: vec![test], ..Orders::default() };
    let recipe = Recipe {
        about: Some(file.network.about.clone()),
        name: Some(stem),
        lab: LabTable {
            chapter: Some("A Linux bridge as time-aware switch".to_owned()),
            modules: KERNEL_MODULES.map(str::to_owned).to_vec(),
            tools: TOOLS.map(str::to_owned).to_vec(),
            ..LabTable::default()
        },
        ..Recipe::default()
    };
    let files = vec![(path, Entry::File { content: file.text.into_bytes(), executable: false })];
    assemble(recipe, orders, files, &arguments.guest, notice)
}

/// For how long frames are counted in each part of the test. No other flag of a run means anything to a switch.
fn length(arguments: &ExperimentArgs) -> Result<Vec<String>, UsageError> {
    let RunTable { duration, .. } = arguments.run.table();
    let only_length = arguments.run.table() == RunTable { duration: duration.clone(), ..RunTable::default() };
    if !only_length || arguments.timer.table() != TimerTable::default() || arguments.scale != 1.0 {
        return Err(wrong(
            "recipe",
            "a switch is tested with the flows of its file: of the flags that say what to measure, only --duration is for it"
                .to_owned(),
        ));
    }
    Ok(duration.map(|duration| vec!["--for".to_owned(), duration]).unwrap_or_default())
}
