//! `tardy tsn`: a time-aware switch described by a file.

use clap::{Args, Subcommand, ValueEnum};
use tardy_recipe::values::PositiveDuration;
use tardy_record::load_spec::LoadSpec;
use tardy_tsn::plan::commands::Classifying;
use tardy_tsn::plan::yang::Model;

use super::RedactionFlag;
use super::switch_file::SwitchFileArgs;
use super::tsn_bounds::TsnBoundsArgs;
use super::tsn_simulate::{SimulatedPorts, TsnGenerateArgs, TsnSimulateArgs};
use super::tsn_synthesize::TsnSynthesizeArgs;
use super::values::output_path;

/// `tardy tsn …`.
#[derive(Debug, Subcommand)]
pub enum TsnCommand {
    /// Report what the kernel would refuse, and what it would accept and handle wrongly. Changes nothing.
    Check(TsnCheckArgs),
    /// Simulate the switch frame by frame, and record a run like that of `tardy tsn test`.
    Simulate(Box<TsnSimulateArgs>),
    /// Compute the longest delay that each flow can have, and how many frames can wait, next to a simulation.
    Bounds(Box<TsnBoundsArgs>),
    /// Compute when each flow is sent, and the gate control lists, so that every deadline is met.
    Synthesize(Box<TsnSynthesizeArgs>),
    /// Print a random switch file.
    #[command(hide = true)]
    Generate(TsnGenerateArgs),
    /// Print the configuration: as shell commands, as YANG (IEEE 802.1Q), or as messages to the kernel.
    Plan(TsnPlanArgs),
    /// Configure this machine as the switch: bridge, VLANs, classifier and gate control lists, until `tardy tsn remove`.
    Apply(TsnApplyArgs),
    /// Remove a switch and restore the previous configuration.
    Remove(TsnRemoveArgs),
    /// Show the kernel's configuration of the active switches.
    Show(TsnShowArgs),
    /// Keep a switch running: repair ports after a lost link or a changed queue, and report the frames lost.
    Watch(TsnWatchArgs),
    /// Send the flows through the switch and record their arrivals, with and without the shaper.
    Test(TsnTestArgs),
}

/// `tardy tsn check`.
#[derive(Debug, Args)]
pub struct TsnCheckArgs {
    /// The file of the switch.
    #[command(flatten)]
    pub switch: SwitchFileArgs,

