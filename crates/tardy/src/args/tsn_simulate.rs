//! `tardy tsn simulate` and `tardy tsn generate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tardy_recipe::values::{Duration, PositiveDuration};

use super::RedactionFlag;
use super::switch_file::SwitchFileArgs;
use super::values::output_path;

/// `tardy tsn simulate`.
#[derive(Debug, Args)]
pub(crate) struct TsnSimulateArgs {
    #[command(flatten)]
    pub(crate) switch: SwitchFileArgs,

    /// Gates to simulate: those of the standard, or those of the kernel's software TAPRIO with its deviations.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = SimulatedGates::Linux)]
    pub(crate) mode: SimulatedGates,
    /// Ports behind the kernel's gates: network cards, or the veth and tap devices of --netns [default: as `tardy tsn test`
    /// would use: hardware if the file names an interface of a host, else virtual]
    #[arg(long, value_enum, value_name = "PORTS")]
    pub(crate) ports: Option<SimulatedPorts>,
    /// Time during which talkers send, with the shaper and again without it.
    #[arg(long = "for", value_name = "TIME", default_value = "2s")]
    pub(crate) duration: PositiveDuration,
    /// Seed of talkers' jitter and of the assignment of flows to the queues of their class.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Simulate only with the shaper.
    #[arg(long, conflicts_with = "without_shaper")]
    pub(crate) with_shaper: bool,
    /// Simulate only without the shaper.
    #[arg(long)]
    pub(crate) without_shaper: bool,

    /// Run file [default: none]
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    pub(crate) output: Option<PathBuf>,
    /// Also write every frame to a CSV file.
    #[arg(long, value_name = "FILE", value_parser = output_path())]
    pub(crate) frames: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the numbers as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten, next_help_heading = "Real kernels and talkers")]
    pub(crate) real: RealityArgs,

    #[command(flatten, next_help_heading = "Gates that open early")]
    pub(crate) early: EarlyGatesArgs,
    #[command(flatten)]
    pub(crate) redaction: RedactionFlag,
}

/// Real kernels and talkers.
#[derive(Debug, Args)]
pub(crate) struct RealityArgs {
    /// Latency of the timer that opens each gate, as measured on a real kernel.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) gate_latency: Duration,
    /// Time that the kernel needs to pass a frame over veth.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) frame_cost: Duration,
    /// Largest random delay of talkers that send periodically.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) talker_jitter: Duration,
    /// Frames in a network card's transmit ring. The card sends them even if a gate has closed.
    #[arg(
        long,
        value_name = "FRAMES",
        default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) ring: u32,
    /// Length of each queue of a port, in frames; at most 500 for a tap device.
    #[arg(long, value_name = "FRAMES", default_value_t = 1000)]
    pub(crate) queue: u32,
}

/// Gates that open early.
#[derive(Debug, Args)]
pub(crate) struct EarlyGatesArgs {
    /// Start this long before the base time, while all gates are open.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) lead: Duration,
    /// Replace each schedule with an equal one after this time, which makes the kernel open all gates.
    #[arg(long, value_name = "TIME")]
    pub(crate) replace_after: Option<Duration>,
}

/// The gates to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimulatedGates {
    /// As IEEE 802.1Q specifies.
    Standard,
    /// As in the kernel's software TAPRIO.
    Linux,
}

/// The devices behind simulated ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimulatedPorts {
    /// Network cards.
    Hardware,
    /// veth and tap devices.
    Virtual,
}

/// `tardy tsn generate`.
#[derive(Debug, Args)]
pub(crate) struct TsnGenerateArgs {
    /// Seed of the file.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: u64,
}
