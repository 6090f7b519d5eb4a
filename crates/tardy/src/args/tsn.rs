//! `tardy tsn`: a time-aware switch, from its file.

use clap::{Args, Subcommand, ValueEnum};
use tardy_tsn::plan::commands::Classifying;

use super::tsn_simulate::{TsnGenerateArgs, TsnSimulateArgs};

/// `tardy tsn …`.
#[derive(Debug, Subcommand)]
pub(crate) enum TsnCommand {
    /// What the kernel would refuse, and what it would accept and get wrong; nothing is touched.
    Check(TsnCheckArgs),
    /// What the switch would do, frame by frame, as the run that a test of it would be.
    Simulate(Box<TsnSimulateArgs>),
    /// A switch's file that chance made up.
    #[command(hide = true)]
    Generate(TsnGenerateArgs),
    /// What would be set: as commands to read and run, as the standard's YANG, or as the message to the kernel.
    Plan(TsnPlanArgs),
    /// Make this machine the switch: bridge, VLANs, classifier and gate control lists. It stays up until it is removed.
    Apply(TsnApplyArgs),
    /// Take a switch back: everything as it was before.
    Remove(TsnRemoveArgs),
    /// What the kernel has of the switches that are up.
    Show(TsnShowArgs),
    /// Keep a switch alive: mend what a lost cable or a changed queue stops, and tell what was lost.
    Watch(TsnWatchArgs),
    /// Send the flows through the switch and record when they arrive, with the shaper and without.
    Test(TsnTestArgs),
}

/// What every command reads.
#[derive(Debug, Args)]
pub(crate) struct SwitchFileArgs {
    /// A file that describes a switch (docs/tsn.md), by path, or one of tardy's own by name: tsn-two-flows
    pub(crate) file: String,
}

/// `tardy tsn check`.
#[derive(Debug, Args)]
pub(crate) struct TsnCheckArgs {
    #[command(flatten)]
    pub(crate) switch: SwitchFileArgs,

    /// Fail also over what the kernel accepts and gets wrong.
    #[arg(long)]
    pub(crate) strict: bool,
    /// By the file alone: do not ask this machine about its interfaces and clocks.
    #[arg(long)]
    pub(crate) offline: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tardy tsn plan`.
#[derive(Debug, Args)]
pub(crate) struct TsnPlanArgs {
    #[command(flatten)]
    pub(crate) switch: SwitchFileArgs,

    /// The form.
    #[arg(long = "as", value_enum, value_name = "FORM", default_value_t = PlanForm::Commands)]
    pub(crate) form: PlanForm,
    /// What gives frames their priority in the commands; with Open vSwitch, whose frames nft does not see, tc in place
    /// of nft.
    #[arg(long, value_enum, value_name = "PROGRAM", default_value_t = ClassifierProgram::Nft)]
    pub(crate) classifier: ClassifierProgram,
    /// Which switch, where the file has several.
    #[arg(long = "switch", value_name = "NAME")]
    pub(crate) of: Option<String>,
}

/// The form of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanForm {
    /// A shell script of ip, bridge, nft and tc.
    Commands,
    /// JSON by IEEE 802.1Q's module ieee802-dot1q-sched.
    Yang,
    /// The message for each port's shaper, field by field.
    Netlink,
}

/// What gives frames their priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClassifierProgram {
    /// nft's bridge family.
    Nft,
    /// flower and skbedit.
    Tc,
    /// iptables by way of br_netfilter.
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

/// Which switch of a file.
#[derive(Debug, Args)]
pub(crate) struct OneSwitchArgs {
    #[command(flatten)]
    pub(crate) switch: SwitchFileArgs,

    /// Which of the file's switches this machine is; needed where there are several.
    #[arg(long = "switch", value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `tardy tsn apply`.
#[derive(Debug, Args)]
pub(crate) struct TsnApplyArgs {
    #[command(flatten)]
    pub(crate) one: OneSwitchArgs,

    /// Take the switch back after this long, or at Ctrl-C; without it, it stays until `tardy tsn remove`.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Use a bridge, and replace queueing disciplines, that are not tardy's.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Leave it to the kernel to refuse what `tardy tsn check` says that it would: to see whether it does.
    #[arg(long)]
    pub(crate) unchecked: bool,
    /// Also where your own SSH connection runs over one of the ports.
    #[arg(long)]
    pub(crate) even_my_own_connection: bool,
}

/// `tardy tsn remove`.
#[derive(Debug, Args)]
pub(crate) struct TsnRemoveArgs {
    /// The switch's name; needed where several are up.
    pub(crate) name: Option<String>,
}

/// `tardy tsn show`.
#[derive(Debug, Args)]
pub(crate) struct TsnShowArgs {
    /// The switch's name; all that are up unless said.
    pub(crate) name: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tardy tsn watch`.
#[derive(Debug, Args)]
pub(crate) struct TsnWatchArgs {
    #[command(flatten)]
    pub(crate) one: OneSwitchArgs,

    /// End after this long; without it, at Ctrl-C.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<String>,
}

/// `tardy tsn test`.
#[derive(Debug, Args)]
pub(crate) struct TsnTestArgs {
    #[command(flatten)]
    pub(crate) switch: SwitchFileArgs,

    /// Build talkers, switches and listeners of network namespaces on this machine; without, the switch is up already, and
    /// `[[host]] interface = "eth1"` in the file says which interfaces of this machine are cabled to it.
    #[arg(long)]
    pub(crate) netns: bool,
    /// For how long frames are counted, with the shaper and again without.
    #[arg(long = "for", value_name = "TIME", default_value = "2s")]
    pub(crate) duration: String,
    /// Only with the shaper.
    #[arg(long, conflicts_with = "without_shaper")]
    pub(crate) with_shaper: bool,
    /// Only without the shaper.
    #[arg(long)]
    pub(crate) without_shaper: bool,
    /// Where the run file goes.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<std::path::PathBuf>,
    /// Also write every frame that arrived, warm-up included, as CSV: the first 262,144 of each listener and phase.
    #[arg(long, value_name = "FILE")]
    pub(crate) frames: Option<std::path::PathBuf>,
    /// Replace files that are there.
    #[arg(long)]
    pub(crate) force: bool,
    /// The run's numbers as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not print how it goes on.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