    /// Also fail if the kernel would accept a setting and handle it wrongly.
    #[arg(long)]
    pub strict: bool,
    /// Check the file alone, without this machine's interfaces and clocks.
    #[arg(long)]
    pub offline: bool,
    /// Devices of ports that this machine does not have: network cards, or the veth and tap devices of --netns [default: as
    /// `tardy tsn simulate`: hardware if the file names an interface of a host, else virtual]
    #[arg(long, value_enum, value_name = "PORTS")]
    pub ports: Option<SimulatedPorts>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy tsn plan`.
#[derive(Debug, Args)]
pub struct TsnPlanArgs {
    /// The file of the switch.
    #[command(flatten)]
    pub switch: SwitchFileArgs,

    /// Form of the output.
    #[arg(long = "as", value_enum, value_name = "FORM", default_value_t = PlanForm::Commands)]
    pub form: PlanForm,
    /// Program that assigns priorities to frames. With Open vSwitch, whose frames nft does not see, tc replaces nft.
    #[arg(long, value_enum, value_name = "PROGRAM", default_value_t = ClassifierProgram::Nft)]
    pub classifier: ClassifierProgram,
    /// Place and form of the gate control lists in YANG, which differ by the revision of the modules that the device has.
    #[arg(long, value_enum, value_name = "MODEL", default_value_t = YangModel::Bridge)]
    pub yang: YangModel,
    /// Switch of the file, if it has several.
    #[arg(long = "switch", value_name = "NAME")]
    pub of: Option<String>,
}

/// The form of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanForm {
    /// A shell script of ip, bridge, nft and tc.
    Commands,
    /// JSON of the YANG modules ieee802-dot1q-sched and ieee802-dot1q-bridge (IEEE 802.1Q).
    Yang,
    /// The same as XML, for NETCONF's edit-config.
    YangXml,
    /// The netlink message that configures each port's shaper, field by field.
    Netlink,
}

/// Where gate control lists are in YANG data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum YangModel {
    /// At the bridge port: ieee802-dot1q-sched-bridge, from 2022 on (802.1Qcw).
    Bridge,
    /// At the interface: ieee802-dot1dc-sched-if (802.1DC-2024).
    Interface,
    /// At the interface: ieee802-dot1q-sched of 2018-09-10.
    #[value(name = "2018")]
    Of2018,
}

impl From<YangModel> for Model {
    fn from(model: YangModel) -> Self {
        match model {
            YangModel::Bridge => Self::Bridge,
            YangModel::Interface => Self::Interface,
            YangModel::Of2018 => Self::Of2018,
        }
    }
}

/// Program that assigns priorities to frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClassifierProgram {
    /// Rules in nft's bridge family.
    Nft,
    /// tc's flower classifier with the action skbedit.
    Tc,
    /// iptables with br_netfilter.
    Iptables,
}

impl From<ClassifierProgram> for Classifying {
    fn from(program: ClassifierProgram) -> Self {
        match program {
            ClassifierProgram::Nft => Self::Nft,
            ClassifierProgram::Tc => Self::Tc,
            ClassifierProgram::Iptables => Self::Iptables,
        }
    }
}

/// One switch of a switch file.
#[derive(Debug, Args)]
pub struct OneSwitchArgs {
    /// The file of the switch.
    #[command(flatten)]
    pub switch: SwitchFileArgs,

    /// Switch of the file that this machine is. Mandatory if the file has several.
    #[arg(long = "switch", value_name = "NAME")]
    pub name: Option<String>,
}

/// `tardy tsn apply`.
#[derive(Debug, Args)]
pub struct TsnApplyArgs {
    /// The switch of the file.
    #[command(flatten)]
    pub one: OneSwitchArgs,

    /// Remove the switch after this time, or at Ctrl-C [default: it stays until `tardy tsn remove`]
    #[arg(long = "for", value_name = "TIME")]
    pub duration: Option<PositiveDuration>,
    /// Use a bridge and replace queueing disciplines that tardy did not create.
    #[arg(long)]
    pub replace: bool,
    /// Apply settings that `tardy tsn check` expects the kernel to refuse.
    #[arg(long)]
    pub unchecked: bool,
    /// Apply even if your SSH connection uses one of the ports.
    #[arg(long)]
    pub even_my_own_connection: bool,
    /// Print the changes as JSON, with --for at the end.
    #[arg(long)]
    pub json: bool,
}

/// `tardy tsn remove`.
#[derive(Debug, Args)]
pub struct TsnRemoveArgs {
    /// Name of the switch. Mandatory if several are active.
    pub name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy tsn show`.
#[derive(Debug, Args)]
pub struct TsnShowArgs {
    /// Name of the switch [default: all that are active]
    pub name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy tsn watch`.
#[derive(Debug, Args)]
pub struct TsnWatchArgs {
    /// The switch of the file.
    #[command(flatten)]
    pub one: OneSwitchArgs,

    /// End after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME")]
    pub duration: Option<PositiveDuration>,
    /// Print the totals as JSON at the end.
    #[arg(long)]
    pub json: bool,
}

/// `tardy tsn test`.
#[derive(Debug, Args)]
pub struct TsnTestArgs {
    /// The file of the switch.
    #[command(flatten)]
    pub switch: SwitchFileArgs,

    /// Build talkers, switches and listeners from network namespaces on this machine. Otherwise, the switch must be active,
    /// and `[[host]] interface = "eth1"` in the file names this machine's interfaces that are connected to it.
    #[arg(long)]
    pub netns: bool,
    /// Time during which frames are counted, with the shaper and again without it.
    #[arg(long = "for", value_name = "TIME", default_value = "2s")]
    pub duration: PositiveDuration,
    /// Load on this machine during each phase, as in `tardy run --load`. May be repeated (docs/loads.md)
    #[arg(long, value_name = "LOAD")]
    pub load: Vec<LoadSpec>,
    /// Record the offsets and port states that ptp4l or phc2sys writes to this file, the output of `ptp4l -m`.
    #[arg(long, value_name = "FILE")]
    pub ptp4l_log: Option<std::path::PathBuf>,
    /// Test only with the shaper.
    #[arg(long, conflicts_with = "without_shaper")]
    pub with_shaper: bool,
    /// Test only without the shaper.
    #[arg(long)]
    pub without_shaper: bool,
    /// Run file [default: tardy-tsn-DATE-TIME.run.json]
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    pub output: Option<std::path::PathBuf>,
    /// Also write the first 262,144 frames of each listener and phase to a CSV file, warm-up included.
    #[arg(long, value_name = "FILE", value_parser = output_path())]
    pub frames: Option<std::path::PathBuf>,
    /// Also measure how long talkers, switches, gates and listeners take, from the kernel's trace of the scheduled frames at every port,
    /// print it, and write it for `tardy tsn synthesize --intervals`.
    #[arg(long, value_name = "FILE.toml", value_parser = output_path(), requires = "netns", conflicts_with = "without_shaper")]
    pub intervals: Option<std::path::PathBuf>,
    /// Change to this switch file in the middle of the time with the shaper, while the flows are sent: the same network with
    /// other schedules.
    #[arg(long, value_name = "NEXT.toml", requires = "netns", conflicts_with = "without_shaper")]
    pub replace: Option<String>,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
    /// Print the numbers as JSON.
    #[arg(long)]
    pub json: bool,
    /// Do not print progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}
