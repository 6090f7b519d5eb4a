//! `tardy tsn simulate` and `tardy tsn generate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tardy_recipe::values::{Duration, PositiveDuration};

use super::RedactionFlag;
use super::switch_file::SwitchFileArgs;
use super::values::output_path;

/// `tardy tsn simulate`.
#[derive(Debug, Args)]
pub struct TsnSimulateArgs {
    /// The file of the switch.
    #[command(flatten)]
    pub switch: SwitchFileArgs,

    /// Gates to simulate: those of the standard, or those of the kernel's software TAPRIO with its deviations.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = SimulatedGates::Linux)]
    pub mode: SimulatedGates,
    /// Ports behind the kernel's gates: network cards, or the veth and tap devices of --netns [default: as `tardy tsn test`
    /// would use: hardware if the file names an interface of a host, else virtual]
    #[arg(long, value_enum, value_name = "PORTS")]
    pub ports: Option<SimulatedPorts>,
    /// Time during which talkers send, with the shaper and again without it.
    #[arg(long = "for", value_name = "TIME", default_value = "2s")]
    pub duration: PositiveDuration,
    /// Seed of talkers' jitter and of the assignment of flows to the queues of their class.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Simulate only with the shaper.
    #[arg(long, conflicts_with = "without_shaper")]
    pub with_shaper: bool,
    /// Simulate only without the shaper.
    #[arg(long)]
    pub without_shaper: bool,

    /// Run file [default: none]
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Also write every frame to a CSV file.
    #[arg(long, value_name = "FILE", value_parser = output_path())]
    pub frames: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
    /// Print the numbers as JSON.
    #[arg(long)]
    pub json: bool,

    /// What real kernels and talkers do.
    #[command(flatten, next_help_heading = "Real kernels and talkers")]
    pub real: RealityArgs,

    /// Gates that open early.
    #[command(flatten, next_help_heading = "Gates that open early")]
    pub early: EarlyGatesArgs,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}

/// Real kernels and talkers.
#[derive(Debug, Args)]
pub struct RealityArgs {
    /// Latency of the timer that opens each gate, as measured on a real kernel.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub gate_latency: Duration,
    /// Time that the kernel needs to pass a frame over veth.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub frame_cost: Duration,
    /// Largest random delay of talkers that send periodically.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub talker_jitter: Duration,
    /// Frames in a network card's transmit ring. The card sends them even if a gate has closed.
    #[arg(
        long,
        value_name = "FRAMES",
        default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub ring: u32,
    /// Length of each queue of a port, in frames; at most 500 for a tap device.
    #[arg(long, value_name = "FRAMES", default_value_t = 1000)]
    pub queue: u32,
}

/// Gates that open early.
#[derive(Debug, Args)]
pub struct EarlyGatesArgs {
    /// Start this long before the base time, while all gates are open.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub lead: Duration,
    /// Replace each schedule with an equal one after this time, which makes the kernel open all gates.
    #[arg(long, value_name = "TIME")]
    pub replace_after: Option<Duration>,
}

/// The gates to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SimulatedGates {
    /// As IEEE 802.1Q specifies.
    Standard,
    /// As in the kernel's software TAPRIO.
    Linux,
}

/// The devices behind simulated ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SimulatedPorts {
    /// Network cards.
    Hardware,
    /// veth and tap devices.
    Virtual,
}

/// `tardy tsn generate`.
#[derive(Debug, Args)]
pub struct TsnGenerateArgs {
    /// Seed of the file.
    #[arg(long, value_name = "NUMBER")]
    pub seed: u64,
}
