//! `tardy tsn synthesize`.

use std::path::PathBuf;

use clap::Args;
use tardy_recipe::values::{Duration, PositiveDuration};

use super::tsn_simulate::{SimulatedGates, SimulatedPorts};
use super::values::output_path;

/// `tardy tsn synthesize`.
#[derive(Debug, Args)]
pub struct TsnSynthesizeArgs {
    /// Switch file with the flows (docs/tsn.md), by path, or by name: tsn-two-flows
    #[arg(required_unless_present = "tsnkit", conflicts_with = "tsnkit")]
    pub file: Option<String>,

    /// Read the flows and the links from TSNKit's tables.
    #[arg(long, num_args = 2, value_names = ["TASK.csv", "TOPO.csv"])]
    pub tsnkit: Option<Vec<PathBuf>>,
    /// Switch file with the schedule in force: flows that both files have stay where they are, and FILE adds and removes flows.
    /// What cannot stay is named. `tardy tsn apply` replaces the schedule by the new one.
    #[arg(long, value_name = "OLD.toml", conflicts_with = "tsnkit")]
    pub keep: Option<String>,
    /// Switch file to write; with --tsnkit, the beginning of the names of four tables [default: none]
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Page to write: the frames of every link, the path of each flow, its slack, the simulation and the bounds [default: none]
    #[arg(long, value_name = "FILE.html", value_parser = output_path(), conflicts_with = "tsnkit")]
    pub html: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,

    /// Rounds of the search for places of flows that do not fit at once. The result depends on this number and on the seed, not
    /// on the number of CPUs.
    #[arg(long, value_name = "ROUNDS", default_value_t = 20)]
    pub effort: u32,
    /// Stop after the round that is running at this time, and print the effort that was reached [default: no limit]
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<PositiveDuration>,
    /// Seed of the search.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Longest gate control list of a port. Longer ones lose gaps of best effort.
    #[arg(long, value_name = "ENTRIES", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub max_entries: Option<usize>,
    /// Share of each port's cycle that is left to best effort.
    ///
    /// Its gate is open for at least a full frame at a time. If the flows fit only with less, the command ends with 3 and prints the
    /// share that would do. A port whose classes all have scheduled flows has no best effort.
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = best_effort)]
    pub best_effort: f64,
    /// How long each link is reserved after the end of a frame, for gates and talkers that are late [default: 1us for a switch
    /// file, 0s for tables]
    #[arg(long, value_name = "TIME")]
    pub margin: Option<Duration>,
    /// How long talkers, switches, gates and listeners take on the machine that runs the schedule, as `tardy tsn test --intervals`
    /// measured: windows are widened to it. Longest times are doubled [default: the forwarding times of the switch file]
    #[arg(long, value_name = "FILE.toml", conflicts_with = "tsnkit")]
    pub intervals: Option<PathBuf>,

    /// Gates for the bounds and the simulation of a switch file: those of the standard, or those of the kernel's software TAPRIO
    /// with its deviations.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = SimulatedGates::Standard)]
    pub mode: SimulatedGates,
    /// Ports behind the gates and talkers: network cards, or the veth and tap devices of --netns.
    #[arg(long, value_enum, value_name = "PORTS", default_value_t = SimulatedPorts::Hardware)]
    pub ports: SimulatedPorts,

    /// Print JSON.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print a CSV line for each flow.
    #[arg(long)]
    pub csv: bool,
}

/// A share from 0 to below 1.
fn best_effort(text: &str) -> Result<f64, String> {
    let share = tardy_record::units::parse_share(text).filter(|share| (0.0..1.0).contains(share));
    share
        .ok_or_else(|| format!("'{text}' is not a share from 0 to below 100 %; write one such as 10% or 0.1"))
}
