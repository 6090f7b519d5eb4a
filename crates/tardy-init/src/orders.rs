//! A guest's orders: a file in its initramfs that lists the modules to load and the commands to run.

use serde::{Deserialize, Serialize};

/// The path of the orders in the guest.
pub const PATH: &str = "/lab/orders.json";
/// The directory in which a guest's commands run and write their results.
pub const RESULTS: &str = "/lab/results";
/// The path of tardy in the guest.
pub const PROGRAM: &str = "/tardy";
/// tardy's hidden command that carries out the orders.
pub const COMMAND: &str = "__guest";
/// The guest's own address in the network that it shares with its peer host.
pub const GUEST_ADDRESS: &str = "10.83.0.1";
/// The address of the peer host, a network namespace of the same guest.
pub const PEER_ADDRESS: &str = "10.83.0.2";

/// The steps of a guest, in the order in which it takes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// Modules to load.
    pub modules: Vec<LoadedModule>,
    /// Whether to create the peer host: a network namespace at the other end of a veth pair.
    pub peer: bool,
    /// Commands to start on the peer host. They run until the machine ends.
    pub peer_commands: Vec<Vec<String>>,
    /// When the CPUs count as idle after the boot.
    pub idle: IdleCriterion,
    /// How long to wait once the CPUs are idle, in ns: it moves the commands against the boot, as other boots of the same
    /// machine do.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_delay_ns: u64,
    /// Commands to run in sequence once the CPUs are idle. A failure ends the sequence.
    pub commands: Vec<Vec<String>>,
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// A module to load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadedModule {
    /// Its path in the guest.
    pub path: String,
    /// Its parameters, such as `ports=4`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub parameters: String,
    /// Whether it is loaded only once the CPUs are idle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_rest: bool,
}

/// When the CPUs count as idle: after a number of consecutive windows with almost no work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleCriterion {
    /// The length of a window in ns.
    pub window_ns: u64,
    /// The largest share of a quiet window that is work, in percent.
    pub busy_percent_max: u32,
    /// The number of consecutive quiet windows.
    pub quiet_windows: u32,
    /// The longest wait in ns. The guest then continues, and the run states that it was not idle.
    pub limit_ns: u64,
}

impl Default for IdleCriterion {
    /// Three windows of 500 ms with at most 2 % of work, which is one tick of the kernel's accounting; 30 s at most.
    /// Without the cipher self-tests (`cryptomgr_test`), which take 5 s and which the lab's command line switches off,
    /// the first windows of Debian's kernels are quiet.
    fn default() -> Self {
        Self { window_ns: 500_000_000, busy_percent_max: 2, quiet_windows: 3, limit_ns: 30_000_000_000 }
    }
}
