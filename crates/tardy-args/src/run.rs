//! `tardy run`.

use std::path::PathBuf;

use clap::Args;
use tardy_recipe::options::RecipeFlags;
use tardy_recipe::values::{celsius, scale};

use super::values::{RunName, output_path, run_name};
use super::{LateFlags, RedactionFlag, RequirementArgs};

/// `tardy run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Recipe: quick, noise, osadl, rpi3-4.9, rpi3-4.14, rpi1-loaded, rpi1-wiggle, at91-timers, at91-gpio, at91-xenomai; for
    /// the lab lab-doload, lab-quick, lab-full, lab-rpi3, lab-rpi1, lab-at91-timers, lab-at91-gpio, lab-at91-levels; or the path of a
    /// file (docs/recipes.md)
    pub recipe: Option<String>,

    /// Measure two recipes in turn, each once per round in random order, and compare them. Each run is a file in the directory
    /// -o (docs/compare.md)
    #[arg(
        long,
        num_args = 2,
        value_names = ["A", "B"],
        conflicts_with_all = ["recipe", "name", "samples", "report"],
        help_heading = "What to run"
    )]
    pub ab: Vec<String>,
    /// Measure everything once per round, in random order, so that a drift affects all alike; 5 for a recommendation
    /// [default: with --ab 5, else rounds are those of --repeat, one method after the other]
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with = "repeat",
        help_heading = "What to run"
    )]
    pub rounds: Option<u32>,

    /// The options that a recipe has too.
    #[command(flatten)]
    pub flags: RecipeFlags,

    /// Multiply all durations and loop counts by this, to try out a long recipe.
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = scale, help_heading = "What to run")]
    pub scale: f64,
    /// Measured room temperature, in °C.
    #[arg(
        long,
        value_name = "CELSIUS",
        value_parser = celsius,
        allow_negative_numbers = true,
        help_heading = "What to run"
    )]
    pub ambient: Option<f64>,
    /// CPU of tardy's supervisor process [default: one that is not measured, if any]
    #[arg(long, value_name = "CPU", help_heading = "What to run")]
    pub housekeeping_cpu: Option<u32>,
    /// Measure without the scheduling policy if the kernel refuses the one that --policy, --priority or a recipe file asks
    /// for.
    #[arg(long, help_heading = "What to run")]
    pub allow_degraded: bool,
    /// Print the plan and do nothing else; with --json as JSON.
    #[arg(long, help_heading = "What to run")]
    pub dry_run: bool,

    /// Run file [default: tardy-DATE-TIME.run.json]; with --ab a directory [default: tardy-ab-DATE-TIME]
    #[arg(short, long, value_name = "FILE", help_heading = "Results", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Put the run into this archive too; it is made if it does not exist (docs/archive.md)
    #[arg(long, value_name = "ARCHIVE", help_heading = "Results", conflicts_with = "ab")]
    pub keep: Option<PathBuf>,
    /// Name of the run in tables, legends and plots [default: that of the run file]
    #[arg(long, value_parser = run_name, help_heading = "Results")]
    pub name: Option<RunName>,
    /// Also write every sample to a CSV file: 560 MB per hour and CPU at 200us (docs/samples.md)
    #[arg(long, value_name = "FILE", help_heading = "Results", value_parser = output_path())]
    pub samples: Option<PathBuf>,
    /// Also record the offsets and port states that ptp4l or phc2sys writes to this file, the output of `ptp4l -m` (docs/tsn.md)
    #[arg(long, value_name = "FILE", help_heading = "Results", conflicts_with = "fake")]
    pub ptp4l_log: Option<PathBuf>,
    /// Overwrite the run file, the samples and the report if they exist.
    #[arg(long, help_heading = "Results")]
    pub force: bool,
    /// Also write an HTML report [default: next to the run file]
    #[arg(long, value_name = "FILE", num_args = 0..=1, help_heading = "Results", value_parser = output_path())]
    pub report: Option<Option<PathBuf>>,
    /// Print the numbers as JSON instead of the summary, or with --dry-run the plan.
    #[arg(long, help_heading = "Results")]
    pub json: bool,
    /// Do not print progress.
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,
    /// Print one line of progress instead of the live view (docs/live.md)
    #[arg(long, help_heading = "Results")]
    pub one_line: bool,

    /// What is late, and what tardy does then.
    #[command(flatten)]
    pub late: LateFlags,

    /// What is required of the runs.
    #[command(flatten)]
    pub requirements: RequirementArgs,

    /// Simulate the measurement from a seed, without waiting and without privileges.
    #[arg(long, hide = true, value_name = "SEED")]
    pub fake: Option<u64>,
    /// Read kernel files below this directory.
    #[arg(long, hide = true, default_value = "/")]
    pub kernel_root: PathBuf,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_help_names_every_recipe_and_every_load() {
        use clap::CommandFactory;
        let help = crate::Cli::command().find_subcommand_mut("run").unwrap().render_long_help().to_string();
        for recipe in crate::LabRecipe::built_in() {
            assert!(help.contains(recipe.name()), "{}", recipe.name());
        }
        for load in tardy_record::load_spec::CATALOGUE.iter().filter(|load| load.name() != "sink") {
            assert!(help.contains(load.name()), "{}", load.name());
        }
    }
}
