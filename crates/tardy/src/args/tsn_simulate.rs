//! `tardy tsn simulate` and `tardy tsn generate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::tsn::SwitchFileArgs;

/// `tardy tsn simulate`.
#[derive(Debug, Args)]
pub(crate) struct TsnSimulateArgs {
    #[command(flatten)]
    pub(crate) switch: SwitchFileArgs,

    /// Whose gates: the standard's, or those of the kernel's software TAPRIO with all that it does otherwise.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = SimulatedGates::Linux)]
    pub(crate) mode: SimulatedGates,
    /// With the kernel's gates, what the ports are: network cards, or the veth and tap devices of --netns.
    #[arg(long, value_enum, value_name = "PORTS", default_value_t = SimulatedPorts::Hardware)]
    pub(crate) ports: SimulatedPorts,
    /// For how long talkers send, with the shaper and again without.
    #[arg(long = "for", value_name = "TIME", default_value = "2s")]
    pub(crate) duration: String,
    /// Decides what is left to chance: talkers' jitter, and which of its class's queues a flow goes into.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Only with the shaper.
    #[arg(long, conflicts_with = "without_shaper")]
    pub(crate) with_shaper: bool,
    /// Only without the shaper.
    #[arg(long)]
    pub(crate) without_shaper: bool,

    /// Where the run file goes; without it, none is written.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also write every frame, as CSV.
    #[arg(long, value_name = "FILE")]
    pub(crate) frames: Option<PathBuf>,
    /// Replace files that are there.
    #[arg(long)]
    pub(crate) force: bool,
    /// The numbers as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten, next_help_heading = "What real kernels and talkers add")]
    pub(crate) real: RealityArgs,

    #[command(flatten, next_help_heading = "What opens gates early")]
    pub(crate) early: EarlyGatesArgs,
}

/// What real kernels and talkers add.
#[derive(Debug, Args)]
pub(crate) struct RealityArgs {
    /// How late the kernel's timer opens each gate, as measured on a real one.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) gate_latency: String,
    /// How long the kernel takes to hand a frame over by veth.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) frame_cost: String,
    /// Up to how much later than their time talkers with a period send.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) talker_jitter: String,
    /// Frames that a network card takes beforehand and nobody can take back.
    #[arg(
        long,
        value_name = "FRAMES",
        default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) ring: u32,
    /// Frames that each queue of a port holds.
    #[arg(long, value_name = "FRAMES", default_value_t = 1000)]
    pub(crate) queue: u32,
}

/// What opens gates early.
#[derive(Debug, Args)]
pub(crate) struct EarlyGatesArgs {
    /// Begin so long before the base time, when all gates are open.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) lead: String,
    /// Replace each schedule by the same again after so long: the kernel opens all gates.
    #[arg(long, value_name = "TIME")]
    pub(crate) replace_after: Option<String>,
}

/// Whose gates are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimulatedGates {
    /// IEEE 802.1Q's.
    Standard,
    /// The kernel's.
    Linux,
}

/// What simulated ports are made of.
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
    /// Which file: the same number gives the same one.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: u64,
}
