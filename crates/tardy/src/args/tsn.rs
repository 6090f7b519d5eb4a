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
