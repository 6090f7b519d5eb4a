//! What a guest is told: a file in its initramfs.

use serde::{Deserialize, Serialize};

/// Where the orders lie in the guest.
pub const PATH: &str = "/lab/orders.json";
/// Where results are written in the guest.
pub const RESULTS: &str = "/lab/results";
/// tardy's program in the guest.
pub const PROGRAM: &str = "/tardy";
/// tardy's hidden command that does as it is told.
pub const COMMAND: &str = "__guest";
/// The guest's own address in the network between it and its namespace for the other host.
pub const BOARD_ADDRESS: &str = "10.83.0.1";
/// The address of the other host, which is a network namespace of the same guest.
pub const PEER_ADDRESS: &str = "10.83.0.2";

/// What to do, in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// Modules to load.
    pub modules: Vec<LoadedModule>,
    /// Whether another host is needed: a network namespace at the other end of a veth pair.
    pub peer: bool,
    /// Commands that run on that other host from the settling to the end.
    pub outside: Vec<Vec<String>>,
    /// When the boot counts as over.
    pub settle: Settle,
    /// Commands to run one after the other, once it is quiet. The first that fails is the last.
    pub commands: Vec<Vec<String>>,
}

/// A module to load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadedModule {
    /// Its path in the guest.
    pub path: String,
    /// What it is told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub parameters: String,
    /// Whether it is loaded only once it is quiet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_rest: bool,
}

/// When the boot counts as over: after so many windows in a row in which the CPUs did next to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// Length of a window.
    pub window_ns: u64,
    /// Up to this share of it may be spent working, in percent.
    pub busy_percent_max: u32,
    /// So many in a row.
    pub quiet_windows: u32,
    /// After this long in all, the guest goes on, and the run says that it never was quiet.
    pub limit_ns: u64,
}

impl Default for Settle {
    /// Three windows of half a second with at most 2 % of work, one tick of the kernel's accounting; half a minute
    /// at the longest. Debian's kernels finish their self-tests 5 s after the start (`cryptomgr_test`), which the
    /// lab's command line leaves out; then the first windows are quiet.
    fn default() -> Self {
        Self { window_ns: 500_000_000, busy_percent_max: 2, quiet_windows: 3, limit_ns: 30_000_000_000 }
    }
}
