//! The task of one worker process of a load.

use super::arguments::SchedulerShape;

/// A task, with its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadTask {
    /// hackbench's groups of senders and receivers.
    Scheduler(SchedulerShape),
    /// Bursts over TCP.
    Network,
    /// A copy from /dev/zero to /dev/null.
    Copy,
    /// A recursive listing of the file system.
    Listing,
    /// Computation on every CPU.
    Cpu,
    /// Memory traffic on every CPU.
    Memory {
        /// MiB for each CPU.
        mib: usize,
    },
    /// Writing and reading a file.
    Io {
        /// The directory of the file; empty for the default.
        directory: String,
    },
    /// Short-lived processes.
    Fork,
    /// Timer interrupts.
    Timers {
        /// How many timers each CPU has.
        per_cpu: usize,
    },
    /// Signals.
    Signals,
    /// Parallel builds.
    Compile {
        /// The directory of the sources; empty for generated ones.
        directory: String,
    },
    /// TLB shootdowns and memory barriers.
    Mprotect,
    /// Task migration between CPUs.
    Affinity,
    /// A TCP stream.
    Tcp {
        /// Its port; `None` for the default.
        port: Option<u16>,
    },
    /// UDP datagrams.
    Udp {
        /// Their port; `None` for the default.
        port: Option<u16>,
    },
    /// Echo requests to a peer.
    Ping,
    /// Echo requests from another machine.
    PingIn,
    /// stress-ng.
    StressNg {
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// hackbench of rt-tests.
    Hackbench {
        /// Its arguments. Empty for the default.
        arguments: Vec<String>,
    },
    /// iperf3.
    Iperf3 {
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// The receiving end of network loads.
    Sink {
        /// The host that sends.
        host: String,
    },
    /// A shell command.
    Command {
        /// Its line.
        line: String,
    },
}

impl LoadTask {
    /// The name of the load's part in run files, and the unit of its work. The unit is empty if the work cannot be
    /// counted.
    fn name_and_unit(&self) -> (&'static str, &'static str) {
        match self {
            Self::Scheduler(_) => ("scheduler", "messages"),
            Self::Network => ("network", "bytes"),
            Self::Copy => ("copy", "bytes"),
            Self::Listing => ("listing", "entries"),
            Self::Cpu => ("cpu", "products"),
            Self::Memory { .. } => ("memory", "bytes"),
            Self::Io { .. } => ("io", "bytes"),
            Self::Fork => ("fork", "processes"),
            Self::Timers { .. } => ("timers", "expiries"),
            Self::Signals => ("signals", "signals"),
            Self::Compile { .. } => ("compile", "files"),
            Self::Mprotect => ("mprotect", "calls"),
            Self::Affinity => ("affinity", "moves"),
            Self::Tcp { .. } => ("tcp", "bytes"),
            Self::Udp { .. } => ("udp", "bytes"),
            Self::Ping => ("ping", "answers"),
            Self::PingIn => ("ping-in", "requests"),
            Self::StressNg { .. } => ("stress-ng", "bogo ops"),
            Self::Hackbench { .. } => ("hackbench", "messages"),
            Self::Iperf3 { .. } => ("iperf3", "bytes"),
            Self::Sink { .. } => ("sink", "bytes"),
            Self::Command { .. } => ("command", ""),
        }
    }

    /// The name of the load's part in run files.
    pub fn name(&self) -> &'static str {
        self.name_and_unit().0
    }

    /// The unit of its work; empty if the work cannot be counted.
    pub fn unit(&self) -> &'static str {
        self.name_and_unit().1
    }

    /// Whether it runs one task on each CPU.
    pub fn is_on_every_cpu(&self) -> bool {
        matches!(
            self,
            Self::Cpu
                | Self::Memory { .. }
                | Self::Fork
                | Self::Timers { .. }
                | Self::Signals
                | Self::Mprotect
                | Self::Affinity
        )
    }

    /// Whether another program does its work.
    pub fn is_a_command(&self) -> bool {
        matches!(
            self,
            Self::StressNg { .. } | Self::Hackbench { .. } | Self::Iperf3 { .. } | Self::Command { .. }
        )
    }
}
