//! All loads there are, in one table: what help, errors and documentation name, and what each is made of.

use super::spec::Kind;

/// A load's name and what it is, for help texts.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// How it is asked for: its name, a colon and what must or `[`may`]` follow.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    pub(super) kinds: &'static [Kind],
}

impl Known {
    const fn new(name: &'static str, about: &'static str, kinds: &'static [Kind]) -> Self {
        Self { name, about, kinds }
    }

    /// The name alone.
    pub fn word(&self) -> &'static str {
        self.name.split(['[', ':']).next().unwrap_or(self.name)
    }

    /// What follows the name in `text`, if this is the load that it names.
    pub(super) fn argument_of<'a>(&self, text: &'a str) -> Option<&'a str> {
        let rest = text.strip_prefix(self.word())?;
        if rest.is_empty() {
            return Some("");
        }
        // A host may stand apart, as `tardy load sink HOST` has it; a command may not, for `cmd x` may be a name
        // mistyped.
        let separators: &[char] = if self.word() == "sink" { &[':', ' '] } else { &[':'] };
        let argument = rest.strip_prefix(separators).map(str::trim)?;
        (self.name.contains(':') && !(argument.is_empty() && self.name.contains('['))).then_some(argument)
    }
}

/// All loads.
pub const KNOWN: [Known; 22] = [
    Known::new("none", "nothing", &[]),
    Known::new(
        "doload",
        "the AT91SAM article's script: scheduler, network, copy and listing at once",
        &[Kind::Scheduler, Kind::Network, Kind::Copy, Kind::Listing],
    ),
    Known::new(
        "scheduler[:GROUPS,PAIRS,BYTES]",
        "hackbench's groups (1, of 20 senders and 20 receivers, messages of 100 bytes), killed and forked anew every 5 s",
        &[Kind::Scheduler],
    ),
    Known::new("network", "4 MiB over TCP port 5566 every 7 s, to --peer or over loopback", &[Kind::Network]),
    Known::new("copy", "dd from /dev/zero to /dev/null", &[Kind::Copy]),
    Known::new("listing", "ls -lR / over and over", &[Kind::Listing]),
    Known::new("cpu", "products of small matrices on every CPU", &[Kind::Cpu]),
    Known::new(
        "memory[:MIB]",
        "copies and random strides through 16 MiB for each CPU: bandwidth, and caches of no use",
        &[Kind::Memory],
    ),
    Known::new(
        "io[:DIRECTORY]",
        "a file of 16 MiB written, forced to the disk and read back past the cache, in /var/tmp",
        &[Kind::Io],
    ),
    Known::new("fork", "processes that are born, write to some pages and die, on every CPU", &[Kind::Fork]),
    Known::new(
        "timers[:COUNT]",
        "16 timers of about 1 ms on every CPU, none in step with another",
        &[Kind::Timers],
    ),
    Known::new("signals", "signals handled, and exchanged between processes, on every CPU", &[Kind::Signals]),
    Known::new(
        "compile[:DIRECTORY]",
        "two builds side by side of C sources, made up or those below a directory; needs a C compiler",
        &[Kind::Compile],
    ),
    Known::new(
        "ipi",
        "interrupts from CPU to CPU: page protections and barriers, and tasks that hop",
        &[Kind::Mprotect, Kind::Affinity],
    ),
    Known::new(
        "net[:PORT]",
        "TCP and UDP without a pause, to --peer or over loopback",
        &[Kind::Tcp, Kind::Udp],
    ),
    Known::new("ping-flood", "pings as fast as they are answered, to --peer or over loopback", &[Kind::Ping]),
    Known::new("ping-flood-in", "pings that come from another machine, counted", &[Kind::PingIn]),
    Known::new("stress-ng:ARGS", "stress-ng in rounds of 2 s, its bogo ops counted", &[Kind::StressNg]),
    Known::new("hackbench[:ARGS]", "hackbench over and over, its messages counted", &[Kind::Hackbench]),
    Known::new("iperf3:ARGS", "iperf3 for as long as the load lasts, its bytes counted", &[Kind::Iperf3]),
    Known::new(
        "sink:HOST",
        "takes what `network`, `doload` and `net` on HOST send to their peer",
        &[Kind::Sink],
    ),
    Known::new("cmd:COMMAND", "any command, by sh -c", &[Kind::Command]),
];
