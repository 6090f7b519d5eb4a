//! `tardy tsn bounds`.

use clap::Args;
use tardy_recipe::values::{Duration, PositiveDuration};

use super::switch_file::SwitchFileArgs;
use super::tsn_simulate::{SimulatedGates, SimulatedPorts};

/// `tardy tsn bounds`.
#[derive(Debug, Args)]
pub struct TsnBoundsArgs {
    /// The file of the switch.
    #[command(flatten)]
    pub switch: SwitchFileArgs,

    /// Gates: those of the standard, or those of the kernel's software TAPRIO with its deviations.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = SimulatedGates::Linux)]
    pub mode: SimulatedGates,
    /// Ports behind the kernel's gates: network cards, or the veth and tap devices of --netns [default: as `tardy tsn simulate`:
    /// hardware if the file names an interface of a host, else virtual]
    #[arg(long, value_enum, value_name = "PORTS")]
    pub ports: Option<SimulatedPorts>,
    /// Permit any phase between talkers and gates, as if their clocks were not synchronised.
    #[arg(long)]
    pub any_phase: bool,
    /// By how much a switch may forward faster than its forwarding time.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub forwarding_variation: Duration,
    /// Latency of the timer that opens each gate, as measured on a real kernel.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub gate_latency: Duration,
    /// Largest random delay of talkers that send periodically.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub talker_jitter: Duration,
    /// Frames in a network card's transmit ring.
    #[arg(
        long,
        value_name = "FRAMES",
        default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub ring: u32,
    /// Time during which talkers send in each simulation that accompanies the bounds.
    #[arg(long = "for", value_name = "TIME", default_value = "1s")]
    pub duration: PositiveDuration,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
